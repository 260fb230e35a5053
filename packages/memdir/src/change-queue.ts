import { join } from 'node:path'
import { files, orAbsent, removeQuietly, writeFileAtomic } from '@loci/disk'
import { applyChanges, isChangedMeanwhile, isLeftBehind, isSame, makeFolder } from './apply-changes.ts'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE } from './file-name.ts'
import { planFinish } from './finish-change.ts'
import type { UnfinishedChange } from './finish-change.ts'
import type { Folder } from './folder.ts'
import { withIndexLease } from './index-lease.ts'
import { formatIntent, INTENT_FILE } from './intent.ts'
import { SIDE_FILE_MODE } from './side-files.ts'

/** How often a change is planned anew because somebody without a lease wrote between the look and the write. */
const TRIES = 3

/** Changes of one folder by one handle, one after another. */
export interface ChangeQueue {
  /**
   * Plans a change and makes it, under the lease and after finishing what another change left undone. With
   * `whereAbsent` no folder is made: it answers instead. `plan` is given what was finished just now, if anything was.
   */
  change<P extends { changes: readonly FileChange[] }>(
    plan: (unfinished: UnfinishedChange | undefined) => Promise<P>,
    whereAbsent?: () => P,
  ): Promise<P>
  /** Waits for those under way. */
  idle(): Promise<void>
}

export function createChangeQueue(folder: Folder, waitMs: number): ChangeQueue {
  const { dir } = folder
  let last: Promise<unknown> = Promise.resolve()
  return {
    // Calls keep their order, awaited or not.
    change(plan, whereAbsent) {
      const next = last.then(async () => {
        if (whereAbsent === undefined) await makeFolder(dir)
        else if ((await orAbsent(files.stat(dir))) === undefined) return whereAbsent()
        return withIndexLease(dir, INDEX_FILE, waitMs, async () => {
          const unfinished = await finishChange(dir)
          for (let tries = 1; ; tries += 1) {
            const planned = await plan(unfinished)
            try {
              await makeChange(folder, planned.changes)
              return planned
            } catch (error) {
              if (tries === TRIES || !isChangedMeanwhile(error)) throw error
            }
          }
        })
      })
      last = next.catch(() => undefined)
      return next
    },
    async idle() {
      await last
    },
  }
}

/** Brings to its end what was cut off, if anything was. */
async function finishChange(dir: string): Promise<UnfinishedChange | undefined> {
  const unfinished = await planFinish(dir)
  if (unfinished === undefined) return undefined
  await applyChanges(unfinished.changes)
  await removeQuietly(join(dir, INTENT_FILE))
  return unfinished
}

/**
 * All of a change or none of it: {@link applyChanges}, with a record of what is meant on the disk first. The record
 * goes when all is done or all is taken back; one that stays is of use, or says nothing that is not done.
 */
async function makeChange(folder: Folder, changes: readonly FileChange[]): Promise<void> {
  const steps = changes.filter(({ before, after }) => !isSame(before, after))
  if (steps.length < 2) return applyChanges(steps)
  const record = join(folder.dir, INTENT_FILE)
  const text = formatIntent(await files.realpath(folder.dir), steps, folder.clock().toISOString())
  await writeFileAtomic(record, text, { durable: true, mode: SIDE_FILE_MODE })
  try {
    await applyChanges(steps)
  } catch (error) {
    if (!isLeftBehind(error)) await removeQuietly(record)
    throw error
  }
  await removeQuietly(record)
}
