import type { OpenFile } from '@loci/disk'
import type { EagerWalk } from './eager-walk.ts'
import type { LineFacts } from './line-facts.ts'
import { LineTable } from './line-table.ts'
import type { Unanswered } from './live-branch.ts'
import { BackwardScan } from './scan-lines.ts'

/**
 * The lines of a transcript that were looked at, from some place on to the end of the file: read on as the file grows,
 * and further back as they are asked for.
 */
export class FollowedLines {
  readonly #windowBytes: number | undefined
  #table = new LineTable(0)
  #scan: { file: OpenFile; scan: BackwardScan } | undefined
  #finished = 0

  /** @param windowBytes how much is read at a time */
  constructor(windowBytes?: number) {
    this.#windowBytes = windowBytes
  }

  /** What is known of them. Another one after {@link catchUp} said `anew`. */
  get table(): LineTable {
    return this.#table
  }

  /** Where the last line ends that was seen with its newline. */
  get finishedBytes(): number {
    return this.#finished
  }

  /**
   * Takes note of what `file` holds beyond what was seen: nothing, more, or something else, so that all that was known
   * is to be forgotten.
   */
  async catchUp(file: OpenFile): Promise<'same' | 'more' | 'anew'> {
    const size = Number((await file.stat()).size)
    const { begin, end } = this.#table
    if (size === end) return 'same'
    // Without lines there is nothing to go on from; a last line that was not finished is read anew, with all others.
    const goesOn = size > end && begin < end && this.#finished === end
    const added = goesOn ? await this.#scanRange(file, end, size) : undefined
    if (added) {
      this.#table.append(added.lines, size)
      this.#finished = added.finished
      return 'more'
    }
    this.#table = new LineTable(size)
    this.#finished = size
    return 'anew'
  }

  /** Asks `plan` of the lines, and looks at more of them until it can tell, or only the whole transcript can. */
  async plan<P extends { kind: string }>(
    file: OpenFile,
    plan: (table: LineTable) => P | Unanswered,
    eager?: EagerWalk,
  ): Promise<P | { kind: 'unsure' }> {
    for (;;) {
      const answer = plan(this.#table)
      if (!isUnanswered(answer)) return answer
      if (answer.kind === 'unsure') return answer
      const extended =
        answer.kind === 'all' ? await this.extendTo(file, 0) : await this.extend(file, answer.until, eager)
      if (!extended) return { kind: 'unsure' }
    }
  }

  /**
   * Looks at more lines before those that are known: up to the one with that uuid, and some; with `eager` to the end of
   * its way. `false` where there are
   * no more, or they cannot be looked at one by one.
   */
  async extend(file: OpenFile, until?: string, eager?: EagerWalk): Promise<boolean> {
    const { begin, end } = this.#table
    if (begin === 0) return false
    // In steps that grow, so that a plan is not made anew for each window of a long conversation.
    const goal = begin - (end - begin) / 8
    while (!this.#table.isComplete) {
      if (!(await this.#extendOnce(file, eager))) return false
      const found = until === undefined || this.#table.node(until) !== undefined
      if (found && this.#table.begin <= goal && eager?.goesOn !== true) break
    }
    return true
  }

  /** The line in the tree that has that uuid, wherever it stands; of several the last. */
  async node(file: OpenFile, uuid: string): Promise<LineFacts | undefined> {
    if (this.#table.node(uuid) === undefined) await this.extend(file, uuid)
    return this.#table.node(uuid)
  }

  /** Looks at all lines from `from` on. `false` where they cannot be looked at one by one. */
  async extendTo(file: OpenFile, from: number): Promise<boolean> {
    while (this.#table.begin > from) if (!(await this.#extendOnce(file))) return false
    return true
  }

  async #extendOnce(file: OpenFile, eager?: EagerWalk): Promise<boolean> {
    const { begin, end } = this.#table
    const scanned = await this.#scanOf(file).before(begin, 0, eager)
    if (scanned === undefined) return false
    if (begin === end) this.#finished = scanned.finished
    this.#table.prepend(scanned.lines, scanned.begin)
    return true
  }

  async #scanRange(
    file: OpenFile,
    from: number,
    to: number,
  ): Promise<{ lines: LineFacts[]; finished: number } | undefined> {
    const parts: LineFacts[][] = []
    let finished: number | undefined
    for (let end = to; end > from;) {
      const scanned = await this.#scanOf(file).before(end, from)
      if (scanned === undefined) return undefined
      finished ??= scanned.finished
      parts.push(scanned.lines)
      end = scanned.begin
    }
    return { lines: parts.toReversed().flat(), finished: finished ?? to }
  }

  #scanOf(file: OpenFile): BackwardScan {
    if (this.#scan?.file !== file) this.#scan = { file, scan: new BackwardScan(file, this.#windowBytes) }
    return this.#scan.scan
  }
}

function isUnanswered(answer: { kind: string }): answer is Unanswered {
  return answer.kind === 'more' || answer.kind === 'all' || answer.kind === 'unsure'
}
