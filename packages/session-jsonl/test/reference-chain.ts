import type { Line } from './lines.ts'

/**
 * A second reading of a healthy transcript, to hold the first against: it has every line parsed, looks through all of
 * them for each question, and follows `docs/formats/session.md` to the word. It knows nothing of damage: every parent is
 * there, no uuid twice, no call answered twice.
 */
export interface Reference {
  /** Where the session goes on; `null` for an empty conversation. */
  readonly tip: string | null
  /** The uuids of the conversation that ends at an entry, root first. */
  chain: (tip: string | null) => string[]
  /** The uuids of all lines of the conversation itself, in file order. */
  readonly main: readonly string[]
}

/** Reads the lines of a transcript, in file order. */
export function readReference(lines: readonly Line[]): Reference {
  const reading = new Reading(lines)
  return {
    tip: nameOf(reading.tip()),
    chain: (tip) => {
      const end = tip === null ? undefined : reading.byUuid.get(tip)
      return end === undefined ? [] : reading.conversation(end).map((line) => String(line['uuid']))
    },
    main: reading.main.map((line) => String(line['uuid'])),
  }
}

const CHAIN = new Set<unknown>(['user', 'assistant', 'system', 'attachment'])

class Reading {
  readonly #lines: readonly Line[]
  readonly byUuid = new Map<unknown, Line>()
  readonly main: Line[]

  constructor(lines: readonly Line[]) {
    this.#lines = lines
    this.main = lines.filter((line) => CHAIN.has(line['type']) && line['isSidechain'] !== true)
    for (const line of lines) if (typeof line['uuid'] === 'string') this.byUuid.set(line['uuid'], line)
  }

  tip(): Line | undefined {
    const last = this.main.at(-1)
    const prompt = this.#lines.findLast((line) => line['type'] === 'last-prompt')
    if (last === undefined || prompt === undefined) return last
    if (this.#lines.indexOf(prompt) < this.#lines.indexOf(last)) return last
    const leaf = this.byUuid.get(prompt['leafUuid'])
    if (prompt['explicit'] === true) return prompt['leafUuid'] === null ? undefined : (leaf ?? last)
    if (leaf === undefined) return last
    for (let at: Line | undefined = last; at; at = this.#before(at)) if (at === leaf) return last
    return leaf
  }

  conversation(tip: Line): Line[] {
    let whole: Line[] = []
    for (const leg of this.#legs(tip)) {
      const boundary = leg[0]
      const counts = leg.some((line) => line['isCompactSummary'] === true)
      const path = boundary && isBoundary(boundary) && counts ? this.#keep(leg, whole) : [...whole, ...leg]
      whole = this.#withResults(path, tip)
    }
    return whole
  }

  #parent(line: Line): Line | undefined {
    return this.byUuid.get(line['parentUuid'])
  }

  #before(line: Line): Line | undefined {
    return this.#parent(line) ?? this.byUuid.get(line['logicalParentUuid'])
  }

  /** The way to `tip`, cut before each compaction boundary. */
  #legs(tip: Line): Line[][] {
    const way: Line[] = []
    for (let at: Line | undefined = tip; at; at = this.#before(at)) way.unshift(at)
    const legs: Line[][] = []
    for (const line of way) {
      const leg = legs.at(-1)
      if (leg === undefined || isBoundary(line)) legs.push([line])
      else leg.push(line)
    }
    return legs
  }

  #keep(leg: readonly Line[], before: readonly Line[]): Line[] {
    const kept = leg[0]?.['compactMetadata'] as
      | { preservedSegment?: Line; preservedMessages?: { allUuids: string[] } }
      | undefined
    const summary = leg.findIndex((line) => line['isCompactSummary'] === true)
    const segment = kept?.preservedSegment
    const names = kept?.preservedMessages?.allUuids
    const from = before.findIndex(({ uuid }) => uuid === segment?.['headUuid'])
    const to = before.findIndex(({ uuid }) => uuid === segment?.['tailUuid'])
    const messages = names
      ? before.filter(({ uuid }) => names.includes(String(uuid)))
      : segment
        ? before.slice(from, to + 1)
        : []
    return [...leg.slice(0, summary + 1), ...messages, ...leg.slice(summary + 1)]
  }

  /** Puts lines of a message and results that hang beside the path back, for one message after the other. */
  #withResults(path: readonly Line[], tip: Line): Line[] {
    const out = [...path]
    for (const id of new Set(path.map(messageId))) {
      if (id === undefined) continue
      const message = this.main.filter((line) => messageId(line) === id)
      const calls = new Set(message.flatMap(callIds))
      const answers = this.main.filter((line) => resultIds(line).some((call) => calls.has(call)))
      const present = message.filter((line) => path.includes(line))
      const lastLine = present.at(-1)
      if (lastLine === undefined) continue
      const answered = answers.some((line) => path.includes(line))
      const isAfterTip = (line: Line): boolean => this.#stem(line, path) === tip && !path.includes(line)
      const added = message.filter(
        (line) =>
          answered && !path.includes(line) && !isAfterTip(line) && this.#stem(line, path) === lastLine,
      )
      const open = new Set([...present, ...added].flatMap(callIds))
      for (const line of path) for (const call of resultIds(line)) open.delete(call)
      const results = answers
        .filter((line) => !path.includes(line) && !isAfterTip(line))
        .filter((line) => resultIds(line).some((call) => open.has(call)))
        .flatMap((line) => this.#notesTo(line, [...path, ...added]))
      if (added.length + results.length === 0) continue
      const place = out.indexOf(lastLine) + 1
      let own = 0
      while (answers.includes(out[place + own] ?? {})) own += 1
      const inOrder = [...out.slice(place, place + own), ...results].toSorted(
        (a, b) => this.#lines.indexOf(a) - this.#lines.indexOf(b),
      )
      out.splice(place, own, ...added, ...inOrder)
    }
    return out
  }

  /** The last line on the path that `line` comes from. */
  #stem(line: Line, path: readonly Line[]): Line | undefined {
    let at: Line | undefined = line
    while (at && !path.includes(at)) at = this.#parent(at)
    return at
  }

  /** A result with the notes that stand between it and its call. */
  #notesTo(result: Line, had: readonly Line[]): Line[] {
    const way: Line[] = []
    for (let at: Line | undefined = result; at && !had.includes(at); at = this.#parent(at)) way.unshift(at)
    return way.some(({ type }) => type === 'assistant') ? [result] : way
  }
}

function isBoundary(line: Line): boolean {
  return line['subtype'] === 'compact_boundary'
}

function nameOf(line: Line | undefined): string | null {
  return line === undefined ? null : String(line['uuid'])
}

function messageId(line: Line): unknown {
  return line['type'] === 'assistant' ? (line['message'] as Line | undefined)?.['id'] : undefined
}

function blocks(line: Line, type: string): Line[] {
  const content = (line['message'] as Line | undefined)?.['content']
  return Array.isArray(content) ? (content as Line[]).filter((block) => block['type'] === type) : []
}

function callIds(line: Line): unknown[] {
  return line['type'] === 'assistant' ? blocks(line, 'tool_use').map(({ id }) => id) : []
}

function resultIds(line: Line): unknown[] {
  return line['type'] === 'user' ? blocks(line, 'tool_result').map((block) => block['tool_use_id']) : []
}
