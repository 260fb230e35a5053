import { dirname } from 'node:path'
import { errorMessage, files, isLociError, LociError, orAbsent } from '@loci/disk'
import { readBackup } from './backup.ts'
import { addCheckpoint, nextRewindId } from './checkpoint-index.ts'
import type { StoredCheckpoint, StoredFile } from './checkpoint-index.ts'
import { notRegular } from './checkpoint-store.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { isSameState, lookAt } from './compare.ts'
import type { OperationFile } from './edit-record.ts'
import { inParallel } from './in-parallel.ts'
import { byPath } from './plan-rewind.ts'
import { restoreName, writeFile } from './restore-file.ts'
import type { FileStep } from './restore-file.ts'
import { realDirectory, statOf } from './track-path.ts'

/** A file that could not be brought back. */
interface FailedFile {
  path: string
  code: string
  reason: string
}

/** A file to be written; what it holds now is not kept yet. */
type Write = Omit<OperationFile, 'kept'>

/**
 * Brings the files of a checkpoint back. What they hold is made a checkpoint of its own first, so that a crash at any
 * moment leaves both to go to. What one file fails on keeps none of the others.
 *
 * @throws {LociError} the code of the first file that failed, all of them in `details.failed`; DISK_FULL, DISK_IO when
 * the index cannot be written: nothing was touched
 */
export async function bringBack(
  store: CheckpointStore,
  checkpoint: StoredCheckpoint,
  clock: () => Date,
): Promise<void> {
  const { messageId } = checkpoint
  const failed: FailedFile[] = checkpoint.lost.map((file) => ({ ...file, code: 'BACKUP_MISSING' }))
  const planned = await inParallel(checkpoint.files, (file) => caught(file.filePath, () => plan(store, file)))
  const kept: { write: Write; file: StoredFile }[] = []
  for (const write of planned) {
    if (write === 'unchanged') continue
    const file = 'code' in write ? write : await caught(write.path, () => keep(store, write))
    if ('code' in file) failed.push(file)
    else if (!('code' in write)) kept.push({ write, file })
  }
  let rewindId: string | null = null
  if (kept.length > 0) {
    rewindId = nextRewindId(store.index)
    const timestamp = clock().toISOString()
    const before = kept.map(({ file }) => file)
    await store.write(
      addCheckpoint(store.index, { messageId: rewindId, timestamp, files: before, rewoundTo: messageId }),
    )
    for (const { write, file } of kept) {
      const step: FileStep = { file: { ...write, kept: file.name }, side: 'after', files: [] }
      const outcome = await writeFile(store.place.folder, step)
      if (!('reason' in outcome)) continue
      const { kind, reason } = outcome
      const code = kind === 'conflict' ? 'REWIND_CONFLICT' : 'DISK_IO'
      const isTorn = kind === 'torn'
      failed.push({ path: write.path, code, reason: isTorn ? `it stands half-written: ${reason}` : reason })
    }
  }
  if (failed.length > 0) throw incomplete(messageId, failed.toSorted(byPath), rewindId)
}

async function caught<T>(path: string, action: () => Promise<T>): Promise<T | FailedFile> {
  try {
    return await action()
  } catch (error) {
    const code = isLociError(error) ? error.code : 'DISK_IO'
    return { path, code, reason: errorMessage(error) }
  }
}

/** What is to be done with a file, by what is there now. Only what a crash left of an earlier rewind is removed. */
async function plan(store: CheckpointStore, file: StoredFile): Promise<Write | FailedFile | 'unchanged'> {
  const { filePath: path, name, state: noted } = file
  const parent = dirname(path)
  if ((await realDirectory(parent)) !== parent) {
    return { path, code: 'PATH_LINK', reason: 'its directory is reached through a link now' }
  }
  // Where its directory is a file now, this says so.
  const look = (await statOf(path)) === undefined ? ({ kind: 'absent' } as const) : await lookAt(path)
  if (look.kind !== 'file' && look.kind !== 'absent') throw notRegular(path, look.kind)
  const scratch = restoreName(path)
  if ((await orAbsent(files.lstat(scratch))) !== undefined) await files.unlink(scratch)
  const backup = { backupFileName: name, version: 1, backupTime: '' }
  const content = await readBackup(store.place.folder, backup, path, noted)
  if ('problem' in content) return { path, code: 'BACKUP_MISSING', reason: content.problem }
  const before = look.kind === 'file' ? look.state : null
  const { state: after, source } = content
  if (isSameState(before, after)) return 'unchanged'
  return { trackingPath: path, path, realPath: path, before, after, source }
}

/** Backs up what a rewind is about to write over. */
async function keep(store: CheckpointStore, { path, before }: Write): Promise<StoredFile | FailedFile> {
  const file = await store.backUp(path)
  if (isSameState(file.state ?? null, before)) return file
  await store.discard([file])
  return { path, code: 'REWIND_CONFLICT', reason: 'it was changed just now' }
}

function incomplete(messageId: string, failed: readonly FailedFile[], kept: string | null): LociError {
  const named = failed.map(({ path, reason }) => `${JSON.stringify(path)}: ${reason}`).join('; ')
  const rest = kept === null ? 'nothing was overwritten' : `what was overwritten is the checkpoint ${kept}`
  const message = `Not brought back to ${JSON.stringify(messageId)}: ${named}. The other files are, and ${rest}; set that right and rewind again`
  return new LociError(failed[0]?.code ?? 'DISK_IO', message, { details: { messageId, failed, kept } })
}
