import type { Backup, Snapshot } from '@loci/file-history'
import { emptyFileHistoryState } from '@loci/file-history'
import { expect, test } from 'vitest'
import { addSnapshot, backupOf, joinSnapshot } from '../src/snapshot.ts'

const backup = (version: number): Backup => ({
  backupFileName: null,
  version,
  backupTime: '2026-01-01T00:00:00.000Z',
})
const SNAPSHOT: Snapshot = {
  messageId: 'm',
  timestamp: '2026-01-01T00:00:00.000Z',
  trackedFileBackups: { a: backup(1) },
}
const start = addSnapshot(emptyFileHistoryState(), SNAPSHOT)

test('what joined later is not in a state that was there before, looked at then or only now', () => {
  const one = joinSnapshot(start, 'b', backup(2))
  const seen = one.snapshots[0]?.trackedFileBackups
  const two = joinSnapshot(one, 'c', backup(3))
  const three = joinSnapshot(two, 'd', backup(4))
  expect(seen).toBe(one.snapshots[0]?.trackedFileBackups)
  expect(Object.keys(seen ?? {})).toEqual(['a', 'b'])
  expect(Object.keys(two.snapshots[0]?.trackedFileBackups ?? {})).toEqual(['a', 'b', 'c'])
  expect([...two.trackedFiles]).toEqual(['a', 'b', 'c'])
  expect([...three.trackedFiles]).toEqual(['a', 'b', 'c', 'd'])
  expect([...one.trackedFiles]).toEqual(['a', 'b'])
  expect([...start.trackedFiles]).toEqual(['a'])
  expect(backupOf(two.snapshots[0], 'd')).toBeUndefined()
  expect(backupOf(three.snapshots[0], 'd')).toEqual(backup(4))
})

test('two states out of the same one know nothing of each other', () => {
  const one = joinSnapshot(start, 'b', backup(2))
  const left = joinSnapshot(one, 'c', backup(3))
  const right = joinSnapshot(one, 'c', backup(4))
  const more = joinSnapshot(one, 'd', backup(5))
  expect(backupOf(one.snapshots[0], 'c')).toBeUndefined()
  expect(backupOf(left.snapshots[0], 'c')).toEqual(backup(3))
  expect(backupOf(right.snapshots[0], 'c')).toEqual(backup(4))
  expect(more.snapshots[0]?.trackedFileBackups).toEqual({ a: backup(1), b: backup(2), d: backup(5) })
  expect([...more.trackedFiles]).toEqual(['a', 'b', 'd'])
})

test('a joined snapshot is a plain one to whoever copies, prints or compares it', () => {
  const { snapshots } = joinSnapshot(start, '__proto__', backup(2))
  const whole = {
    ...SNAPSHOT,
    trackedFileBackups: Object.fromEntries([
      ['a', backup(1)],
      ['__proto__', backup(2)],
    ]),
  }
  expect(snapshots).toEqual([whole])
  expect(JSON.parse(JSON.stringify(snapshots))).toEqual([whole])
  expect({ ...snapshots[0] }).toEqual(whole)
  expect(structuredClone(snapshots)).toEqual([whole])
})

test('a thousand files that join are put together when they are looked at, and once', () => {
  let state = start
  let reads = 0
  const counted = new Proxy(SNAPSHOT.trackedFileBackups, {
    ownKeys: (target) => {
      reads += 1
      return Reflect.ownKeys(target)
    },
  })
  state = addSnapshot(emptyFileHistoryState(), { ...SNAPSHOT, trackedFileBackups: counted })
  reads = 0
  for (let number = 0; number < 1000; number += 1) state = joinSnapshot(state, `f${number}`, backup(1))
  expect(reads).toBe(0)
  expect(Object.keys(state.snapshots[0]?.trackedFileBackups ?? {})).toHaveLength(1001)
  expect(state.snapshots[0]?.trackedFileBackups).toBe(state.snapshots[0]?.trackedFileBackups)
  expect(reads).toBe(1)
})
