import { setImmediate as nextTurn } from 'node:timers/promises'

/** Something to be appended. Its lines are made when its turn comes, since they depend on what was appended before. */
export interface PendingWrite {
  /** About how many bytes its lines take. */
  readonly sizeBytes: number
  /** Whether what was called before has to be in the file when its lines are made. */
  needsFile(): boolean
  /** Its lines, each with its newline; `''` for nothing to write. What it rejects with is for its caller alone. */
  lines(): Promise<string>
  /** Called once its lines are written. */
  done(): void
  failed(error: unknown): void
}

/** Runs in the order of the calls what a session does: looks one by one, writes that follow each other together. */
export class WriteQueue {
  readonly #write: (lines: readonly string[]) => Promise<void>
  readonly #undo: { begin: () => void; rollBack: () => void }
  readonly #waiting = new Line<PendingWrite | (() => Promise<void>)>()
  #running: Promise<void> | undefined
  /** How many batches were written. */
  #batches = 0

  /**
   * @param write writes lines in one call
   * @param undo called before the lines of a batch are made, and when it failed, with what its writes changed
   */
  constructor(
    write: (lines: readonly string[]) => Promise<void>,
    undo: { begin: () => void; rollBack: () => void },
  ) {
    this.#write = write
    this.#undo = undo
  }

  /** Resolves when everything that was called before is done, whether it failed or not. */
  get idle(): Promise<void> {
    return this.#running ?? Promise.resolve()
  }

  /** Queues something to be appended. */
  write<T>(pending: Omit<PendingWrite, 'done' | 'failed'>, result: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { sizeBytes } = pending
      this.#add({
        sizeBytes,
        needsFile: () => pending.needsFile(),
        lines: () => pending.lines(),
        done: () => resolve(result()),
        failed: reject,
      })
    })
  }

  /** Queues a look at what was appended before. */
  look<T>(action: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#add(() => action().then(resolve, reject))
    })
  }

  #add(item: PendingWrite | (() => Promise<void>)): void {
    this.#waiting.add(item)
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    // Calls made one after the other in the same turn of the event loop go together.
    await Promise.resolve()
    for (let next = this.#waiting.first; next; next = this.#waiting.first) {
      if (typeof next === 'function') {
        this.#waiting.leave()
        await next()
      } else {
        await this.#runBatch()
        this.#batches += 1
        // What is written without waiting gives nobody else a turn.
        if (this.#batches % BATCHES_A_TURN === 0) await nextTurn()
      }
    }
    // In the same step in which nobody was seen waiting, so that nobody waits for ever.
    this.#running = undefined
  }

  async #runBatch(): Promise<void> {
    const batch: PendingWrite[] = []
    const lines: string[] = []
    let sizeBytes = 0
    this.#undo.begin()
    for (let next = this.#waiting.first; typeof next === 'object'; next = this.#waiting.first) {
      const full = sizeBytes + next.sizeBytes > MAX_BATCH_BYTES
      if (batch.length > 0 && (full || next.needsFile())) break
      this.#waiting.leave()
      try {
        const made = await next.lines()
        if (made !== '') lines.push(made)
        // Of the first a title may come along, or where the tip goes.
        sizeBytes += Math.max(next.sizeBytes, made.length)
        batch.push(next)
      } catch (error) {
        next.failed(error)
      }
    }
    try {
      if (lines.length > 0) await this.#write(lines)
      for (const one of batch) one.done()
    } catch (error) {
      this.#undo.rollBack()
      for (const one of batch) one.failed(error)
    }
  }
}

/** How much is written in one call, unless a single line takes more. */
export const MAX_BATCH_BYTES: number = 256 * 1024

/** After so many batches timers and other files have their turn. */
const BATCHES_A_TURN = 32

/** First come, first served; leaving costs the same however many wait. */
class Line<T> {
  #items: T[] = []
  #gone = 0

  get first(): T | undefined {
    return this.#items[this.#gone]
  }

  add(item: T): void {
    this.#items.push(item)
  }

  leave(): void {
    this.#gone += 1
    if (this.#gone < 1_000 && this.#gone < this.#items.length) return
    this.#items = this.#items.slice(this.#gone)
    this.#gone = 0
  }
}
