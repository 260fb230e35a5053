import type { EditRecord } from './edit-record.ts'
import type { EditLog } from './edits.ts'

/** Marks that are written together. */
const AT_ONCE = 32

/**
 * Ticks off the files of an operation in the journal, several in one append. A crash may so leave files that are written
 * and have no mark: whoever resolves the operation looks at each file anew.
 */
export class Marks {
  readonly #log: EditLog
  readonly #id: string
  #waiting: EditRecord[] = []

  constructor(log: EditLog, id: string) {
    this.#log = log
    this.#id = id
  }

  /** The file stands on that side now. */
  async add(trackingPath: string, side: 'before' | 'after'): Promise<void> {
    this.#waiting.push({ type: 'rewind-file', id: this.#id, trackingPath, side })
    if (this.#waiting.length >= AT_ONCE) await this.write()
  }

  /** Writes what waits. */
  async write(): Promise<void> {
    if (this.#waiting.length > 0) await this.#log.append(this.#waiting.splice(0))
  }

  /** Writes what waits, and that the operation is over. */
  async end(outcome: 'done' | 'undone', now: Date): Promise<void> {
    this.#waiting.push({ type: 'rewind-end', id: this.#id, outcome, timestamp: now.toISOString() })
    await this.write()
  }
}
