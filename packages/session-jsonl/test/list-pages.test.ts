import { rmSync, unlinkSync } from 'node:fs'
import { mkdir, unlink, utimes, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as fc from 'fast-check'
import { listSessions } from '@loci/session-jsonl'
import type { SessionInfo } from '@loci/session-jsonl'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { jsonl, often, user } from './lines.ts'

let made: Tree
beforeEach(async () => {
  made = await tree({ 'projects/': '' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const START_S = Date.UTC(2026, 0, 1) / 1_000

interface Planted {
  folder: number
  activityS: number
  /** When the file was written, in seconds after its newest entry. */
  laterS: number
  isFork: boolean
}

async function plant(sessions: readonly Planted[]): Promise<string> {
  const projectsDir = made.path(`projects/${(runs += 1)}`)
  await mkdir(projectsDir)
  for (const [n, session] of sessions.entries()) {
    const path = pathOf(projectsDir, session, n)
    await mkdir(dirname(path), { recursive: true })
    const timestamp = new Date((START_S + session.activityS) * 1_000).toISOString()
    const origin = { type: 'forked-from', sessionId: id(n), sourceSessionId: id(999) }
    const prompt = user('m1', null, `said ${n}`, { timestamp, sessionId: id(n) })
    await writeFile(path, jsonl(...(session.isFork ? [origin] : []), prompt))
    const writtenS = START_S + session.activityS + session.laterS
    await utimes(path, writtenS, writtenS)
  }
  return projectsDir
}
let runs = 0

const pathOf = (projectsDir: string, { folder }: Planted, n: number): string =>
  `${projectsDir}/f${folder}/${id(n)}.jsonl`

/** The order of the docstring, said once more. */
function naiveOrder(projectsDir: string, sessions: readonly Planted[]): string[] {
  return sessions
    .map((session, n) => ({ ...session, sessionId: id(n), path: pathOf(projectsDir, session, n) }))
    .toSorted((a, b) => {
      if (a.activityS !== b.activityS) return b.activityS - a.activityS
      if (a.isFork !== b.isFork) return a.isFork ? -1 : 1
      if (a.laterS !== b.laterS) return b.laterS - a.laterS
      return a.path < b.path ? -1 : 1
    })
    .map(({ sessionId }) => sessionId)
}

async function pages(projectsDir: string, limit: number): Promise<string[]> {
  const shown: string[] = []
  for (let offset = 0; ; offset += limit) {
    const page = await listSessions({ projectsDir, limit, offset })
    shown.push(...ids(page))
    if (page.length < limit) return shown
  }
}

const ids = (list: readonly SessionInfo[]): string[] => list.map(({ sessionId }) => sessionId)

const session = (laterS: fc.Arbitrary<number>): fc.Arbitrary<Planted> =>
  fc.record({
    folder: fc.integer({ min: 0, max: 2 }),
    activityS: fc.integer({ min: 0, max: 40 }).map((minutes) => minutes * 7),
    laterS,
    isFork: fc.boolean(),
  })

test('all pages together are the list, and the list is in the order of a naive model', async () => {
  // Written when the entry was, a little later, or touched long after.
  const later = fc.constantFrom(0, 0, 0, 1, 5, 300)
  await fc.assert(
    fc.asyncProperty(
      fc.array(session(later), { maxLength: 45 }),
      fc.integer({ min: 1, max: 11 }),
      async (sessions, limit) => {
        const projectsDir = await plant(sessions)
        const expected = naiveOrder(projectsDir, sessions)
        expect(ids(await listSessions({ projectsDir }))).toEqual(expected)
        expect(await pages(projectsDir, limit)).toEqual(expected)
        expect(ids(await listSessions({ projectsDir, offset: limit }))).toEqual(expected.slice(limit))
      },
    ),
    { numRuns: often(200, 15) },
  )
})

test('every session is on exactly one page, whatever the times of the files claim', async () => {
  const claimed = fc.constantFrom(0, 0, 0, 0, 3, 200, -3, -50, -250)
  await fc.assert(
    fc.asyncProperty(
      fc.array(session(claimed), { minLength: 17, maxLength: 45 }),
      fc.integer({ min: 1, max: 11 }),
      async (sessions, limit) => {
        const projectsDir = await plant(sessions)
        expect(ids(await listSessions({ projectsDir }))).toEqual(naiveOrder(projectsDir, sessions))
        const shown = await pages(projectsDir, limit)
        expect(shown.toSorted()).toEqual(sessions.map((_, n) => id(n)))
      },
    ),
    { numRuns: often(200, 15) },
  )
})

test('a file that claims to be older than its newest entry has no place before what was shown already', async () => {
  const sessions = Array.from({ length: 40 }, (_, n) => ({
    folder: 0,
    activityS: (40 - n) * 60,
    laterS: 0,
    isFork: false,
  }))
  // The newest of all, in a file set back to the time of the thirtieth.
  sessions.push({ folder: 0, activityS: 6_000, laterS: 600 - 6_000, isFork: false })
  const projectsDir = await plant(sessions)
  expect((await listSessions({ projectsDir }))[0]?.sessionId).toBe(id(40))
  const shown = await pages(projectsDir, 7)
  expect(shown).toHaveLength(41)
  expect(new Set(shown).size).toBe(41)
})

test('a transcript or folder that goes while a list is made, or comes or goes between pages, is no error', async () => {
  const sessions = Array.from({ length: 60 }, (_, n) => ({
    folder: n % 3,
    activityS: n,
    laterS: 0,
    isFork: false,
  }))
  const projectsDir = await plant(sessions)
  const gone = id(30)
  for (const options of [{}, { limit: 60 }]) {
    setFaultHook((operation, path) => {
      if (operation === 'open' && path.includes(gone)) unlinkSync(path)
      if (operation === 'readdir' && path.endsWith('/f2')) rmSync(path, { recursive: true, force: true })
      return undefined
    })
    const list = ids(await listSessions({ projectsDir, ...options }))
    setFaultHook(undefined)
    expect(list).toEqual(
      Array.from({ length: 60 }, (_, n) => 59 - n)
        .filter((n) => n % 3 !== 2 && n !== 30)
        .map((n) => id(n)),
    )
    const again = pathOf(projectsDir, { folder: 0, activityS: 0, laterS: 0, isFork: false }, 30)
    await writeFile(again, jsonl(user('m1', null, 'back', { timestamp: '2026-01-01T00:00:30.000Z' })))
    await utimes(again, START_S + 30, START_S + 30)
  }
  const first = ids(await listSessions({ projectsDir, limit: 10 }))
  await unlink(pathOf(projectsDir, { folder: 1, activityS: 0, laterS: 0, isFork: false }, 58))
  const second = ids(await listSessions({ projectsDir, limit: 10, offset: 10 }))
  expect(first).toHaveLength(10)
  expect(second).toHaveLength(10)
})

test('of equally new sessions forks come first, then the file last written, then the smaller path, also over pages', async () => {
  const of = (folder: number, laterS: number, isFork: boolean): Planted => ({
    folder,
    activityS: 60,
    laterS,
    isFork,
  })
  const sessions = [
    of(1, 0, false),
    of(0, 0, false),
    of(2, 5, false),
    of(1, 0, true),
    of(2, 0, false),
    of(0, 1, true),
  ]
  const projectsDir = await plant(sessions)
  const expected = [5, 3, 2, 1, 0, 4].map((n) => id(n))
  expect(ids(await listSessions({ projectsDir }))).toEqual(expected)
  for (const limit of [1, 2, 4, 6]) expect(await pages(projectsDir, limit)).toEqual(expected)
  expect(ids(await listSessions({ projectsDir, offset: 4 }))).toEqual(expected.slice(4))
  expect(await listSessions({ projectsDir, limit: 3, offset: 6 })).toEqual([])
})
