import { fileErrno, filesNow, OPEN_REGULAR } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { pace } from './in-parallel.ts'

/** Files up to this size are read in one go. */
export const SMALL_BYTES: number = 256 << 10

/** Two for all files: the first touch of fresh memory takes longer than the reading. */
const BUFFERS: { one: Buffer; other: Buffer } = {
  one: Buffer.allocUnsafeSlow(SMALL_BYTES),
  other: Buffer.allocUnsafeSlow(SMALL_BYTES),
}

/** Whether a file was not touched between two looks, but for changes within one tick of the clock. */
export function isUntouched(a: FileStats, b: FileStats): boolean {
  return (
    a.ctimeNs === b.ctimeNs &&
    a.mtimeNs === b.mtimeNs &&
    a.size === b.size &&
    a.ino === b.ino &&
    a.mode === b.mode &&
    a.dev === b.dev
  )
}

/** What opening says where there is nothing, or something that is no regular file. */
const NO_FILE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'])

const SETTLED_NS = 1_000_000_000n

/**
 * Whether a change at or after the time `nowMs` certainly moves the ctime: it is a second older than that, and no local
 * file system ticks that slowly. A ctime in the future, as a clock that was set back leaves it, is not settled.
 */
export function isSettled({ ctimeNs }: FileStats, nowMs: number): boolean {
  return BigInt(Math.floor(nowMs)) * 1_000_000n - ctimeNs >= SETTLED_NS
}

/**
 * Reads a regular file of 1 byte to 256 KiB without waiting; its stats are the same before and after. The bytes are
 * good until the next read into the same buffer, so at most until the caller waits.
 *
 * @returns `undefined` if it is no such file, is gone, or changed meanwhile: then there is the slower way
 * @throws {LociError} DISK_IO when it cannot be read
 */
export function readSmall(
  path: string,
  into: keyof typeof BUFFERS,
): { bytes: Uint8Array; stats: FileStats } | undefined {
  try {
    return filesNow.look(path, OPEN_REGULAR, (file) => {
      const before = file.statExactly()
      // Some that say they are empty are not, such as those of /proc.
      if (!before.isFile() || before.size === 0n || before.size > BigInt(SMALL_BYTES)) return undefined
      const bytes = BUFFERS[into].subarray(0, Number(before.size))
      if (file.readFull(bytes, 0) !== bytes.length) return undefined
      const stats = file.statExactly()
      pace.spend(1, bytes.length)
      return isUntouched(before, stats) ? { bytes, stats } : undefined
    })
  } catch (error) {
    if (NO_FILE.has(fileErrno(error) ?? '')) return undefined
    throw error
  }
}

/** As {@link readSmall}, of a live file: one that changed within the last second is read twice, since stats prove nothing then. */
export function readSteady(path: string): { bytes: Uint8Array; stats: FileStats } | undefined {
  const nowMs = Date.now()
  const first = readSmall(path, 'one')
  if (first === undefined || isSettled(first.stats, nowMs)) return first
  const second = readSmall(path, 'other')
  const isSame =
    second !== undefined &&
    isUntouched(first.stats, second.stats) &&
    Buffer.compare(first.bytes, second.bytes) === 0
  return isSame ? first : undefined
}
