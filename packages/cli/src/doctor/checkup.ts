import { basename, relative } from 'node:path'
import { errorMessage, files, heldLeases, isAbsent, isLociError, isScratchName, walkFiles } from '@loci/disk'
import type { Damage, FileStats, HeldLease } from '@loci/disk'
import type { CommandContext } from '../command-context.ts'
import { UNREADABLE } from './advice.ts'
import { toFindings } from './findings.ts'
import type { About, Finding } from './findings.ts'
import { Usage } from './usage.ts'
import type { UsageKind } from './usage.ts'

/** How something that a check threw is reported. */
interface Blame {
  kind: string
  /** Left out where the message of one of our own errors says it. */
  advice?: string
}

const UNREADABLE_FILE: Blame = { kind: 'unreadable' }

/** What Loci makes for its owner alone. */
const PRIVATE_KINDS: ReadonlySet<UsageKind> = new Set(['transcripts', 'sideFiles'])

/** What one run of the doctor works on, and what it has found so far. Nothing it meets ends it. */
export class Checkup {
  readonly findings: Finding[] = []
  readonly usage: Usage = new Usage()
  readonly checked: { sessions: number; histories: number; memories: number } = {
    sessions: 0,
    histories: 0,
    memories: 0,
  }
  readonly context: CommandContext
  readonly tell: (line: string) => void
  /** Whether others may look into the config home, so that the bits of each file count. */
  readonly #isOpenHome: boolean
  /** What somebody holds now, of what was looked at. */
  readonly #live = new Set<string>()
  /** What others can read, by kind: how many, and the first. */
  readonly #readable = new Map<UsageKind, { count: number; path: string }>()

  constructor(context: CommandContext, options: { tell: (line: string) => void; isOpenHome: boolean }) {
    this.context = context
    this.tell = options.tell
    this.#isOpenHome = options.isOpenHome
  }

  add(damage: readonly Damage[], about: About): void {
    this.findings.push(...toFindings(damage, about))
  }

  hint(hint: Pick<Finding, 'kind' | 'path' | 'message' | 'advice'>): void {
    this.findings.push({ ...hint, place: hint.path, severity: 'hint' })
  }

  /** Runs one check; what it throws becomes a finding, and all else goes on. What is gone meanwhile is none. */
  async attempt<T>(
    path: string,
    work: () => Promise<T>,
    how: Blame = UNREADABLE_FILE,
  ): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      const named: unknown = isLociError(error) ? error.details?.['path'] : undefined
      if (!isAbsent(error) && !isLociError(error, 'SESSION_NOT_FOUND'))
        this.#blame(typeof named === 'string' ? named : path, error, how)
      return undefined
    }
  }

  #blame(path: string, error: unknown, { kind, advice }: Blame): void {
    const adviceOn = (): string => advice ?? (isLociError(error) ? '' : UNREADABLE)
    this.add([{ kind, path, message: errorMessage(error) }], { place: path, adviceOn })
  }

  /** Counts what is below a directory, and names what is no file there. */
  async measure(directory: string, kindOf: (path: string) => UsageKind): Promise<void> {
    const onUnreadable = (path: string, error: unknown): void => this.#blame(path, error, UNREADABLE_FILE)
    for await (const { path, stats } of walkFiles(directory, { onUnreadable }))
      this.count(kindOf(relative(directory, path)), path, stats)
  }

  /** Counts one file, if it is there. */
  async measureFile(kind: UsageKind, path: string): Promise<void> {
    const stats = await this.attempt(path, () => files.lstat(path))
    if (stats !== undefined) this.count(kind, path, stats)
  }

  count(kind: UsageKind, path: string, stats: FileStats): void {
    this.usage.add(isScratchName(basename(path)) ? 'locks' : kind, stats)
    if (!stats.isFile() && !stats.isSymbolicLink()) {
      const message = 'It is a FIFO, socket or device, and is never opened'
      this.hint({ kind: 'special-file', path, message, advice: 'move it away' })
    } else if (
      this.#isOpenHome &&
      PRIVATE_KINDS.has(kind) &&
      stats.isFile() &&
      (stats.mode & 0o077n) !== 0n
    ) {
      const seen = this.#readable.get(kind)
      this.#readable.set(kind, { count: (seen?.count ?? 0) + 1, path: seen?.path ?? path })
    }
  }

  /** One hint for all files of a kind that other users of this machine can read or change. */
  tellOfReadable(): void {
    for (const { count, path } of this.#readable.values()) {
      const rest = count === 1 ? '' : ` and ${count - 1} more`
      const message = `It${rest} can be read or changed by other users of this machine`
      const advice = `chmod go= ${shellWord(this.context.home.dir)} shuts all of it`
      this.hint({ kind: 'not-private', path, message, advice })
    }
  }

  /**
   * Looks at the leases in a directory.
   *
   * @param adviceOn one of which nobody can say whether its holder lives
   * @param isAsked which are reported
   */
  async checkLeases(
    directory: string,
    adviceOn: (lease: HeldLease) => string,
    isAsked: (lease: HeldLease) => boolean = () => true,
  ): Promise<void> {
    for (const lease of (await this.attempt(directory, () => heldLeases(directory))) ?? []) {
      const { path, lockFile, state, who } = lease
      if (state === 'live') this.#live.add(path)
      if (state === 'live' || !isAsked(lease)) continue
      this.hint(
        state === 'dead'
          ? {
              kind: 'stale-lock',
              path: lockFile,
              message: `It was held by ${who}, which has ended`,
              advice: 'nothing to do: the next to need it takes it over',
            }
          : {
              kind: 'undecided-lock',
              path: lockFile,
              message: `It is held by ${who}, of which nobody here can say whether it lives`,
              advice: adviceOn(lease),
            },
      )
    }
  }

  /** Whether a process holds the lease on `path` for certain. */
  isLive(path: string): boolean {
    return this.#live.has(path)
  }
}

/** A path as a shell takes it. Pure. */
export function shellWord(path: string): string {
  return /^[\w./@%+=:,-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}
