import type { FileState } from './compare.ts'
import type { EditRecord, Operation } from './edit-record.ts'

/** A rewind (or undo) as far as it got. */
export interface JournalledOperation {
  operation: Operation
  /** Keys whose file was written, and stands as the operation wants it. */
  written: Set<string>
  isEnded: boolean
}

type JournalRecord = Extract<EditRecord, { type: 'rewind' | 'rewind-file' | 'rewind-end' }>

/** Rewinds and undos, as the records of the log tell them. In memory only. */
export class Journal {
  readonly #operations: JournalledOperation[] = []
  #seen = 0

  /** Takes in what was written. @returns the state in which it says a file stands, with the operation that wrote it */
  apply(record: JournalRecord): { key: string; state: FileState | null; operation: Operation } | undefined {
    if (record.type === 'rewind-file') return this.#mark(record)
    if (record.type === 'rewind-end') this.#end(record)
    else {
      this.#seen += 1
      this.#operations.push({ operation: this.#withUndone(record), written: new Set(), isEnded: false })
    }
    return undefined
  }

  /** Before undos said what they undo, that was always the operation before. */
  #withUndone(operation: Operation): Operation {
    if (operation.kind === 'rewind' || operation.undoes !== undefined) return operation
    const former = this.#operations.findLast(({ isEnded }) => isEnded)
    return former ? { ...operation, undoes: former.operation.id } : operation
  }

  #mark({
    id,
    trackingPath: key,
    side,
  }: Extract<EditRecord, { type: 'rewind-file' }>): ReturnType<Journal['apply']> {
    const found = this.#operations.findLast(({ operation }) => operation.id === id)
    if (!found) return undefined
    const { operation, written } = found
    if (side === 'after') written.add(key)
    else written.delete(key)
    const file = operation.files.find(({ trackingPath }) => trackingPath === key)
    return file && { key, state: file[side], operation }
  }

  #end({ id, outcome }: Extract<EditRecord, { type: 'rewind-end' }>): void {
    const index = this.#operations.findLastIndex(({ operation }) => operation.id === id)
    const ended = this.#operations[index]
    if (!ended) return
    ended.isEnded = true
    // What was taken back, or wrote nothing, can not be undone.
    if (outcome === 'undone' || ended.written.size === 0) this.#operations.splice(index, 1)
  }

  /** The operation that was begun and neither finished nor taken back. */
  get pending(): JournalledOperation | undefined {
    const last = this.#operations.at(-1)
    return last && !last.isEnded ? last : undefined
  }

  /** The operations that wrote something, oldest first; one that is pending is the last. */
  get operations(): readonly JournalledOperation[] {
    return this.#operations
  }

  /** A name for the next operation, which no folder of kept bytes in `taken` has. */
  nextId(taken: ReadonlySet<string>): string {
    const known = new Set(this.#operations.map(({ operation }) => operation.id))
    for (let number = this.#seen + 1; ; number += 1) {
      if (!taken.has(`r${number}`) && !known.has(`r${number}`)) return `r${number}`
    }
  }
}
