import { appendFileSync, writeFileSync } from 'node:fs'
import {
  appendFile,
  chmod,
  cp,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { basename, join } from 'node:path'
import { projectSlug } from '@loci/disk/project'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree, TreeSnapshot } from '@loci/disk/testing'
import {
  archiveSession,
  findImportable,
  importSessions,
  listSessions,
  openSession,
  renameSession,
  verifySession,
} from '@loci/session-jsonl'
import type { SessionImport } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { entry, jsonl, OTHER, SID, straight, user } from './lines.ts'

const OBSERVED = join(import.meta.dirname, 'fixtures/observed')

let work: Tree
beforeEach(async () => {
  work = await tree({ 'theirs/projects/': '', 'app/': '' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

const projectsDir = (): string => work.path('ours/projects')
async function importFrom(place = 'theirs'): Promise<SessionImport[]> {
  const results: SessionImport[] = []
  const transcripts = await findImportable(work.path(place))
  for await (const result of importSessions({ transcripts, projectsDir: projectsDir() })) results.push(result)
  return results
}
const outcomes = (results: readonly SessionImport[]): string[] => results.map(({ outcome }) => outcome)

/** Lines that say where they were written. */
const spoken = (count: number): ReturnType<typeof straight> =>
  straight(count).map((line) => ({ ...line, cwd: work.path('app') }))
async function theirs(name: string, text: string): Promise<string> {
  const path = work.path(`theirs/projects/${name}`)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, text)
  return path
}
const ours = (): string => join(projectsDir(), projectSlug(work.path('app')))
const ourTranscript = (id = SID): string => join(ours(), `${id}.jsonl`)

/** What is there but for locks, which whoever writes leaves, and times. */
async function filesBelow(prefix: string): Promise<TreeSnapshot> {
  const all = Object.entries(await work.snapshot())
  return Object.fromEntries(all.filter(([name]) => name.startsWith(prefix) && !name.includes('.lock.')))
}

describe('the trees of another client', () => {
  test.each([
    'file-history-110-turns',
    'file-history-basic',
    'file-history-cli-fork',
    'sdk-mutations-fork',
    'session-cli-fork',
    'session-compact',
    'session-interactive',
    'session-interactive-rewind',
    'session-linear',
    'session-resume-at-branch',
  ])(
    '%s comes over byte for byte, side files too, and nothing else; the source is only read',
    async (name) => {
      await cp(join(OBSERVED, name, 'config'), work.path('theirs'), { recursive: true })
      await writeFile(work.path('theirs/settings.json'), '{}')
      await mkdir(work.path('theirs/projects/-home-user-project/memory'), { recursive: true })
      await writeFile(work.path('theirs/projects/-home-user-project/memory/MEMORY.md'), 'not a session')
      const before = await work.snapshot()
      const results = await importFrom()
      expect(new Set(outcomes(results))).toEqual(new Set(['imported']))
      const found = await filesBelow('ours/')
      const wanted = Object.entries(before)
        .filter(([file]) => file.startsWith('theirs/projects/') && !file.includes('/memory/'))
        .map(([file, content]) => [file.replace('theirs/', 'ours/'), content] as const)
      const withoutOwner = Object.entries(found).filter(([file]) => !file.endsWith('.project.json'))
      expect(withoutOwner.map(([file]) => file)).toEqual(wanted.map(([file]) => file))
      for (const [file, content] of wanted) {
        const isTranscript = /^ours\/projects\/[^/]*\/[^/]*\.jsonl$/.test(file)
        expect(found[file]).toEqual(isTranscript ? { ...content, mode: 0o600 } : content)
      }
      expect(
        Object.fromEntries(Object.entries(await work.snapshot()).filter(([f]) => !f.startsWith('ours/'))),
      ).toEqual(before)
      for (const { from, path } of results)
        expect(await verifySession(path)).toEqual(
          (await verifySession(from)).map((damage) => ({ ...damage, path })),
        )
      const titles = async (projects: string): Promise<unknown[]> =>
        (await listSessions({ projectsDir: projects, archived: true })).map(
          ({ path: _path, ...info }) => info,
        )
      expect(await titles(projectsDir())).toEqual(await titles(work.path('theirs/projects')))
      // Again, and nothing changes.
      expect(new Set(outcomes(await importFrom()))).toEqual(new Set(['unchanged']))
      expect(await filesBelow('ours/')).toEqual(found)
    },
  )
})

describe('where sessions are looked for', () => {
  beforeEach(async () => {
    await theirs(`-a/${SID}.jsonl`, jsonl(...straight(1)))
    await theirs(`-b/${OTHER}.jsonl`, jsonl(...straight(1)))
    await theirs('-b/notes.jsonl', '{}')
  })

  test.each([
    ['theirs', [SID, OTHER]],
    ['theirs/projects', [SID, OTHER]],
    ['theirs/projects/-b', [OTHER]],
    [`theirs/projects/-a/${SID}.jsonl`, [SID]],
    ['app', []],
  ])('%s', async (place, ids) => {
    const found: string[] = (await findImportable(work.path(place))).map((path) => basename(path, '.jsonl'))
    expect(found.toSorted()).toEqual(ids)
  })

  test.each(['nowhere', 'theirs/projects/-b/notes.jsonl'])('not in %s', async (place) => {
    await expect(findImportable(work.path(place))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
})

describe('an imported session', () => {
  test('goes into the folder of the directory that it recorded, as that is called here; else into one of the same name', async () => {
    await theirs(`-any/${SID}.jsonl`, jsonl(...spoken(2)))
    await theirs(`-untold/${OTHER}.jsonl`, jsonl(...straight(2)))
    const results = await importFrom()
    expect(new Set(results.map(({ path }) => path))).toEqual(
      new Set([ourTranscript(), join(projectsDir(), '-untold', `${OTHER}.jsonl`)]),
    )
    const [listed] = await listSessions({ projectsDir: projectsDir(), cwd: work.path('app') })
    expect(listed).toMatchObject({ sessionId: SID, cwd: work.path('app') })
    expect(await readFile(join(ours(), '.project.json'), 'utf8')).toBe(
      `${JSON.stringify({ root: work.path('app') })}\n`,
    )
  })

  test('does not go where a relative directory would lead', async () => {
    await theirs(`-a/${SID}.jsonl`, jsonl(...straight(1).map((line) => ({ ...line, cwd: '../x' }))))
    expect(await importFrom()).toMatchObject([{ path: join(projectsDir(), '-a', `${SID}.jsonl`) }])
  })

  test('is as old as its source, for the user alone, and another file', async () => {
    const from = await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(2)))
    await chmod(from, 0o644)
    await utimes(from, 1_700_000_000, 1_700_000_000)
    await importFrom()
    const [source, copy] = [await stat(from), await stat(ourTranscript())]
    expect(copy.mtimeMs).toBe(1_700_000_000_000)
    expect([copy.mode & 0o777, copy.nlink, copy.ino === source.ino]).toEqual([0o600, 1, false])
  })

  test('can be gone on with here, and is not taken back by importing again', async () => {
    await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(2)))
    await importFrom()
    const session = await openSession({ projectDir: ours(), sessionId: SID })
    await session.append({ type: 'user', message: { role: 'user', content: 'here' } })
    await session.close()
    const bytes = await readFile(ourTranscript())
    expect(outcomes(await importFrom())).toEqual(['unchanged'])
    expect(await readFile(ourTranscript())).toEqual(bytes)
  })

  test('with damage comes over damage and all: torn at its end, with bytes that are no text', async () => {
    const bytes = Buffer.concat([
      Buffer.from(jsonl(...spoken(2))),
      Buffer.from([0, 255, 10]),
      Buffer.from('{"type":"us'),
    ])
    await theirs(`-a/${SID}.jsonl`, '')
    await writeFile(work.path(`theirs/projects/-a/${SID}.jsonl`), bytes)
    await importFrom()
    expect(await readFile(ourTranscript())).toEqual(bytes)
  })

  test('over a megabyte, in lines that are too', async () => {
    const long = 'x'.repeat(1_500_000)
    const text = jsonl(...spoken(1), user('big', 'm1', long), user('next', 'big', long))
    await theirs(`-a/${SID}.jsonl`, text)
    await importFrom()
    expect((await readFile(ourTranscript(), 'utf8')) === text).toBe(true)
  })
})

describe('a session that has grown at the source', () => {
  beforeEach(async () => {
    await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(2)))
    await theirs(`-a/${SID}/subagents/agent-a1.jsonl`, 'one\n')
    await theirs(`-a/${SID}/subagents/agent-a1.meta.json`, '{"finished":false}')
    await theirs(`-a/${SID}/archived.json`, '{"archived":true}')
    await importFrom()
  })
  const grow = async (): Promise<string> => {
    const from = work.path(`theirs/projects/-a/${SID}.jsonl`)
    await appendFile(from, jsonl(user('m3', 'm2', 'more'), entry('assistant', 'm4', 'm3')))
    await appendFile(work.path(`theirs/projects/-a/${SID}/subagents/agent-a1.jsonl`), 'two\n')
    await theirs(`-a/${SID}/subagents/agent-a1.meta.json`, '{"finished":true}')
    await theirs(`-a/${SID}/tool-results/t.txt`, 'result')
    await theirs(`-a/${SID}/archived.json`, '{"archived":false}')
    return readFile(from, 'utf8')
  }

  test('is extended, with what lies beside it; whether it is archived stays as it is here', async () => {
    const whole = await grow()
    const { ino } = await stat(ourTranscript())
    expect(await importFrom()).toMatchObject([{ outcome: 'extended', path: ourTranscript(), kept: [] }])
    expect(await readFile(ourTranscript(), 'utf8')).toBe(whole)
    expect((await stat(ourTranscript())).ino).toBe(ino)
    const beside = (name: string): Promise<string> => readFile(join(ours(), SID, name), 'utf8')
    expect(await beside('subagents/agent-a1.jsonl')).toBe('one\ntwo\n')
    expect(await beside('subagents/agent-a1.meta.json')).toBe('{"finished":true}')
    expect(await beside('tool-results/t.txt')).toBe('result')
    expect(await beside('archived.json')).toBe('{"archived":true}')
    expect(outcomes(await importFrom())).toEqual(['unchanged'])
  })

  test('is extended where it lies, though its folder was moved', async () => {
    const whole = await grow()
    const moved = join(projectsDir(), '-moved')
    await rename(ours(), moved)
    expect(await importFrom()).toMatchObject([{ outcome: 'extended', path: join(moved, `${SID}.jsonl`) }])
    expect(await readFile(join(moved, `${SID}.jsonl`), 'utf8')).toBe(whole)
    expect(await findImportable(projectsDir())).toHaveLength(1)
  })

  test('went its own way here: it is skipped and said, with nothing overwritten or merged', async () => {
    await renameSession({ projectDir: ours(), sessionId: SID, title: 'Mine' })
    await grow()
    const before = await filesBelow('ours/')
    expect(await importFrom()).toMatchObject([
      { outcome: 'skipped', path: ourTranscript(), reason: expect.stringContaining('went on') as string },
    ])
    expect(await filesBelow('ours/')).toEqual(before)
  })

  test('is open here: it is skipped and said, the others come, and the next time it is extended', async () => {
    const session = await openSession({ projectDir: ours(), sessionId: SID })
    const whole = await grow()
    await theirs(`-a/${OTHER}.jsonl`, jsonl(...spoken(1)))
    const before = await filesBelow(`ours/projects/${basename(ours())}/${SID}`)
    const results = await importFrom()
    expect(Object.fromEntries(results.map(({ sessionId, outcome }) => [sessionId, outcome]))).toEqual({
      [SID]: 'skipped',
      [OTHER]: 'imported',
    })
    expect(results.find(({ outcome }) => outcome === 'skipped')?.reason).toContain(`process ${process.pid}`)
    expect(await filesBelow(`ours/projects/${basename(ours())}/${SID}`)).toEqual(before)
    await session.close()
    expect(outcomes(await importFrom()).toSorted()).toEqual(['extended', 'unchanged'])
    expect(await readFile(ourTranscript(), 'utf8')).toBe(whole)
  })

  test('and as grown is open here, or unchanged: neither needs the session', async () => {
    const session = await openSession({ projectDir: ours(), sessionId: SID })
    expect(outcomes(await importFrom())).toEqual(['unchanged'])
    await session.close()
  })

  test('beside which a file of ours differs: ours stays, and is named', async () => {
    await theirs(`-a/${SID}/scratchpad/plan.md`, 'theirs')
    await mkdir(join(ours(), SID, 'scratchpad'))
    await writeFile(join(ours(), SID, 'scratchpad/plan.md'), 'ours')
    await writeFile(join(ours(), SID, 'subagents/agent-a1.jsonl'), 'another\n')
    await grow()
    expect(await importFrom()).toMatchObject([
      {
        outcome: 'extended',
        kept: [join(ours(), SID, 'scratchpad/plan.md'), join(ours(), SID, 'subagents/agent-a1.jsonl')],
      },
    ])
    expect(await readFile(join(ours(), SID, 'scratchpad/plan.md'), 'utf8')).toBe('ours')
  })
})

test('a session that grows here between the look and the writing is looked at again', async () => {
  await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(2)))
  await importFrom()
  const before = await readFile(ourTranscript(), 'utf8')
  await appendFile(work.path(`theirs/projects/-a/${SID}.jsonl`), jsonl(user('m3', 'm2', 'more')))
  let isRenamed = false
  setFaultHook((operation, path) => {
    // The lease is taken after the look; a title needs none.
    if (operation !== 'link' || !path.includes('.lock.') || isRenamed) return undefined
    isRenamed = true
    appendFileSync(ourTranscript(), 'a title\n')
    return undefined
  })
  expect(outcomes(await importFrom())).toEqual(['skipped'])
  expect(isRenamed).toBe(true)
  expect(await readFile(ourTranscript(), 'utf8')).toBe(`${before}a title\n`)
})

test('a session that appears here between the look and the writing is not written over', async () => {
  await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(2)))
  await theirs(`-a/${SID}/tool-results/t.txt`, 'result')
  setFaultHook((operation, path) => {
    if (operation === 'link' && path === ourTranscript()) writeFileSync(path, 'of another\n', { flag: 'a' })
    return undefined
  })
  expect(await importFrom()).toMatchObject([{ outcome: 'skipped', path: ourTranscript() }])
  expect(await readFile(ourTranscript(), 'utf8')).toBe('of another\n')
})

test('what cannot be read is skipped and said; the others come', async () => {
  await mkdir(work.path(`theirs/projects/-a/${SID}`), { recursive: true })
  await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(1)))
  await theirs(`-a/${OTHER}.jsonl`, jsonl(...spoken(1)))
  setFaultHook((operation, path) =>
    operation === 'open' && path.endsWith(`theirs/projects/-a/${SID}.jsonl`)
      ? Object.assign(new Error(), { code: 'EACCES' })
      : undefined,
  )
  const results = await importFrom()
  expect(results.find(({ sessionId }) => sessionId === SID)).toMatchObject({
    outcome: 'skipped',
    path: work.path(`theirs/projects/-a/${SID}.jsonl`),
    reason: expect.stringContaining('check its permissions') as string,
  })
  expect(results.find(({ sessionId }) => sessionId === OTHER)).toMatchObject({ outcome: 'imported' })
})

test('a disk that is full ends it, and the session that it caught is not there', async () => {
  await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(1)))
  setFaultHook((operation, path) =>
    operation === 'write' && path.includes(SID) ? Object.assign(new Error(), { code: 'ENOSPC' }) : undefined,
  )
  await expect(importFrom()).rejects.toMatchObject({ code: 'DISK_FULL' })
  setFaultHook(undefined)
  expect(await listSessions({ projectsDir: projectsDir() })).toEqual([])
  expect(outcomes(await importFrom())).toEqual(['imported'])
})

test('two sessions of one id, in two folders: the one last written comes, the other is skipped and said', async () => {
  const older = await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(1)))
  await utimes(older, 1_700_000_000, 1_700_000_000)
  const newer = await theirs(`-b/${SID}.jsonl`, jsonl(...straight(2)))
  const expected = [
    { from: newer, outcome: 'imported' },
    { from: older, outcome: 'skipped' },
  ]
  expect(await importFrom()).toMatchObject(expected)
})

test('links are followed to a transcript, and not beside one', async () => {
  const from = await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(1)))
  await rename(from, work.path('stored'))
  await symlink(work.path('stored'), from)
  await mkdir(work.path(`theirs/projects/-a/${SID}/tool-results`), { recursive: true })
  await symlink(work.path('stored'), work.path(`theirs/projects/-a/${SID}/tool-results/t.txt`))
  expect(outcomes(await importFrom())).toEqual(['imported'])
  expect((await stat(ourTranscript())).isFile()).toBe(true)
  expect(Object.keys(await filesBelow('ours/')).filter((name) => name.includes(`${SID}/`))).toEqual([])
})

test('two imports at once bring each session once, whole', async () => {
  const ids = Array.from(
    { length: 20 },
    (_, n) => `${String(n).padStart(8, '0')}-2222-4333-8444-555555555555`,
  )
  for (const id of ids) {
    await theirs(`-a/${id}.jsonl`, jsonl(...spoken(3)))
    await theirs(`-a/${id}/tool-results/t.txt`, id)
  }
  const [a, b] = await Promise.all([importFrom(), importFrom()])
  for (const [n, { outcome }] of a.entries())
    expect([outcome, b[n]?.outcome].toSorted()).toEqual(['imported', 'unchanged'])
  const before = await filesBelow('theirs/projects/-a')
  const after = await filesBelow(`ours/projects/${basename(ours())}/0`)
  expect(Object.keys(after)).toHaveLength(Object.keys(before).length)
  expect(Object.values(after).map((file) => 'text' in file && file.text)).toEqual(
    Object.values(before).map((file) => 'text' in file && file.text),
  )
})

test('a source that is written to while it is imported: what was there comes, and the rest the next time', async () => {
  const from = await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(2)))
  const before = await readFile(from, 'utf8')
  let isGrown = false
  setFaultHook((operation, path) => {
    // The copy is being written.
    if (operation !== 'write' || !path.includes(SID) || isGrown) return undefined
    isGrown = true
    appendFileSync(from, jsonl(user('m3', 'm2', 'more')))
    return undefined
  })
  expect(outcomes(await importFrom())).toEqual(['imported'])
  expect([isGrown, await readFile(ourTranscript(), 'utf8')]).toEqual([true, before])
  expect(outcomes(await importFrom())).toEqual(['extended'])
  expect(await readFile(ourTranscript(), 'utf8')).toBe(await readFile(from, 'utf8'))
})

test('a hundred sessions of ten directories, and again, and grown', async () => {
  const ids = Array.from(
    { length: 100 },
    (_, n) => `${String(n).padStart(8, '0')}-2222-4333-8444-555555555555`,
  )
  for (const [n, id] of ids.entries()) {
    const cwd = work.path(`app${n % 10}`)
    await theirs(`-p${n % 10}/${id}.jsonl`, jsonl(...straight((n % 5) + 1).map((line) => ({ ...line, cwd }))))
  }
  expect(new Set(outcomes(await importFrom()))).toEqual(new Set(['imported']))
  expect(await listSessions({ projectsDir: projectsDir() })).toHaveLength(100)
  expect(await listSessions({ projectsDir: projectsDir(), cwd: work.path('app3') })).toHaveLength(10)
  for (const [n, id] of ids.entries())
    if (n % 2 === 0)
      await appendFile(work.path(`theirs/projects/-p${n % 10}/${id}.jsonl`), jsonl(user('x', 'm1', 'x')))
  expect(outcomes(await importFrom()).filter((outcome) => outcome === 'extended')).toHaveLength(50)
  expect(new Set(outcomes(await importFrom()))).toEqual(new Set(['unchanged']))
  await rm(join(projectsDir(), projectSlug(work.path('app3'))), { recursive: true })
  expect(outcomes(await importFrom()).filter((outcome) => outcome === 'imported')).toHaveLength(10)
})

test('an archived session stays archived, and one that was archived here too', async () => {
  await theirs(`-a/${SID}.jsonl`, jsonl(...spoken(1)))
  await importFrom()
  await archiveSession({ projectDir: ours(), sessionId: SID })
  await importFrom()
  expect(await listSessions({ projectsDir: projectsDir() })).toEqual([])
})

test.each([
  [
    'transcripts that are a text',
    { transcripts: 'x', projectsDir: 'p' },
    'transcripts must be an array of paths',
  ],
  ['no transcripts', { projectsDir: 'p' }, 'transcripts must be an array of paths'],
  [
    'a transcript that is no path',
    { transcripts: [1], projectsDir: 'p' },
    'transcripts must be an array of paths',
  ],
  ['no projectsDir', { transcripts: ['x'] }, 'projectsDir must be a path'],
  ['an alongside that is none', { transcripts: [], projectsDir: 'p', alongside: 1 }, 'alongside must be'],
])('%s: a TypeError, and nothing is looked at', async (_what, options, message) => {
  const looked: string[] = []
  setFaultHook((operation) => void looked.push(operation))
  const results = importSessions(options as unknown as Parameters<typeof importSessions>[0])
  const first = results[Symbol.asyncIterator]().next()
  await expect(first).rejects.toThrow(TypeError)
  await expect(first).rejects.toThrow(message)
  expect(looked).toEqual([])
})
