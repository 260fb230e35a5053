import { cpSync, rmSync } from 'node:fs'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { loadCheckpoints } from '@loci/file-history'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { checkpointProject } from './checkpoint-project.ts'
import type { CheckpointProject } from './checkpoint-project.ts'
import { filesBelow, withFault } from './fault-scene.ts'
import type { Fault, FaultWay, Files } from './fault-scene.ts'

let work: CheckpointProject
let [first, now]: Files[] = []
const places = (): string[] => [work.root, work.beside('state')]
beforeAll(async () => {
  work = await checkpointProject({ 'a.txt': 'a1', 'b.sh': { text: 'b1', mode: 0o755 } })
  first = filesBelow(work.root)
  await work.make('m1', 'a.txt', 'b.sh', 'made.txt')
  await work.write('a.txt', 'a2')
  await work.write('b.sh', 'b2', 0o700)
  await work.write('made.txt', 'made')
  now = filesBelow(work.root)
  for (const place of places()) cpSync(place, `${place}-saved`, { recursive: true })
})
afterEach(() => setFaultHook(undefined))
afterAll(() => work.dispose())

const isLong = process.env['LOCI_LONG'] === '1'
const WAYS: readonly FaultWay[] = ['ENOSPC', 'EIO', 'EACCES', 'torn']

/** What each gives when nothing fails. */
const CALLS: Record<string, { call: () => Promise<unknown>; gives: unknown; ids: string[] }> = {
  makeCheckpoint: { call: () => work.make('m2', 'a.txt', 'b.sh'), gives: undefined, ids: ['m1', 'm2'] },
  backupFile: {
    call: () => work.backup('a.txt'),
    gives: { filePath: expect.stringMatching(/a\.txt$/), backupPath: expect.stringMatching(/@v\d+$/) },
    ids: ['m1'],
  },
  loadCheckpoints: {
    call: async () => (await loadCheckpoints(work.file)).damage,
    gives: [],
    ids: ['m1'],
  },
  rewindToCheckpoint: { call: () => work.rewind('m1'), gives: undefined, ids: ['m1', 'before-rewind-1'] },
}

async function tryOnce(name: string, fault: Fault): Promise<boolean> {
  const { call, gives, ids } = CALLS[name] ?? {
    call: () => Promise.reject(new Error(name)),
    gives: 0,
    ids: [],
  }
  const isRewind = name === 'rewindToCheckpoint'
  for (const place of places()) {
    rmSync(place, { recursive: true })
    cpSync(`${place}-saved`, place, { recursive: true })
  }
  const { error, isTripped } = await withFault(fault, call)
  if (error !== undefined && !isLociError(error, 'DISK_FULL', 'DISK_IO', 'BACKUP_MISSING')) throw error
  const files = filesBelow(work.root)
  for (const file of Object.keys({ ...first, ...now })) {
    expect([now?.[file], isRewind ? first?.[file] : now?.[file]], file).toContain(files[file])
  }
  if (error !== undefined) expect(await call()).toEqual(gives)
  expect(filesBelow(work.root)).toEqual(isRewind ? first : now)
  expect(await work.damage()).toEqual([])
  // A rewind that was cut short has kept its part under an id of its own.
  expect(await work.ids()).toEqual(expect.arrayContaining(ids))
  if (!isRewind) await work.rewind('m1')
  expect(filesBelow(work.root)).toEqual(first)
  return isTripped
}

test.each(Object.keys(CALLS))(
  '%s, with any file operation failing: an error or success, no loss, and then it works as ever',
  async (name) => {
    let tried = 0
    const stride = isLong ? 1 : 19
    for (const lasts of [false, true]) {
      let isTripped = true
      for (let nth = lasts ? 1 : 1 + (stride >> 1); isTripped; nth += stride) {
        isTripped = false
        const ways = isLong ? WAYS : WAYS.filter((_, index) => index === tried % WAYS.length)
        for (const way of ways) {
          try {
            if (await tryOnce(name, { nth, way, lasts })) isTripped = true
          } catch (cause) {
            throw new Error(`${way} at operation ${nth}, ${lasts ? 'and all after it' : 'once'}`, { cause })
          }
        }
        tried += 1
      }
    }
    expect(tried).toBeGreaterThan(1)
  },
  600_000,
)
