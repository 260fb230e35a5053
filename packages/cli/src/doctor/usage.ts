import type { FileStats } from '@loci/disk'

/** What a file in the config home is for. */
export type UsageKind =
  | 'transcripts'
  | 'sideFiles'
  | 'backups'
  | 'memories'
  | 'trash'
  | 'proposals'
  | 'locks'
  | 'other'

/** How many names, and how many bytes behind them. */
interface KindUsage {
  files: number
  sizeBytes: number
  /** Of these, bytes that have several names; they count once. */
  sharedBytes?: number
}

export type UsageReport = Record<UsageKind, KindUsage>

/** Adds up what files take. What has several names, as backups of a fork have, counts with the first of them. */
export class Usage {
  readonly report: UsageReport = {
    transcripts: { files: 0, sizeBytes: 0 },
    sideFiles: { files: 0, sizeBytes: 0 },
    backups: { files: 0, sizeBytes: 0, sharedBytes: 0 },
    memories: { files: 0, sizeBytes: 0 },
    trash: { files: 0, sizeBytes: 0 },
    proposals: { files: 0, sizeBytes: 0 },
    locks: { files: 0, sizeBytes: 0 },
    other: { files: 0, sizeBytes: 0 },
  }
  /** How many names are to come of each file with several, none of those that were all seen. */
  readonly #namesLeft = new Map<string, bigint>()

  add(kind: UsageKind, stats: Pick<FileStats, 'dev' | 'ino' | 'nlink' | 'size'>): void {
    const usage = this.report[kind]
    usage.files += 1
    if (stats.nlink > 1n && this.#wasSeen(stats)) return
    usage.sizeBytes += Number(stats.size)
    if (usage.sharedBytes !== undefined && stats.nlink > 1n) usage.sharedBytes += Number(stats.size)
  }

  #wasSeen({ dev, ino, nlink }: Pick<FileStats, 'dev' | 'ino' | 'nlink'>): boolean {
    const key = `${dev}:${ino}`
    const left = this.#namesLeft.get(key)
    const next = (left ?? nlink) - 1n
    if (next > 0n) this.#namesLeft.set(key, next)
    else this.#namesLeft.delete(key)
    return left !== undefined
  }
}

/** The kind of a file in a memory folder, by its path from there. Pure. */
export function kindInMemory(path: string): UsageKind {
  if (path.startsWith('.trash/')) return 'trash'
  return path.startsWith('.proposed/') ? 'proposals' : 'memories'
}
