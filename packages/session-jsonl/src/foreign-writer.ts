import type { Damage } from '@loci/disk'
import { isChainType } from './entry.ts'
import type { LineFacts } from './line-facts.ts'

/** Notices, once, that somebody else appended to a conversation while it was open for writing here. */
export class ForeignWriter {
  /** Uuids of all entries that were tried here: one whose append failed may be in the file all the same. */
  readonly #tried = new Set<string>()
  /** Where the first line of another program begins. */
  #offset: number | undefined
  #checkedBytes = 0

  /** How far the file was looked through. */
  get checkedBytes(): number {
    return this.#checkedBytes
  }

  /** Whether there is nothing more to be found in a file of that size. */
  isDone(sizeBytes: number): boolean {
    return this.#offset !== undefined || this.#checkedBytes === sizeBytes
  }

  /** Takes note of an entry that is appended here. */
  tries(uuid: string): void {
    this.#tried.add(uuid)
  }

  /** Looks at the lines from {@link checkedBytes} on; none of those before `checkedBytes` is looked at again. */
  look(lines: readonly LineFacts[], checkedBytes: number): void {
    this.#offset ??= lines.find(
      ({ type, uuid }) => isChainType(type) && uuid !== '' && !this.#tried.has(uuid),
    )?.offset
    this.#checkedBytes = checkedBytes
  }

  /** What there is to say. @param lineAt the number of the line that begins at an offset */
  damage(path: string, lineAt: (offset: number) => number | undefined): Damage[] {
    const offset = this.#offset
    const line = offset === undefined ? undefined : lineAt(offset)
    if (offset === undefined || line === undefined) return []
    const message = `Line ${line} was written by another program while this session was open here; both ends are in tips()`
    return [{ kind: 'foreign-writer', path, offset, line, message }]
  }
}
