import { basename } from 'node:path'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import type { Fault } from '@loci/disk/testing'
import { afterEach, expect, test } from 'vitest'
import { project } from './project.ts'

afterEach(() => setFaultHook(undefined))

const NAMES = Array.from({ length: 40 }, (_, number) => `f${number}`)

/** Name and backup of every file of the newest snapshot. */
function held(history: FileHistory): string[] {
  const record = history.snapshots().at(-1)?.trackedFileBackups ?? {}
  return Object.entries(record)
    .map(([name, backup]) => `${name} ${backup.backupFileName} ${backup.version}`)
    .toSorted()
}

/** Fails the nth operation of this kind on the ledger; `short`: after 700 bytes. */
function failLedger(kind: 'open' | 'write' | 'close' | 'short', nth: number): () => boolean {
  let seen = 0
  let isOver = false
  setFaultHook((operation, path): Fault => {
    if (basename(path) !== 'snapshots.jsonl' || operation !== (kind === 'short' ? 'write' : kind))
      return undefined
    seen += 1
    if (kind === 'short' && seen === nth) return { shortWriteBytes: 700 }
    if (seen !== nth + (kind === 'short' ? 1 : 0)) return undefined
    isOver = true
    return Object.assign(new Error(), { code: kind === 'short' ? 'ENOSPC' : 'EIO' })
  })
  return () => isOver
}

for (const kind of ['open', 'write', 'close', 'short'] as const) {
  test(`first edits at once of which some lines cannot be written (${kind}): those are rejected, and nothing else is lost`, async () => {
    let rejected = 0
    for (let nth = 1; ; nth += 1) {
      const work = await project(Object.fromEntries(NAMES.map((name) => [name, name.padEnd(2000)])))
      const history = await work.open()
      await history.makeSnapshot('m')
      const isTripped = failLedger(kind, nth)
      const results = await Promise.allSettled(NAMES.map((name) => history.trackEdit(name, 'a')))
      setFaultHook(undefined)
      const done = NAMES.filter((_, place) => results[place]?.status === 'fulfilled')
      rejected += NAMES.length - done.length
      expect(Object.keys(history.snapshots()[0]?.trackedFileBackups ?? {}).toSorted()).toEqual(
        done.toSorted(),
      )
      await Promise.all(NAMES.map((name) => history.trackEdit(name, 'b')))
      const before = held(history)
      expect(before).toHaveLength(NAMES.length)
      await history.close()
      const again = await work.open()
      expect(held(again)).toEqual(before)
      await again.close()
      await work.dispose()
      if (!isTripped()) break
    }
    expect(rejected).toBeGreaterThan(1)
  })
}
