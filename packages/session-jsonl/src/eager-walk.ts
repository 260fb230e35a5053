import { isRecord } from './parse-line.ts'
import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import { factsOfRecord } from './line-facts.ts'
import type { LineFacts } from './line-facts.ts'
import { parseBytes } from './record-reader.ts'

/** How far into a line its uuid may begin to be found where we put it. */
const HEAD_BYTES = 64
/** How far before the end of a line other programs put it. */
const TAIL_BYTES = 1_024

/**
 * Guesses, while lines are scanned backward, which of them the conversation consists of: the parent of each, from the
 * last on. Such a line will be wanted whole, and so is parsed at once and not scanned before. A guess only saves time:
 * what is known of a line is the same either way.
 */
export class EagerWalk {
  /** What was parsed, by where in the file it stands. */
  readonly entries: Map<number, Entry> = new Map()
  /** The uuid that is looked for; `undefined` before the tip is known, `null` where the conversation begins. */
  #wanted: string | null | undefined
  #named: Buffer | undefined
  #hasSummary = false

  /** Whether a line is looked for. */
  get goesOn(): boolean {
    return this.#named !== undefined
  }

  /** The facts of a line, if it is the one that is looked for and can be parsed. */
  parsed(bytes: Buffer, start: number, end: number, base: number): LineFacts | undefined {
    if (this.#named === undefined || !contains(bytes, start, end, this.#named)) return undefined
    const record = parseBytes(bytes.subarray(start, end))
    if (!isObject(record) || !isRecord(record)) return undefined
    // Blanks around it would have to be told from the record; such lines are rare.
    if (bytes[start] !== 0x7b || bytes[end - 1] !== 0x7d) return undefined
    const facts = factsOfRecord(record, base + start, end - start)
    // Lines of other programs may lack what an entry promises.
    if (facts.place === 'main') this.entries.set(facts.offset, record as Entry)
    return facts
  }

  /** Takes note of a line that was passed. */
  pass(line: LineFacts): void {
    if (this.#wanted === undefined && line.mark?.explicit === true) this.#want(line.mark.leaf)
    else if (this.#wanted === undefined ? line.place === 'main' : line.uuid === this.#wanted)
      this.#goOnFrom(line)
  }

  #goOnFrom({ summary, boundary, parentUuid }: LineFacts): void {
    this.#hasSummary ||= summary
    // Of what a compaction keeps little is needed.
    const isClosed = boundary !== undefined && this.#hasSummary
    if (boundary) this.#hasSummary = false
    this.#want(isClosed ? null : (parentUuid ?? boundary?.logicalParent))
  }

  #want(uuid: string | null | undefined): void {
    this.#wanted = uuid ?? null
    this.#named = this.#wanted === null ? undefined : Buffer.from(`"uuid":"${this.#wanted}"`)
  }
}

function contains(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  const head = Math.min(end, start + HEAD_BYTES + wanted.length)
  if (bytes.subarray(start, head).includes(wanted)) return true
  return bytes.subarray(Math.max(head, end - TAIL_BYTES), end).includes(wanted)
}
