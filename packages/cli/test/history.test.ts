import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'
import { createSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { transcriptLedger } from '../src/transcript-ledger.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

let work: Tree
let prompts: string[]
let answers: string[]
beforeEach(async () => {
  work = await tree({ 'project/auth.ts': { text: 'v0\n', mode: 0o755 }, 'home/loci.json': '{}' })
  const cwd = work.path('project')
  const projectDir = await resolveProjectDir({
    projectsDir: work.path('home/projects'),
    root: cwd,
    create: true,
  })
  const session = await createSession({ projectDir, sessionId: SESSION, cwd })
  const history = await openFileHistory({
    dir: work.path(`home/file-history/${SESSION}`),
    root: cwd,
    ledger: transcriptLedger({ path: session.path, record: (draft) => session.record(draft) }),
  })
  prompts = []
  answers = []
  for (const version of [1, 2]) {
    const { uuid } = await session.append({
      type: 'user',
      message: { role: 'user', content: `to v${version}` },
    })
    prompts.push(uuid)
    await history.makeSnapshot(uuid)
    const answer = await session.append({
      type: 'assistant',
      message: { role: 'assistant', content: [{ type: 'text', text: 'ok' }] },
    })
    answers.push(answer.uuid)
    await history.trackEdit(work.path('project/auth.ts'), answer.uuid)
    await writeFile(work.path('project/auth.ts'), `v${version}\n`)
    await history.recordEdit(work.path('project/auth.ts'), answer.uuid)
  }
  await history.close()
  await session.close()
})
afterEach(() => work.remove())

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, ...argv)
const auth = (): Promise<string> => readFile(work.path('project/auth.ts'), 'utf8')

test('list gives the snapshots, oldest first, of the newest session of the directory', async () => {
  expect((await run('history', 'list', '--json')).json()).toMatchObject(
    prompts.map((messageId) => ({ messageId })),
  )
  const rows = (await run('history', 'list', '--session', SESSION)).out.trimEnd().split('\n')
  expect(rows).toEqual([expect.stringContaining('to v1'), expect.stringContaining('to v2')])
})

test('diff shows what changed since the last prompt, since one, and between two', async () => {
  const path = work.path('project/auth.ts')
  expect((await run('history', 'diff', '--json')).json()).toMatchObject([
    { path, kind: 'modify', insertions: 1, deletions: 1 },
  ])
  expect((await run('history', 'diff', prompts[0] ?? '', prompts[1] ?? '', '--json')).json()).toMatchObject([
    { path },
  ])
  expect((await run('history', 'diff', answers[1] ?? '', '--json')).json()).toEqual([])
})

describe('rewind', () => {
  test("a prompt's id puts the files to before it, an answer's to after it", async () => {
    expect((await run('history', 'rewind', answers[0] ?? '', '--json')).json()).toMatchObject({
      restored: [work.path('project/auth.ts')],
      undoable: true,
    })
    expect(await auth()).toBe('v1\n')
    expect((await run('history', 'rewind', prompts[0] ?? '')).code).toBe(0)
    expect(await auth()).toBe('v0\n')
    expect((await stat(work.path('project/auth.ts'))).mode & 0o777).toBe(0o755)
  })

  test('undo takes it back, and again redoes it', async () => {
    await run('history', 'rewind', prompts[0] ?? '')
    expect((await run('history', 'undo')).code).toBe(0)
    expect(await auth()).toBe('v2\n')
    expect((await run('history', 'undo')).code).toBe(0)
    expect(await auth()).toBe('v0\n')
  })

  test('after the last answer the files are as they are', async () => {
    expect((await run('history', 'rewind', answers[1] ?? '', '--json')).json()).toEqual({
      messageId: answers[1],
      restored: [],
      deleted: [],
      unchanged: [],
      skipped: [],
      conflicts: [],
      undoable: false,
    })
  })

  test('--dry-run shows the plan and changes nothing', async () => {
    const before = await work.snapshot()
    const { code, json } = await run('history', 'rewind', prompts[0] ?? '', '--dry-run', '--json')
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      changes: [{ path: work.path('project/auth.ts'), kind: 'modify' }],
      conflicts: [],
    })
    expect(await work.snapshot()).toEqual(before)
  })

  test('a file changed by somebody else stops it with exit code 3; skip and overwrite decide', async () => {
    await writeFile(work.path('project/auth.ts'), 'mine\n')
    const stopped = await run('history', 'rewind', prompts[0] ?? '')
    expect(stopped.err).toMatch(/^loci: [^\n]+auth\.ts[^\n]*--on-conflict[^\n]*\[REWIND_CONFLICT\]\n$/)
    expect(stopped.code).toBe(3)
    expect(await auth()).toBe('mine\n')
    const skipped = await run('history', 'rewind', prompts[0] ?? '', '--on-conflict', 'skip', '--json')
    expect(skipped.code).toBe(3)
    expect(await auth()).toBe('mine\n')
    expect((await run('history', 'rewind', prompts[0] ?? '', '--on-conflict', 'overwrite')).code).not.toBe(1)
    expect(await auth()).toBe('v0\n')
    await run('history', 'undo')
    expect(await auth()).toBe('mine\n')
  })

  test('an undo leaves what was changed since, unless told to overwrite', async () => {
    await run('history', 'rewind', prompts[0] ?? '')
    await writeFile(work.path('project/auth.ts'), 'mine\n')
    expect((await run('history', 'undo')).code).toBe(3)
    expect(await auth()).toBe('mine\n')
    expect((await run('history', 'undo', '--on-conflict', 'overwrite')).code).toBe(0)
    expect(await auth()).toBe('v2\n')
  })

  test.each([
    ['an unknown id', ['history', 'rewind', 'ffff'], 'SNAPSHOT_NOT_FOUND'],
    ['an undo of nothing', ['history', 'undo'], ''],
    ['a session without history', ['history', 'list', '--session', 'ffff'], 'SESSION_NOT_FOUND'],
  ])('%s is refused in one line', async (_, argv, code) => {
    const refused = await run(...argv)
    expect(refused.err).toMatch(new RegExp(`^loci: [^\\n]+\\[${code}`))
    expect(refused.code).toBe(1)
  })

  test('no session in a directory: what to give instead', async () => {
    const refused = await run('history', 'list', '--cwd', work.path('home'))
    expect(refused.err).toContain('--session SID')
    expect(refused.code).toBe(1)
  })
})

describe('a fork', () => {
  test('has the backups: a rewind in it works, and changes nothing of its parent', async () => {
    const { sessionId } = (await run('sessions', 'fork', SESSION, '--json')).json() as { sessionId: string }
    const ofParent = async (): Promise<unknown[]> =>
      Object.entries(await work.snapshot()).filter(([name]) => name.includes(SESSION))
    const before = await ofParent()
    const rewound = await run('history', 'rewind', prompts[0] ?? '', '--session', sessionId, '--json')
    expect(rewound.json()).toMatchObject({ restored: [work.path('project/auth.ts')], skipped: [] })
    expect(await auth()).toBe('v0\n')
    expect(await ofParent()).toEqual(before)
  })

  test('that is refused leaves none behind', async () => {
    const before = await work.snapshot()
    for (const wrong of [
      ['--up-to', 'ffff'],
      ['--up-to', ''],
      ['--title', ' '],
    ]) {
      expect((await run('sessions', 'fork', SESSION, ...wrong)).code).toBe(1)
    }
    expect(await work.snapshot()).toEqual(before)
  })
})

test('reading commands leave the home as it is, backups unreadable or not', async () => {
  const before = await work.snapshot()
  await run('history', 'list')
  await run('history', 'diff', prompts[0] ?? '')
  await chmod(work.path('project/auth.ts'), 0o700)
  await chmod(work.path('project/auth.ts'), 0o755)
  expect(await work.snapshot()).toEqual(before)
})

test('a transcript line that cannot be read may name backups: none is removed', async () => {
  const { json } = await run('sessions', 'list', '--json')
  const [info] = json() as { path: string }[]
  const path = info?.path ?? ''
  const lines = (await readFile(path, 'utf8')).split('\n')
  const position = lines.findIndex(
    (line) => line.includes('"file-history-snapshot"') && line.includes(prompts[1] ?? ''),
  )
  await writeFile(path, lines.with(position, lines[position]?.slice(0, -40) ?? '').join('\n'))
  const ledger = transcriptLedger({ path, record: () => Promise.reject(new Error('not to be written')) })
  const history = await openFileHistory({
    dir: work.path(`home/file-history/${SESSION}`),
    root: work.path('project'),
    ledger,
  })
  expect(await ledger.damage?.()).toHaveLength(1)
  expect((await history.gc({ dryRun: true })).removed.filter((name) => name.includes('@v'))).toEqual([])
  await history.close()
})

describe('usage, gc and verify', () => {
  test('a history in order: what it takes, nothing to remove, nothing damaged; looking makes nothing', async () => {
    const before = await work.snapshot()
    expect((await run('history', 'usage', '--json')).json()).toMatchObject({ backups: 2, sizeBytes: 6 })
    expect((await run('history', 'usage')).out).toMatch(/^2 backups, 6 bytes, /)
    expect((await run('history', 'gc', '--dry-run', '--json')).json()).toEqual({ removed: [], freedBytes: 0 })
    expect((await run('history', 'verify', '--json')).json()).toEqual([])
    expect(await run('history', 'verify')).toMatchObject({
      code: 0,
      out: `the file history of ${SESSION} is in order\n`,
    })
    expect(await work.snapshot()).toEqual(before)
  })

  test('what nothing needs is named, and removed only without --dry-run', async () => {
    const stray = work.path(`home/file-history/${SESSION}/0123456789abcdef@v7`)
    await writeFile(stray, 'stray')
    const would = await run('history', 'gc', '--dry-run')
    expect(would.out).toBe('would remove 1 file, 5 bytes\n')
    expect((await stat(stray)).size).toBe(5)
    expect((await run('history', 'gc', '--json')).json()).toEqual({
      removed: ['0123456789abcdef@v7'],
      freedBytes: 5,
    })
    await expect(stat(stray)).rejects.toMatchObject({ code: 'ENOENT' })
    expect((await run('history', 'verify')).code).toBe(0)
  })

  test('a damaged backup is found, with exit code 3', async () => {
    const names = Object.keys(await work.snapshot()).filter((name) => name.endsWith('@v1'))
    await writeFile(work.path(names[0] ?? ''), 'x\n')
    const { code, out } = await run('history', 'verify')
    expect(code).toBe(3)
    expect(out).toMatch(/^damage: .*@v1: /)
    expect((await run('history', 'verify', '--json')).json()).toHaveLength(1)
  })

  test('gc changes nothing in a home that is not ours', async () => {
    await rm(work.path('home/loci.json'))
    const before = await work.snapshot()
    expect((await run('history', 'gc')).err).toContain('[CONFIG_READ_ONLY]')
    expect((await run('history', 'gc', '--dry-run')).code).toBe(0)
    expect(await work.snapshot()).toEqual(before)
  })
})

test('what takes a rewind back is said with its session, which need not be the newest', async () => {
  const fork = (await run('sessions', 'fork', SESSION, '--json')).json() as { sessionId: string }
  const { out } = await run('history', 'rewind', prompts[0] ?? '', '--session', SESSION)
  const advice = /^loci (history undo --session \S+) takes this back$/m.exec(out)?.[1] ?? ''
  expect(advice).toBe(`history undo --session ${SESSION}`)
  expect((await run('history', 'list', '--json')).out).toBe(
    (await run('history', 'list', '--session', fork.sessionId, '--json')).out,
  )
  expect((await run('history', 'undo')).err).toContain('There is no rewind to undo')
  expect(await auth()).toBe('v0\n')
  expect((await run(...advice.split(' '))).code).toBe(0)
  expect(await auth()).toBe('v2\n')
})
