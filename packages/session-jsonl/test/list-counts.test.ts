import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { archiveSession, createSession, listSessions, sessionInfo } from '@loci/session-jsonl'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonl, straight, text, user } from './lines.ts'

let made: Tree
beforeEach(async () => {
  made = await tree({ 'projects/': '' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Writes a session as Loci does, and gives its bytes. */
async function written(turns: number, said: string): Promise<string> {
  const projectDir = made.path('written')
  const session = await createSession({ projectDir, cwd: '/w/p', gitBranch: 'main' })
  for (let turn = 0; turn < turns; turn += 1) {
    await session.append({ type: 'user', message: { role: 'user', content: `${said} ${turn}` } })
    await session.append({ type: 'assistant', message: { role: 'assistant', content: [text(said)] } })
  }
  await session.record({ type: 'custom-title', customTitle: `Title of ${turns}` })
  await session.close()
  return (await readFile(session.path, 'utf8')).replaceAll(session.id, 'SESSION-ID')
}

/** `count` transcripts in four folders, each a copy of one of the given. */
async function plant(count: number, kinds: readonly string[]): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const folder = made.path(`projects/f${n % 4}`)
    await mkdir(folder, { recursive: true })
    const bytes = (kinds[n % kinds.length] ?? '').replaceAll('SESSION-ID', id(n))
    await writeFile(`${folder}/${id(n)}.jsonl`, bytes)
  }
}

/** How often each operation was done, and the most files that were open at once. */
function counting(): {
  operations: Record<string, number>
  perFile: Map<string, number>
  mostOpen: () => number
} {
  const operations: Record<string, number> = {}
  const perFile = new Map<string, number>()
  let open = 0
  let most = 0
  setFaultHook((operation, path) => {
    operations[operation] = (operations[operation] ?? 0) + 1
    if (operation === 'open') {
      perFile.set(path, (perFile.get(path) ?? 0) + 1)
      most = Math.max(most, (open += 1))
    }
    if (operation === 'close') open -= 1
    return undefined
  })
  return { operations, perFile, mostOpen: () => most }
}

/** Bytes that this process has read so far, where the system tells. */
async function bytesRead(): Promise<number> {
  const io = await readFile('/proc/self/io', 'utf8').catch(() => '')
  return Number(/rchar: (\d+)/.exec(io)?.[1] ?? 0)
}

test('a list of 1,000 sessions that Loci wrote opens each file once, one at a time, and no other; reads at most 128 KiB of each', async () => {
  const long = await written(30, 'x'.repeat(40_000))
  expect(long.length).toBeGreaterThan(2_000_000)
  const kinds = [await written(1, 'one'), await written(20, 'a few words of it '.repeat(40))]
  const many = Array.from({ length: 12 }, (_, n) => kinds[n % 2] ?? '')
  await plant(1_000, [...many.slice(0, 11), long])
  const largeFiles = Math.floor(1_000 / 12)
  const counts = counting()
  const before = await bytesRead()
  const list = await listSessions({ projectsDir: made.path('projects') })
  const read = (await bytesRead()) - before
  setFaultHook(undefined)
  expect(list).toHaveLength(1_000)
  expect(list.every(({ damaged, cwd, customTitle }) => !damaged && cwd === '/w/p' && customTitle)).toBe(true)
  expect(counts.operations).toEqual({
    readdir: 5,
    open: 1_000,
    fstat: 1_000,
    // One of both ends where they meet.
    read: 1_000 + largeFiles,
    close: 1_000,
  })
  expect(new Set(counts.perFile.values())).toEqual(new Set([1]))
  expect(counts.mostOpen()).toBe(1)
  expect(read).toBeLessThan(1_000 * 128 * 1024)
})

test('of archived sessions only those with side files are asked, each once', async () => {
  await plant(40, [jsonl(...straight(2))])
  for (const n of [0, 4, 8])
    await archiveSession({
      projectDir: made.path('projects/f0'),
      sessionId: id(n),
      clock: () => new Date('2027-01-01'),
    })
  await mkdir(made.path(`projects/f1/${id(1)}/subagents`), { recursive: true })
  const counts = counting()
  expect(await listSessions({ projectsDir: made.path('projects') })).toHaveLength(37)
  // A mark is looked for before it is read, since a FIFO of that name would be waited for.
  expect(counts.operations).toEqual({ readdir: 5, open: 40, fstat: 40, read: 40 + 3, close: 40, stat: 4 })
})

test('with a limit of 50 about as many are opened, of however many', async () => {
  const count = 1_500
  for (let n = 0; n < count; n += 1) {
    const folder = made.path(`projects/f${n % 4}`)
    await mkdir(folder, { recursive: true })
    const timestamp = new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString()
    const path = `${folder}/${id(n)}.jsonl`
    await writeFile(path, jsonl(user('m1', null, `said ${n}`, { timestamp, sessionId: id(n) })))
    await utimes(path, new Date(timestamp), new Date(timestamp))
  }
  for (const [offset, most] of [
    [0, 52],
    [100, 152],
  ] as const) {
    const counts = counting()
    const list = await listSessions({ projectsDir: made.path('projects'), limit: 50, offset })
    expect(list.map(({ sessionId }) => sessionId)).toEqual(
      Array.from({ length: 50 }, (_, n) => id(count - 1 - offset - n)),
    )
    expect(counts.operations['open']).toBeLessThanOrEqual(most)
    expect(counts.mostOpen()).toBe(1)
    setFaultHook(undefined)
  }
})

test('others have their turn while a long list is made', async () => {
  await plant(400, [jsonl(...straight(2))])
  let turns = 0
  let isListed = false
  const count = (): void => {
    turns += 1
    if (!isListed) setImmediate(count)
  }
  setImmediate(count)
  await listSessions({ projectsDir: made.path('projects') })
  isListed = true
  expect(turns).toBeGreaterThanOrEqual(400 / 32)
})

test('two lists at once, and single looks between, do not disturb each other', async () => {
  await plant(200, [jsonl(...straight(2)), jsonl(user('m1', null, 'y'.repeat(200_000)), ...straight(8))])
  const projectsDir = made.path('projects')
  const alone = await listSessions({ projectsDir })
  const [one, other, ...looks] = await Promise.all([
    listSessions({ projectsDir }),
    listSessions({ projectsDir, limit: 1_000 }),
    ...alone.map(({ path }) => sessionInfo(path)),
  ])
  expect(one).toEqual(alone)
  expect(other).toEqual(alone)
  expect(looks).toEqual(alone)
})

describe('what a list keeps in memory', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void

  test.each([
    ['in strings', (said: string): unknown => said],
    ['in blocks', (said: string): unknown => [text(said)]],
  ])('is what it shows, and not the files: prompts %s', async (_how, content) => {
    const said = `${'word '.repeat(12_000)}é`
    await plant(300, [
      jsonl(
        user('m1', null, content(said), {
          cwd: `/w/${'deep/'.repeat(8)}p`,
          gitBranch: 'a-branch-with-a-name',
        }),
        {
          type: 'custom-title',
          customTitle: 'A title that is longer than a few letters',
          sessionId: 'SESSION-ID',
        },
      ),
    ])
    const projectsDir = made.path('projects')
    // Its number only: a list that is waited for here would be kept until the next one is, and make up for it.
    await listSessions({ projectsDir }).then(({ length }) => length)
    collect()
    const before = process.memoryUsage().heapUsed
    const list = await listSessions({ projectsDir })
    collect()
    const kept = process.memoryUsage().heapUsed - before
    expect(list).toHaveLength(300)
    // Of 60 KB each; kept are a few hundred bytes of each.
    expect(kept / list.length).toBeLessThan(10_000)
  })
})
