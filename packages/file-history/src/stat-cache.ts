import { join } from 'node:path'
import { files, filesNow, OPEN_REGULAR, orAbsent, writeFileAtomic } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { isJsonObject } from './json-lines.ts'
import { isSettled } from './read-small.ts'

/**
 * What of a file's stats is compared. Plain numbers: what they round is smaller than a second, by which a change moves
 * the ctime at least; see {@link StatCache}.
 */
export interface Stamp {
  dev: number
  ino: number
  size: number
  /** Kind and permission bits. */
  mode: number
  mtimeMs: number
  ctimeMs: number
}

/** The stamp of stats that round nothing, equal to that of the same stats rounded by Node. */
export function roundedStamp(stats: FileStats): Stamp {
  return {
    dev: Number(stats.dev),
    ino: Number(stats.ino),
    size: Number(stats.size),
    mode: Number(stats.mode),
    mtimeMs: roundedMs(stats.mtimeNs),
    ctimeMs: roundedMs(stats.ctimeNs),
  }
}

const NS_PER_SECOND = 1_000_000_000n

function roundedMs(ns: bigint): number {
  return Number(ns / NS_PER_SECOND) * 1000 + Number(ns % NS_PER_SECOND) / 1e6
}

function isSameStamp(a: Stamp, b: Stamp): boolean {
  return (
    a.ctimeMs === b.ctimeMs &&
    a.mtimeMs === b.mtimeMs &&
    a.size === b.size &&
    a.ino === b.ino &&
    a.mode === b.mode &&
    a.dev === b.dev
  )
}

/** That a live file and a backup were seen to be the same, and how both looked then. */
interface Proof {
  /** Name of the backup. */
  backup: string
  lookedAtMs: number
  live: Stamp
  /** How the backup looked, see {@link storedStamp}. */
  stored: string
  /** It is of `stat.json`, and the backup was not looked at since. */
  isOfEarlier: boolean
}

const VERSION = 1
const MAX_FILE_BYTES = 64 << 20
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/**
 * What saves reading files that nobody touched: of each tracked file, the stats it had when its bytes were last seen to
 * be those of a backup. Kept in memory, and between two openings in `stat.json` of the history's folder. Losing it
 * costs speed, never a snapshot.
 *
 * Equal stats prove equal bytes, because the ctime cannot be set: whoever writes, changes the mode, renames over the
 * file or sets its times back moves it to the time of that. The ctime of a file is only taken for this if it was a
 * second old when the reading began: a later change cannot fall into the same tick of the clock. A stamp of the future
 * proves nothing, as one taken before the clock was set back. Only on file systems that this machine alone has mounted
 * (see {@link QuickLook}): elsewhere another clock, or a cache, stands between.
 * One thing moves no time: a program that writes again through a shared memory map into a page that it has written
 * before, until the system has written that page to the disk.
 *
 * Whatever a `stat.json` says, a file that was changed since has another ctime, or is another inode; so one that is old,
 * from another folder or from a tape cannot hide an edit. It counts only for the folder (device and inode) and the
 * boot in which it was written: a power cut may take back bytes whose stats are on the disk already. And it counts
 * only for a backup that still is the inode, of the size and mtime, that was compared: a copy of the folder has other
 * inodes, and a name that was used again is another file. The ctime of a backup tells nothing, as it moves when a
 * fork links it.
 */
export class StatCache {
  readonly #dir: string
  readonly #proofs = new Map<string, Proof>()
  #isLoaded = false
  #hasNews = false

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Whether it is worth while to ask for the stats of the file. */
  knows(key: string, backup: string): boolean {
    this.#load()
    return this.#proofs.get(key)?.backup === backup
  }

  /** Whether stats of now prove that the file of `key` still is what that backup holds. */
  proves(key: string, backup: string, live: Stamp, nowMs: number): boolean {
    const proof = this.#proofs.get(key)
    if (proof?.backup !== backup || nowMs < proof.lookedAtMs) return false
    if (!isSameStamp(proof.live, live) || (proof.isOfEarlier && !this.#isStored(proof))) return false
    proof.isOfEarlier = false
    return true
  }

  /** Remembers that a file and a backup were the same. `lookedAtMs`: before the first of the bytes was read. */
  remember(
    key: string,
    seen: { backup: string; live: FileStats; stored: FileStats; lookedAtMs: number },
  ): void {
    this.#load()
    const { backup, live, stored, lookedAtMs } = seen
    this.#hasNews = true
    if (!isSettled(live, lookedAtMs)) this.#proofs.delete(key)
    else {
      this.#proofs.set(key, {
        backup,
        lookedAtMs,
        live: roundedStamp(live),
        stored: storedStamp(stored),
        isOfEarlier: false,
      })
    }
  }

  forget(key: string): void {
    this.#load()
    this.#proofs.delete(key)
  }

  /** Writes `stat.json`, if there is anything new to say. */
  async save(): Promise<void> {
    if (!this.#hasNews) return
    const bootId = readBootId()
    const folder = await orAbsent(files.lstat(this.#dir))
    if (bootId === undefined || folder === undefined) return
    const proofs = [...this.#proofs].map(([key, { backup, lookedAtMs, live, stored }]) => [
      key,
      { backup, lookedAtMs, live, stored },
    ])
    const content = { version: VERSION, bootId, folder: folderOf(folder), files: Object.fromEntries(proofs) }
    await writeFileAtomic(this.#path, JSON.stringify(content), { mode: 0o600 })
    this.#hasNews = false
  }

  get #path(): string {
    return join(this.#dir, 'stat.json')
  }

  #isStored({ backup, stored }: Proof): boolean {
    try {
      return storedStamp(filesNow.lstat(join(this.#dir, backup))) === stored
    } catch {
      return false
    }
  }

  /** Once; whatever is wrong with the file, there is the slower way. */
  #load(): void {
    if (this.#isLoaded) return
    this.#isLoaded = true
    try {
      const content: unknown = JSON.parse(readText(this.#path))
      if (!isJsonObject(content) || content['version'] !== VERSION) return
      if (content['folder'] !== folderOf(filesNow.lstat(this.#dir))) return
      if (content['bootId'] !== readBootId() || !isJsonObject(content['files'])) return
      for (const [key, value] of Object.entries(content['files'])) {
        const proof = parseProof(value)
        if (proof !== undefined) this.#proofs.set(key, proof)
      }
    } catch {
      // Absent or damaged.
    }
  }
}

function parseProof(value: unknown): Proof | undefined {
  if (!isJsonObject(value) || !isJsonObject(value['live'])) return undefined
  const { backup, lookedAtMs, stored } = value
  const { dev, ino, size, mode, mtimeMs, ctimeMs } = value['live']
  if (typeof backup !== 'string' || typeof lookedAtMs !== 'number' || typeof stored !== 'string')
    return undefined
  const live = { dev, ino, size, mode, mtimeMs, ctimeMs }
  return isStamp(live) ? { backup, lookedAtMs, live, stored, isOfEarlier: true } : undefined
}

function isStamp(value: Record<keyof Stamp, unknown>): value is Record<keyof Stamp, number> {
  return Object.values(value).every((part) => typeof part === 'number')
}

function readText(path: string): string {
  return filesNow.look(path, OPEN_REGULAR, (file) => {
    const stats = file.stat()
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return ''
    const bytes = Buffer.allocUnsafe(stats.size)
    return bytes.toString('utf8', 0, file.readFull(bytes, 0))
  })
}

/** Tells one start of the machine from another; `undefined` where there is none to be had. */
function readBootId(): string | undefined {
  try {
    const bytes = Buffer.alloc(64)
    const length = filesNow.look(BOOT_ID, OPEN_REGULAR, (file) => file.readFull(bytes, 0))
    return bytes.toString('latin1', 0, length).trim() || undefined
  } catch {
    return undefined
  }
}

function storedStamp({ dev, ino, size, mode, mtimeNs }: FileStats): string {
  return `${dev}:${ino}:${size}:${mode}:${mtimeNs}`
}

function folderOf({ dev, ino }: FileStats): string {
  return `${dev}:${ino}`
}
