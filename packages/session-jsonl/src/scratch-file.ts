import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { files, isScratchName, LociError, OPEN_REGULAR, orAbsent, writeFileAtomic } from '@loci/disk'
import type { FileStats } from '@loci/disk'

/** A file of a scratchpad, as a list shows it. */
export interface ScratchFile {
  /** Relative to the scratchpad, `/` between segments. */
  name: string
  sizeBytes: number
  modifiedAtMs: number
}

/** Every regular file below `dir`, sorted by name. Links are not followed, locks and scratch not listed. */
export async function listFiles(dir: string, prefix: string): Promise<ScratchFile[]> {
  const found: ScratchFile[] = []
  for (const entry of (await orAbsent(files.readdir(dir))) ?? []) {
    if (isScratchName(entry.name)) continue
    const name = `${prefix}${entry.name}`
    const path = join(dir, entry.name)
    if (entry.isDirectory()) found.push(...(await listFiles(path, `${name}/`)))
    if (!entry.isFile()) continue
    // Removed meanwhile: then it is not there.
    const stats = await orAbsent(files.lstat(path))
    if (!stats?.isFile()) continue
    found.push({ name, sizeBytes: Number(stats.size), modifiedAtMs: Number(stats.mtimeNs / 1_000_000n) })
  }
  return found.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** What stands at a path; `undefined`: nothing. @throws {LociError} PATH_INVALID when it is no regular file */
export async function lookAt(path: string): Promise<FileStats | undefined> {
  const stats = await orAbsent(files.lstat(path))
  if (stats === undefined || stats.isFile()) return stats
  throw new LociError('PATH_INVALID', `${JSON.stringify(path)} is no regular file; choose another name`, {
    details: { path },
  })
}

/** The bytes of a file as they are at one moment; `undefined` if there is none. @throws {LociError} as {@link lookAt} */
export async function readRegular(path: string): Promise<Buffer | undefined> {
  if ((await lookAt(path)) === undefined) return undefined
  const file = await orAbsent(files.open(path, OPEN_REGULAR))
  if (file === undefined) return undefined
  try {
    // One descriptor: a file that is replaced meanwhile is read as it was.
    const { size } = await file.stat()
    const bytes = Buffer.allocUnsafe(Number(size))
    return bytes.subarray(0, await file.readFull(bytes, 0))
  } finally {
    await file.close()
  }
}

/** Makes or replaces a file, with the directories above it; gives the revision. */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<string> {
  const existing = await lookAt(path)
  if (existing === undefined) await files.mkdir(dirname(path), 0o755)
  await writeFileAtomic(path, bytes, existing === undefined ? { mode: 0o600 } : {})
  return revisionOf(bytes)
}

/** SHA-256 in hex. */
export function revisionOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
