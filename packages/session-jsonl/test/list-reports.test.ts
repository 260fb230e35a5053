import { appendFile, mkdir, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  createSession,
  findTranscripts,
  forkSession,
  listSessions,
  openSession,
  sessionInfo,
} from '@loci/session-jsonl'
import { projectSlug } from '@loci/disk/project'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { assistant, jsonl, straight, text, user } from './lines.ts'
import type { Line } from './lines.ts'

let made: Tree
let projectsDir: string
beforeEach(async () => {
  made = await tree({ 'projects/': '', 'w/': '' })
  projectsDir = made.path('projects')
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

async function plant(folder: string, n: number, bytes: string): Promise<string> {
  await mkdir(join(projectsDir, folder), { recursive: true })
  const path = join(projectsDir, folder, `${id(n)}.jsonl`)
  await writeFile(path, bytes)
  return path
}

const listed = async (cwd?: string | string[]): Promise<string[]> =>
  (await listSessions({ projectsDir, ...(cwd === undefined ? {} : { cwd }) }))
    .map(({ sessionId }) => sessionId)
    .toSorted()

describe('S10: sessions that begin with something else', () => {
  const prompt = user('m1', null, 'the prompt', { cwd: '/w/p', sessionId: undefined })
  const snapshot = (n: number): Line => ({
    type: 'file-history-snapshot',
    messageId: `${n}`,
    snapshot: { messageId: `${n}`, trackedFileBackups: {}, pad: 'x'.repeat(300) },
  })
  const beginnings: [name: string, beginning: string][] = [
    ['a record without a directory', jsonl({ type: 'queue-operation', operation: 'enqueue' })],
    ['120 records before the first message', jsonl(...Array.from({ length: 120 }, (_, n) => snapshot(n)))],
    ['a damaged first line', '{"type":"user","message":{"role":"us\n'],
    ['a first line of zeros', `${'\0'.repeat(200)}\n`],
    ['a blank line', '\n'],
    ['a byte order mark', '\uFEFF'],
  ]
  test.each(beginnings)(
    'with %s are listed with the right directory and prompt',
    async (_name, beginning) => {
      await plant('any', 1, beginning + jsonl(prompt, assistant('m2', 'm1', [text('ok')], { cwd: '/w/p' })))
      expect(await listSessions({ projectsDir, cwd: '/w/p' })).toMatchObject([
        { sessionId: id(1), cwd: '/w/p', firstPrompt: 'the prompt' },
      ])
    },
  )

  test('one without any message is left out, and is found by its id all the same', async () => {
    const path = await plant('any', 1, jsonl(snapshot(1), { type: 'custom-title', customTitle: 'T' }))
    expect(await listed()).toEqual([])
    expect((await findTranscripts(projectsDir)).map(({ sessionId }) => sessionId)).toEqual([id(1)])
    expect(await sessionInfo(path)).toMatchObject({ customTitle: 'T', damaged: false })
    const session = await openSession({
      projectDir: join(projectsDir, 'any'),
      sessionId: id(1),
      mode: 'read',
    })
    expect(await session.chain()).toEqual([])
    await session.close()
  })
})

test('S11: touching, a title and resuming without a message move nothing in the list', async () => {
  const projectDir = join(projectsDir, 'p')
  const daysAgo = (days: number): string => new Date(Date.UTC(2026, 5, 10) - days * 86_400_000).toISOString()
  const paths: string[] = []
  for (const days of [1, 2, 3])
    paths.push(
      await plant('p', days, jsonl(user('m1', null, `${days}`, { timestamp: daysAgo(days), cwd: '/w/p' }))),
    )
  const now = Date.UTC(2026, 5, 10) / 1_000
  await utimes(paths[2] ?? '', now, now)
  await appendFile(paths[1] ?? '', jsonl({ type: 'custom-title', customTitle: 'T', sessionId: id(2) }))
  const third = await openSession({ projectDir, sessionId: id(3), cwd: '/w/p' })
  await third.conversation()
  await third.close()
  const order = async (limit?: number): Promise<string[]> =>
    (await listSessions({ projectsDir, cwd: '/w/p', ...(limit === undefined ? {} : { limit }) })).map(
      ({ sessionId }) => sessionId,
    )
  expect(await order()).toEqual([id(1), id(2), id(3)])
  expect(await order(1)).toEqual([id(1)])
})

test('S14: a list costs by the number of files and not by their size or their side files', async () => {
  for (let n = 0; n < 300; n += 1) await plant(`f${n % 3}`, n, jsonl(...straight(4)))
  const huge = await plant('f0', 1_000, jsonl(user('m1', null, 'first', { cwd: '/w/huge' })))
  // Real lines at both ends, a hole between.
  await truncate(huge, 30_000_000)
  await appendFile(
    huge,
    `\n${jsonl(assistant('m9', 'm1', [text('last')], { timestamp: '2026-09-01T00:00:00.000Z' }))}`,
  )
  await plant('f0', 2_000, jsonl(...straight(2)))
  await mkdir(join(projectsDir, 'f0', id(2_000), 'subagents'), { recursive: true })
  for (let n = 0; n < 400; n += 1)
    await writeFile(
      join(projectsDir, 'f0', id(2_000), 'subagents', `agent-${n}.jsonl`),
      jsonl(...straight(2)),
    )
  let [open, most, reads] = [0, 0, 0]
  const opened: string[] = []
  setFaultHook((operation, path) => {
    if (operation === 'open') {
      most = Math.max(most, (open += 1))
      opened.push(path)
    }
    if (operation === 'close') open -= 1
    if (operation === 'read') reads += 1
    return undefined
  })
  const list = await listSessions({ projectsDir })
  expect(list).toHaveLength(302)
  expect(list[0]).toMatchObject({ sessionId: id(1_000), firstPrompt: 'first', cwd: '/w/huge' })
  expect(most).toBe(1)
  expect(opened).toHaveLength(302)
  expect(opened.some((path) => path.includes('agent-'))).toBe(false)
  expect(reads).toBe(303)
})

test('S15: from each of several directories with one slug its own sessions are listed', async () => {
  const directories = ['/w/a-b', '/w/a/b', '/w/a_b', '/w/日本', '/w/韓国']
  for (const [n, cwd] of directories.entries())
    await plant(projectSlug(cwd), n, jsonl(user('m1', null, `in ${cwd}`, { cwd, sessionId: id(n) })))
  for (const [n, cwd] of directories.entries()) {
    expect(await listed(cwd)).toEqual([id(n)])
    expect(await listSessions({ projectsDir, cwd, limit: 1 })).toMatchObject([
      { cwd, firstPrompt: `in ${cwd}` },
    ])
  }
  expect(await listed(directories.slice(1, 4))).toEqual([id(1), id(2), id(3)])
})

test('S16: directories whose names differ in composition only stay apart by what is recorded', async () => {
  const [composed, decomposed] = ['/w/é'.normalize('NFC'), '/w/é'.normalize('NFD')]
  await plant(projectSlug(composed), 1, jsonl(user('m1', null, 'one', { cwd: composed })))
  await plant(projectSlug(decomposed), 2, jsonl(user('m1', null, 'two', { cwd: decomposed })))
  await plant(projectSlug(composed), 3, jsonl(user('m1', null, 'says nothing')))
  expect(projectSlug(composed)).toBe(projectSlug(decomposed))
  expect(await listed(composed)).toEqual([id(1), id(3)])
  expect(await listed(decomposed)).toEqual([id(2), id(3)])
})

test('S17: sessions of a deep path are found by what is recorded, whatever another program called the folder', async () => {
  const deep = (end: string): string => `/w/${'d'.repeat(258)}${end}`
  const cjk = `/w/${'漢'.repeat(90)}`
  await plant(projectSlug(deep('x')), 1, jsonl(user('m1', null, 'one', { cwd: deep('x') })))
  await plant(`${'-w-'.padEnd(200, 'd')}-otherhash`, 2, jsonl(user('m1', null, 'two', { cwd: deep('x') })))
  await plant(projectSlug(deep('y')), 3, jsonl(user('m1', null, 'three', { cwd: deep('y') })))
  await plant('-w-', 4, jsonl(user('m1', null, 'four', { cwd: cjk })))
  expect(await listed(deep('x'))).toEqual([id(1), id(2)])
  expect(await listed(deep('y'))).toEqual([id(3)])
  expect(await listed(cjk)).toEqual([id(4)])
})

test('S18: both spellings list both sessions; without the target each is what it says', async () => {
  const [real, link] = [made.path('w/real'), made.path('w/link')]
  await mkdir(real)
  await symlink(real, link)
  for (const [n, cwd] of [link, real].entries()) {
    const session = await createSession({
      projectDir: join(projectsDir, projectSlug(cwd)),
      sessionId: id(n),
      cwd,
    })
    await session.append({ type: 'user', message: { role: 'user', content: 'hi' } })
    await session.close()
  }
  for (const cwd of [real, link, [real, link], `${link}/`, join(link, '..', 'real')])
    expect(await listed(cwd)).toEqual([id(0), id(1)])
  await rm(real, { recursive: true })
  expect(await listed(link)).toEqual([id(0)])
  expect(await listed(real)).toEqual([id(1)])
  expect(await listed(made.path('w'))).toEqual([])
})

test('S19: the directory is the recorded one, and none is made of the name of a folder', async () => {
  await plant('-w-my-app-v2', 1, jsonl(user('m1', null, 'one', { cwd: '/w/my-app.v2' })))
  await plant('-w-my-app-v3', 2, jsonl(user('m1', null, 'two')))
  const list = await listSessions({ projectsDir })
  const byId = Object.fromEntries(list.map((info) => [info.sessionId, info]))
  expect(byId[id(1)]?.cwd).toBe('/w/my-app.v2')
  expect(byId[id(2)]).not.toHaveProperty('cwd')
  expect(byId[id(2)]?.path).toBe(join(projectsDir, '-w-my-app-v3', `${id(2)}.jsonl`))
})

test('S29: a session is listed where it began and where it went on, marked; a folder that was renamed hides nothing', async () => {
  const cwds = ['/w/p', '/w/p/sub', '/w/tree-of-p']
  const lines = straight(3).map((line, n) => ({ ...line, cwd: cwds[n] }))
  await plant('-w-p', 1, jsonl(...lines))
  await plant('-w-p', 2, jsonl(user('m1', null, 'stayed', { cwd: '/w/p' })))
  expect(await listed('/w/p')).toEqual([id(1), id(2)])
  expect(await listed('/w/tree-of-p')).toEqual([id(1)])
  expect(await listed(['/w/p', '/w/tree-of-p'])).toEqual([id(1), id(2)])
  const marked = new Map<string, unknown>()
  for (const { sessionId, cwd, lastCwd } of await listSessions({ projectsDir }))
    marked.set(sessionId, [cwd, lastCwd])
  expect(marked.get(id(1))).toEqual(['/w/p', '/w/tree-of-p'])
  expect(marked.get(id(2))).toEqual(['/w/p', undefined])
  // Both the project and the folder of its sessions under other names.
  await rename(join(projectsDir, '-w-p'), join(projectsDir, '-w-renamed'))
  expect(await listed()).toEqual([id(1), id(2)])
  expect(await listed('/w/p')).toEqual([id(1), id(2)])
  expect(await listed('/w/renamed')).toEqual([])
  expect((await findTranscripts(projectsDir)).map(({ path }) => path)).toContain(
    join(projectsDir, '-w-renamed', `${id(1)}.jsonl`),
  )
})

test('S30: a fork that holds identity records of its parent is itself, in list and conversation', async () => {
  // As another program forks: the parent's lines first, as they were, then its own.
  const parent = straight(2).map((line) => ({ ...line, sessionId: id(1), cwd: '/w/parent' }))
  const own = user('m3', 'm2', 'in the fork', { sessionId: id(2), cwd: '/w/fork' })
  await plant('-w-parent', 1, jsonl(...parent))
  const path = await plant('-w-fork', 2, jsonl(...parent, own))
  expect(await sessionInfo(path)).toMatchObject({
    sessionId: id(2),
    cwd: '/w/fork',
    lastPrompt: 'in the fork',
  })
  expect(await listed('/w/fork')).toEqual([id(2)])
  expect(await listed('/w/parent')).toEqual([id(1)])
  const session = await openSession({
    projectDir: join(projectsDir, '-w-fork'),
    sessionId: id(2),
    mode: 'read',
  })
  expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'm3'])
  await session.close()
  const fork = await forkSession({
    projectDir: join(projectsDir, '-w-parent'),
    sessionId: id(1),
    newSessionId: id(3),
    cwd: '/w/parent',
  })
  expect(await sessionInfo(fork.path)).toMatchObject({ sessionId: id(3), forkedFrom: id(1) })
  expect(await listed('/w/parent')).toEqual([id(1), id(3)])
})
