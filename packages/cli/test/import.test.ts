import { appendFile, chmod, cp, link, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCli } from '@loci/cli'
import { acquireLease } from '@loci/disk'
import { projectSlug } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'
import { createSession, openSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ImportReport } from '../src/commands/import.ts'
import { transcriptLedger } from '../src/transcript-ledger.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const OBSERVED = join(import.meta.dirname, '../../session-jsonl/test/fixtures/observed')
const SESSION = '11111111-1111-4111-8111-111111111111'
const SECOND = '22222222-1111-4111-8111-111111111111'

let work: Tree
let prompt: string
beforeEach(async () => {
  work = await tree({ 'project/a.txt': { text: 'v0\n', mode: 0o755 }, 'user/.claude/settings.json': '{}' })
  prompt = await edit('user/.claude')
})
afterEach(() => work.remove())

const theirProject = (): string => work.path(`user/.claude/projects/${projectSlug(work.path('project'))}`)
const ourProject = (): string => work.path(`user/.loci/projects/${projectSlug(work.path('project'))}`)
const historyOf = (home: string): string => work.path(`${home}/file-history/${SESSION}`)

/** A prompt in a session of that home, in which a file is edited. */
async function edit(home: string): Promise<string> {
  const projectDir = work.path(`${home}/projects/${projectSlug(work.path('project'))}`)
  const session = await createSession({ projectDir, sessionId: SESSION, cwd: work.path('project') })
  const history = await openFileHistory({
    dir: historyOf(home),
    root: work.path('project'),
    ledger: transcriptLedger({ path: session.path, record: (draft) => session.record(draft) }),
  })
  const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'to v1' } })
  await history.makeSnapshot(uuid)
  await history.trackEdit(work.path('project/a.txt'), uuid)
  await writeFile(work.path('project/a.txt'), 'v1\n')
  await history.recordEdit(work.path('project/a.txt'), uuid)
  await history.close()
  await session.close()
  return uuid
}

const run = (...argv: string[]): Promise<Run> =>
  loci(
    { home: work.path('user/.loci'), cwd: work.path('project'), env: { HOME: work.path('user') } },
    ...argv,
  )
const imported = async (...argv: string[]): Promise<Run & { report: ImportReport }> => {
  const result = await run('sessions', 'import', ...argv, '--json')
  return { ...result, report: result.json() as ImportReport }
}

describe('sessions import', () => {
  test('takes the sessions of the client that most people have, with file histories that can be rewound to', async () => {
    const before = await work.snapshot()
    const { code, report } = await imported()
    const path = join(ourProject(), `${SESSION}.jsonl`)
    expect([code, report]).toEqual([
      0,
      { imported: [{ sessionId: SESSION, path }], extended: [], unchanged: [], skipped: [] },
    ])
    expect(await readFile(path)).toEqual(await readFile(join(theirProject(), `${SESSION}.jsonl`)))
    const after = Object.entries(await work.snapshot()).filter(([name]) => !name.startsWith('user/.loci/'))
    expect(after).toEqual(Object.entries(before))
    expect((await run('history', 'verify')).code).toBe(0)
    expect((await run('history', 'rewind', prompt, '--json')).json()).toMatchObject({
      restored: [work.path('project/a.txt')],
    })
    expect(await work.read('project/a.txt')).toBe('v0\n')
    expect((await stat(work.path('project/a.txt'))).mode & 0o777).toBe(0o755)
    expect((await run('sessions', 'show', SESSION)).out).toContain('to v1')
  })

  test('twice changes nothing, and says so', async () => {
    await imported()
    const before = await work.snapshot()
    const { code, out } = await run('sessions', 'import')
    expect([code, out]).toEqual([0, '1 session here already\n'])
    expect(await work.snapshot()).toEqual(before)
  })

  test('takes CLAUDE_CONFIG_DIR before ~/.claude, and a directory that is given before both', async () => {
    await cp(join(OBSERVED, 'session-linear/config'), work.path('other'), { recursive: true })
    await cp(join(OBSERVED, 'session-compact/config'), work.path('third'), { recursive: true })
    const env = { HOME: work.path('user'), CLAUDE_CONFIG_DIR: work.path('other') }
    const place = { home: work.path('user/.loci'), cwd: work.path('project'), env }
    expect((await loci(place, 'sessions', 'import')).out).toMatch(
      /^imported 11111111-1111-\S+ {2}\S+-home-user-project\S+\n$/,
    )
    expect((await loci(place, 'sessions', 'import', '../third')).out).toMatch(/^imported 33333333/)
    expect((await loci({ ...place, env: {} }, 'sessions', 'import')).code).toBe(2)
  })

  test.each(['projects', `projects/SLUG`, `projects/SLUG/${SESSION}.jsonl`])(
    'takes %s as well, and the file history along',
    async (place) => {
      const dir = work.path(`user/.claude/${place.replace('SLUG', projectSlug(work.path('project')))}`)
      expect((await imported(dir)).report.imported).toHaveLength(1)
      expect((await run('history', 'verify')).code).toBe(0)
    },
  )

  test.each([['a transcript'], ['a folder']])(
    'looks for a file history only beside projects: not for %s elsewhere',
    async (what) => {
      const name = `${SESSION}.jsonl`
      await cp(join(theirProject(), name), work.path(`kept/some/folder/${name}`))
      // Beside the folder's folder, as beside projects: not that session's, whatever its name.
      await cp(historyOf('user/.claude'), work.path(`kept/file-history/${SESSION}`), { recursive: true })
      const place = what === 'a folder' ? 'kept/some' : `kept/some/folder/${name}`
      expect((await imported(work.path(place))).report.imported).toHaveLength(1)
      expect(await backups('user/.loci')).toEqual([])
    },
  )

  test('refuses what is not there, and makes nothing', async () => {
    const before = await work.snapshot()
    const { code, err } = await run('sessions', 'import', 'nowhere')
    expect([code, err]).toEqual([1, expect.stringContaining('[SESSION_NOT_FOUND]')])
    expect((await run('sessions', 'import', '.')).out).toBe(`no sessions in ${work.path('project')}\n`)
    expect(await work.snapshot()).toEqual(before)
  })

  test('refuses to write into a home that Loci did not make, unless told to', async () => {
    await mkdir(work.path('foreign'))
    await writeFile(work.path('foreign/x'), '')
    const before = await work.snapshot()
    const argv = ['sessions', 'import', '--config-dir', work.path('foreign')]
    expect((await run(...argv)).err).toContain('[CONFIG_READ_ONLY]')
    expect(await work.snapshot()).toEqual(before)
    expect((await run(...argv, '--write')).code).toBe(0)
  })

  test('shares no file with the source: what is written over there stays as it was here', async () => {
    const [backup = ''] = (await backups('user/.claude')).filter((name) => name.endsWith('@v1'))
    // As a fork of theirs leaves it.
    await link(join(historyOf('user/.claude'), backup), work.path('elsewhere'))
    await imported()
    await writeFile(join(historyOf('user/.claude'), backup), 'overwritten', { flag: 'r+' })
    const ours = join(historyOf('user/.loci'), backup)
    expect(await readFile(ours, 'utf8')).toBe('v0\n')
    expect((await stat(ours)).nlink).toBe(1)
  })

  test('extends what has grown at the source, with its backups, one that was written over too', async () => {
    await imported()
    const [backup = ''] = await backups('user/.claude')
    await writeFile(join(historyOf('user/.claude'), backup), 'written over, then named')
    await chmod(join(historyOf('user/.claude'), backup), 0o600)
    await writeFile(join(historyOf('user/.claude'), '0123456789abcdef@v1'), 'new')
    await appendFile(join(theirProject(), `${SESSION}.jsonl`), '{"type":"later"}\n')
    const { code, report } = await imported()
    expect([code, report.extended.length, report.skipped]).toEqual([0, 1, []])
    expect(await readFile(join(historyOf('user/.loci'), backup), 'utf8')).toBe('written over, then named')
    expect(await backups('user/.loci')).toContain('0123456789abcdef@v1')
  })

  test('skips, names and exits with 3: a session that went its own way, one that is open, a history that is', async () => {
    await imported()
    await run('sessions', 'rename', SESSION, 'Mine')
    await appendFile(join(theirProject(), `${SESSION}.jsonl`), '{"type":"later"}\n')
    await writeFile(join(theirProject(), `${SECOND}.jsonl`), '{"type":"user","uuid":"a","cwd":"/x"}\n')
    const first = await imported()
    expect([first.code, first.report.imported.length]).toEqual([3, 1])
    expect(first.report.skipped).toMatchObject([
      { sessionId: SESSION, path: join(ourProject(), `${SESSION}.jsonl`) },
    ])
    expect((await run('sessions', 'import')).out).toContain('both went on by themselves')

    await appendFile(join(theirProject(), `${SECOND}.jsonl`), '{"type":"later"}\n')
    const projectDir = work.path('user/.loci/projects/-x')
    const open = await openSession({ projectDir, sessionId: SECOND })
    const second = (await imported()).report.skipped.find(({ sessionId }) => sessionId === SECOND)
    expect(second?.reason).toContain(`open in process ${process.pid}`)
    await open.close()

    await mkdir(work.path(`user/.loci/file-history/${SECOND}`))
    const history = await acquireLease(work.path(`user/.loci/file-history/${SECOND}`))
    const third = (await imported()).report.skipped.find(({ sessionId }) => sessionId === SECOND)
    expect(third?.reason).toContain('file history')
    await history.release()
    expect((await imported()).report.extended).toMatchObject([{ sessionId: SECOND }])
  })

  test('extends a session beside which a file of ours differs, names that file and exits with 3', async () => {
    await imported()
    const file = `${SESSION}/scratchpad/plan.md`
    for (const project of [theirProject(), ourProject()]) {
      await mkdir(join(project, SESSION, 'scratchpad'), { recursive: true })
      await writeFile(join(project, file), project)
    }
    await appendFile(join(theirProject(), `${SESSION}.jsonl`), '{"type":"later"}\n')
    const { code, report } = await imported()
    expect([code, report.extended.length]).toEqual([3, 1])
    expect(report.skipped).toMatchObject([{ sessionId: SESSION, path: join(ourProject(), file) }])
  })

  test('tells a person who waits how far it is', async () => {
    for (let n = 0; n < 110; n += 1) {
      const name = `${String(n).padStart(8, '0')}-0000-4000-8000-000000000000.jsonl`
      await writeFile(join(theirProject(), name), '{"type":"user","uuid":"a"}\n')
    }
    const shown: string[] = []
    const code = await runCli({
      argv: ['sessions', 'import', '--json'],
      env: { HOME: work.path('user') },
      cwd: () => work.path('project'),
      readInput: async () => '',
      print: () => undefined,
      warn: () => undefined,
      showProgress: (line) => void shown.push(line),
    })
    expect([code, shown]).toEqual([0, ['100 of 111 sessions']])
  })
})

async function backups(home: string): Promise<string[]> {
  const all = Object.keys(await work.snapshot())
  const prefix = `${home}/file-history/${SESSION}/`
  return all.flatMap((name) =>
    name.startsWith(prefix) && /@v\d+$/.test(name) ? [name.slice(prefix.length)] : [],
  )
}
