import { basename, dirname, join, relative, sep } from 'node:path'
import { errorMessage, LociError } from '@loci/disk'
import { MirrorTimers } from './mirror-timers.ts'
import type { TimerFunctions } from './mirror-timers.ts'
import { MirroredTranscript } from './mirrored-transcript.ts'
import { retryDelayMs } from './retry-delay.ts'
import { watchGrowth } from './session-growth.ts'
import { sideDirectory } from './session-path.ts'
import type { Session } from './session.ts'
import type { Mirror, SessionStore } from './store.ts'
import { transcriptsBelow } from './store-layout.ts'

export interface MirrorOptions {
  /**
   * The most that is read ahead for the store at a time, in bytes; a single longer line is read whole. Default 1 MiB.
   * At the start and after each call that failed, what `store.load` gives is held beside it: a whole transcript, as
   * objects.
   */
  maxQueueBytes?: number | undefined
  /** Under which project the store keeps the session. Default: the name of the session's folder. */
  projectKey?: string | undefined
  /** How long an answer of the store is waited for before the call counts as failed. Default 60,000. */
  timeoutMs?: number | undefined
  /** The wait after the first failure, which doubles with each. Default 500. */
  firstRetryMs?: number | undefined
  /** The longest wait. Default 60,000. */
  mostRetryMs?: number | undefined
  /** From 0 to 1; makes waits differ. */
  random?: (() => number) | undefined
  timers?: TimerFunctions | undefined
}

/**
 * Copies a session, with its subagents' transcripts, into a store, now and as it grows. The local files are the truth:
 * nothing is queued in memory but what is being sent, see `maxQueueBytes`; a store that is slow, dead or hangs is
 * given the rest from the files when it answers again. It never delays or fails an append, and no rejection is left
 * unhandled.
 *
 * - At the start, and after every call that failed, what the store holds is loaded and only what it lacks is sent, in
 *   file order: records with a uuid by their uuid, those without by content and count. So neither a lost answer nor
 *   another mirror doubles anything. (A call that hangs beyond `timeoutMs` and lands after all can double records
 *   without uuid.)
 * - Subagents go under `subagents/<name>`, what describes one as an `agent_metadata` entry whenever it changes.
 * - Failures are retried for ever, with growing waits. {@link Mirror.lastError} tells the last one. An entry that the
 *   store refuses holds up the transcript that it is in, not the others.
 * - Appends of this process through `session` are noticed at once; lines of others, and subagents', with the next of
 *   these or with `flush()`. Damaged lines are not sent, nor a last line without newline until it has one.
 * - Without a `flush()` that waits, the mirror does not keep the process alive.
 *
 * @throws {TypeError} for a store without `append` or `load`, or a wrong option
 */
export function mirrorSession(session: Session, store: SessionStore, options: MirrorOptions = {}): Mirror {
  return new SessionMirror(session, store, options)
}

const GOES_ON = 'it goes on; flush again'

interface Waiting {
  resolve: () => void
  reject: (error: Error) => void
}

class SessionMirror implements Mirror {
  readonly #session: Session
  readonly #store: SessionStore
  readonly #options: MirrorOptions
  readonly #timers: MirrorTimers
  readonly #projectKey: string
  readonly #chunkBytes: number
  /** The session's own transcript first. */
  readonly #transcripts = new Map<string, MirroredTranscript>()
  readonly #waiting = new Set<Waiting>()
  readonly #unwatch: () => void
  #round: Promise<void> | undefined
  #isDue = false
  #failures = 0
  #lastError: unknown
  #growths = 1
  #measuredGrowths = 0
  #isClosed = false

  constructor(session: Session, store: SessionStore, options: MirrorOptions) {
    this.#session = session
    this.#store = store
    this.#options = options
    this.#timers = new MirrorTimers(options.timers)
    this.#projectKey = options.projectKey ?? basename(dirname(session.path))
    this.#chunkBytes = options.maxQueueBytes ?? 1024 * 1024
    if (!Number.isSafeInteger(this.#chunkBytes) || this.#chunkBytes < 1)
      throw new TypeError('maxQueueBytes must be a whole number from 1')
    const given = store as Partial<SessionStore> | null | undefined
    if (typeof given?.append !== 'function' || typeof given.load !== 'function')
      throw new TypeError('store must have the methods append and load')
    this.#follow(session.path)
    this.#unwatch = watchGrowth(session, () => this.#onGrowth())
    this.#wake()
  }

  get lag(): number {
    let known = 0
    for (const transcript of this.#transcripts.values()) known += transcript.lagBytes
    return Math.max(known, this.#measuredGrowths < this.#growths ? 1 : 0)
  }

  get lastError(): unknown {
    return this.#lastError
  }

  flush(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    const { signal } = options
    if (this.#isClosed) return Promise.reject(this.#unavailable('is closed'))
    if (signal?.aborted === true) return Promise.reject(this.#unavailable('was not waited for', GOES_ON))
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiting.reject(this.#unavailable('was not waited for any longer', GOES_ON))
      const settle = (): void => {
        this.#waiting.delete(waiting)
        signal?.removeEventListener('abort', onAbort)
        if (this.#waiting.size === 0) this.#timers.letGo()
      }
      const waiting: Waiting = {
        resolve: () => {
          settle()
          resolve()
        },
        reject: (error) => {
          settle()
          reject(error)
        },
      }
      signal?.addEventListener('abort', onAbort)
      this.#waiting.add(waiting)
      this.#timers.keepAlive()
      this.#wake()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#unwatch()
    for (const waiting of this.#waiting) waiting.reject(this.#unavailable('was closed'))
    // Ends the call that is being waited for as well.
    this.#timers.close(this.#unavailable('was closed'))
    await this.#round
  }

  #onGrowth(): void {
    this.#growths += 1
    void this.#measure()
    // While the store does not answer, its next try comes with the timer.
    if (this.#failures === 0) this.#wake()
  }

  async #measure(): Promise<void> {
    const growths = this.#growths
    try {
      for (const transcript of this.#transcripts.values()) await transcript.measure()
      this.#measuredGrowths = Math.max(this.#measuredGrowths, growths)
    } catch {
      // The round that reads the file meets the same error, and tells it.
    }
  }

  /** Begins a round now, or after the one that runs. */
  #wake(): void {
    if (this.#isClosed) return
    this.#timers.cancelRetry()
    this.#isDue = true
    this.#round ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false
      // Who calls flush() from here on waits for the next round: this one may have passed its lines.
      const waiting = [...this.#waiting]
      try {
        await this.#copyAll()
        this.#failures = 0
        this.#lastError = undefined
        for (const one of waiting) one.resolve()
      } catch (error) {
        if (this.#isClosed) break
        this.#failures += 1
        this.#lastError = error
        this.#isDue = false
        this.#retryLater()
      }
    }
    this.#round = undefined
  }

  #retryLater(): void {
    const { firstRetryMs: firstMs = 500, mostRetryMs: mostMs = 60_000, random = Math.random } = this.#options
    this.#timers.retryIn(retryDelayMs(this.#failures, { firstMs, mostMs, random: random() }), () =>
      this.#wake(),
    )
  }

  /** Gives the store what it lacks of every transcript. One that fails does not hold up the others. */
  async #copyAll(): Promise<void> {
    const growths = this.#growths
    const side = sideDirectory(dirname(this.#session.path), this.#session.id)
    let failure: { error: unknown } | undefined
    try {
      for (const path of await transcriptsBelow(join(side, 'subagents'))) {
        if (!this.#transcripts.has(path))
          this.#follow(
            path,
            relative(side, path)
              .replace(/\.jsonl$/, '')
              .split(sep)
              .join('/'),
          )
      }
    } catch (error) {
      failure = { error }
    }
    for (const transcript of this.#transcripts.values()) {
      try {
        await transcript.copyTo(this.#store, (action) =>
          this.#timers.within(this.#options.timeoutMs ?? 60_000, action),
        )
      } catch (error) {
        failure ??= { error }
      }
      if (this.#isClosed) return
    }
    if (failure) throw failure.error
    this.#measuredGrowths = Math.max(this.#measuredGrowths, growths)
  }

  #follow(path: string, subpath?: string): void {
    const { id: sessionId } = this.#session
    const key = { projectKey: this.#projectKey, sessionId, ...(subpath === undefined ? {} : { subpath }) }
    this.#transcripts.set(path, new MirroredTranscript({ path, key, chunkBytes: this.#chunkBytes }))
  }

  #unavailable(what: string, advice = 'mirror the session again'): LociError {
    const why = this.#lastError === undefined ? '' : `; it last failed with: ${errorMessage(this.#lastError)}`
    const message = `The mirror of session ${this.#session.id} ${what} before the store had everything${why}. The local files have it; ${advice}`
    const details = { sessionId: this.#session.id, lag: this.lag }
    return new LociError('STORE_UNAVAILABLE', message, { details, cause: this.#lastError })
  }
}
