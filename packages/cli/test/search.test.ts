import { appendFile, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveProjectDir } from '@loci/disk/project'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { createSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const FIRST = '11111111-1111-4111-8111-111111111111'
const SECOND = '22222222-2222-4222-8222-222222222222'
const OTHER = '33333333-3333-4333-8333-333333333333'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/': '', 'other/': '', 'home/loci.json': '{}' })
  await talk('project', FIRST, 1, 'where is the fox?')
  await talk('project', SECOND, 2, 'the fox\nagain \u001B[2J')
  await talk('other', OTHER, 3, 'a fox elsewhere')
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

async function talk(project: string, sessionId: string, hour: number, prompt: string): Promise<void> {
  const cwd = work.path(project)
  const projectsDir = work.path('home/projects')
  const projectDir = await resolveProjectDir({ projectsDir, root: cwd, create: true })
  const clock = (): Date => new Date(Date.UTC(2026, 0, 1, hour))
  const session = await createSession({ projectDir, sessionId, cwd, clock })
  await session.append({ type: 'user', message: { role: 'user', content: prompt } })
  const content = [{ type: 'text', text: 'not here' }]
  await session.append({ type: 'assistant', message: { role: 'assistant', content } })
  await session.close()
}

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, ...argv)

test('one hit a line: session, time, role, snippet; newest session first', async () => {
  expect(await run('sessions', 'search', 'FOX')).toMatchObject({
    code: 0,
    out:
      `${SECOND}  2026-01-01T02:00:00.000Z  user: the fox again ␛[2J\n` +
      `${FIRST}  2026-01-01T01:00:00.000Z  user: where is the fox?\n`,
  })
})

test('with --json one hit a line, whole', async () => {
  const { code, out } = await run('sessions', 'search', 'fox', '--json')
  expect(code).toBe(0)
  const hits = out
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
  expect(hits).toMatchObject([
    { sessionId: SECOND, role: 'user', snippet: 'the fox again \u001B[2J' },
    { sessionId: FIRST },
  ])
  expect(Object.keys(hits[0] as object).toSorted()).toEqual([
    'path',
    'role',
    'sessionId',
    'snippet',
    'timestamp',
    'uuid',
  ])
})

test('what a line gives as its time cannot pass for another hit', async () => {
  const projectDir = await resolveProjectDir({
    projectsDir: work.path('home/projects'),
    root: work.path('project'),
  })
  const entry = { type: 'user', uuid: 'u', timestamp: `1\n${OTHER}`, message: { content: 'the hound' } }
  await appendFile(join(projectDir, `${FIRST}.jsonl`), `${JSON.stringify(entry)}\n`)
  expect((await run('sessions', 'search', 'hound')).out).toBe(`${FIRST}  1 ${OTHER}  user: the hound\n`)
})

test('--all, --limit, and a phrase', async () => {
  const ids = async (...argv: string[]): Promise<string[]> =>
    (await run('sessions', 'search', ...argv)).out.split('\n').map((line) => line.slice(0, 36))
  expect(await ids('fox', '--all')).toEqual([OTHER, SECOND, FIRST, ''])
  expect(await ids('fox', '--all', '--limit', '2')).toEqual([OTHER, SECOND, ''])
  expect(await ids('"is the fox"')).toEqual([FIRST, ''])
})

test('archived sessions are searched with --archived only', async () => {
  await run('sessions', 'archive', SECOND)
  const ids = async (...argv: string[]): Promise<string[]> =>
    (await run('sessions', 'search', 'fox', ...argv)).out.split('\n').map((line) => line.slice(0, 36))
  expect(await ids()).toEqual([FIRST, ''])
  expect(await ids('--archived')).toEqual([SECOND, FIRST, ''])
})

test('nothing found is said, and is no failure', async () => {
  expect(await run('sessions', 'search', 'hound')).toEqual(
    expect.objectContaining({
      code: 0,
      out: `"hound" is not in a session of ${work.path('project')}; --all searches every directory\n`,
      err: '',
    }),
  )
  expect((await run('sessions', 'search', 'hound', '--all')).out).toBe('"hound" is not in any session\n')
  expect(await run('sessions', 'search', 'hound', '--json')).toMatchObject({ code: 0, out: '' })
})

test('sessions that cannot be read are counted', async () => {
  setFaultHook((operation, path) =>
    operation === 'open' && path.includes(FIRST)
      ? Object.assign(new Error('no'), { code: 'EIO' })
      : undefined,
  )
  const { code, out } = await run('sessions', 'search', 'fox', '--all')
  expect(code).toBe(0)
  expect(out.trimEnd().split('\n').slice(1)).toEqual([
    expect.stringContaining(SECOND),
    'sessions that could not be read to their end: 1',
  ])
})

test.each([
  [[''], 'sessions search needs a word to look for'],
  [[' " " '], 'sessions search needs a word to look for'],
  [[], 'sessions search needs QUERY'],
  [['two', 'words'], 'sessions search takes no further word: "words"; quote words that belong together'],
  [['x', '--limit', '0'], '--limit takes a whole number from 1, not "0"'],
  [['x', '--format', 'html'], 'sessions search has no option --format'],
])('%j is a usage error', async (argv, what) => {
  const { code, err } = await run('sessions', 'search', ...argv)
  expect({ code, err }).toEqual({ code: 2, err: `loci: ${what}; see loci --help\n` })
})

test('it writes nothing', async () => {
  await chmod(work.path('home/projects'), 0o755)
  const before = await work.snapshot()
  await run('sessions', 'search', 'fox', '--all')
  expect(await work.snapshot()).toEqual(before)
})
