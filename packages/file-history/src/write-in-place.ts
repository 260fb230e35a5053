import { join } from 'node:path'
import { errorMessage, files, LociError, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { BACKUP_NAME } from './backup.ts'
import type { FileState } from './compare.ts'
import type { OperationFile } from './edit-record.ts'
import type { Outcome } from './restore-file.ts'

const CHUNK_BYTES = 1 << 20

/** Whether a backup of the folder `dir` is this inode: it must not be written to. */
export async function isInodeOfBackup(dir: string, inode: string): Promise<boolean> {
  for (const { name } of await files.readdir(dir)) {
    if (!BACKUP_NAME.test(name)) continue
    const stats = await orAbsent(files.lstat(join(dir, name)))
    if (stats && `${stats.dev}:${stats.ino}` === inode) return true
  }
  return false
}

/** Writes over the bytes of the inode, and those from before again where that fails half-way. */
export async function putInPlace(
  dir: string,
  file: OperationFile,
  side: 'before' | 'after',
  inode: string,
): Promise<Outcome> {
  const other = side === 'after' ? 'before' : 'after'
  const [source, wanted] = [sourceOf(file, side), file[side]]
  const [formerSource, former] = [sourceOf(file, other), file[other]]
  if (source === null || wanted === null) return { kind: 'skipped', reason: 'its backup is missing' }
  try {
    await writeInPlace(file.realPath, join(dir, source), wanted, inode)
    return { kind: 'restored' }
  } catch (error) {
    const reason = errorMessage(error)
    if (formerSource === null || former === null) return { kind: 'torn', reason }
    const isBack = await writeInPlace(file.realPath, join(dir, formerSource), former, inode).then(
      () => true,
      () => false,
    )
    return { kind: isBack ? 'skipped' : 'torn', reason }
  }
}

/** The file inside the backup folder with the bytes of a side; `null`: that side is absence. */
export function sourceOf(file: OperationFile, side: 'before' | 'after'): string | null {
  return side === 'after' ? file.source : file.kept
}

async function writeInPlace(path: string, source: string, wanted: FileState, inode: string): Promise<void> {
  const from = await files.open(source, 'r')
  try {
    const to = await files.open(path, 'r+')
    try {
      const opened = await to.stat()
      if (!opened.isFile() || `${opened.dev}:${opened.ino}` !== inode) {
        throw new LociError('DISK_IO', `${JSON.stringify(path)} was replaced just now; try again`)
      }
      await copyBytes(from, to)
      await to.truncate(wanted.sizeBytes)
      await to.chmod(wanted.mode)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

async function copyBytes(from: OpenFile, to: OpenFile): Promise<void> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const length = await from.read(buffer, position)
    if (length === 0) return
    await to.writeAll(buffer.subarray(0, length), position)
    position += length
  }
}
