import type { Damage } from '@loci/disk'
import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import { redactValue } from './export-redact.ts'
import type { Redact } from './export-redact.ts'
import { isShallow } from './json-depth.ts'
import { previewOf, promptOf } from './prompt-text.ts'
import { wellFormed } from './well-formed.ts'

/** A conversation as it is shown to people, every text redacted already: what Markdown and HTML are made from. */
export interface SessionDocument {
  title: string
  /** What is known of it: a name and a value each. */
  facts: readonly (readonly [name: string, value: string])[]
  /** Made one by one as they are asked for. */
  entries: Iterable<DocumentEntry>
  /** What is wrong with the file, a line each. */
  damage: readonly string[]
}

/** One line of the conversation. */
export interface DocumentEntry {
  uuid: string
  speaker: 'User' | 'Assistant' | 'Tool result' | 'Attachment' | 'System'
  /** ISO 8601, or `''`. */
  time: string
  parts: DocumentPart[]
}

/** A part of an entry. `text` is what was written, whole. */
export type DocumentPart =
  | { kind: 'prose' | 'thinking' | 'note'; text: string }
  | { kind: 'code'; label: string; text: string }
  | { kind: 'image'; mediaType: string; base64: string }

/** What a document is made from. */
export interface DocumentSource {
  sessionId: string
  /** Root first, as the conversation stands. */
  chain: readonly Entry[]
  customTitle: string | undefined
  damage: readonly Damage[]
  redact?: Redact | undefined
}

/**
 * The document of a conversation. Its title is the session's, else its first prompt. Every text goes through `redact`.
 * With it, images are named and left out, since it cannot look into them. Pure.
 */
export function documentOf(source: DocumentSource): SessionDocument {
  const { sessionId, chain, customTitle, damage } = source
  const maker = new PartMaker(chain, source.redact)
  const times = chain.flatMap(({ timestamp }) => (typeof timestamp === 'string' ? [timestamp] : []))
  const facts: [string, unknown][] = [
    ['Session', sessionId],
    ['Directory', chain.find(({ cwd }) => typeof cwd === 'string')?.cwd],
    ['Began', times[0]],
    ['Last entry', times.at(-1)],
  ]
  return {
    title: maker.title(customTitle, chain) ?? maker.clean(sessionId),
    facts: facts.flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, maker.clean(value)] as const] : [],
    ),
    entries: {
      *[Symbol.iterator]() {
        for (const entry of chain) yield maker.entry(entry)
      },
    },
    damage: damage.map(({ kind, offset, message }) =>
      maker.clean(`${kind} at byte ${offset ?? 0}: ${message}`),
    ),
  }
}

/** Makes parts of blocks; knows the names of the calls that results belong to. */
class PartMaker {
  readonly #redact: Redact | undefined
  readonly #callNames = new Map<unknown, string>()

  constructor(chain: readonly Entry[], redact: Redact | undefined) {
    this.#redact = redact
    for (const entry of chain) {
      for (const block of contentOf(entry)) {
        if (isObject(block) && block['type'] === 'tool_use' && typeof block['name'] === 'string')
          this.#callNames.set(block['id'], block['name'])
      }
    }
  }

  /** A text as it may be shown. */
  clean(text: string): string {
    const whole = wellFormed(text)
    return this.#redact ? wellFormed(this.#redact(whole)) : whole
  }

  /** What to call a conversation. Cut after it is redacted: half a key is not known for one. */
  title(customTitle: string | undefined, chain: readonly Entry[]): string | undefined {
    if (customTitle !== undefined) return this.clean(customTitle)
    for (const entry of chain) {
      const prompt = promptOf(entry)
      if (prompt) return previewOf(this.clean('text' in prompt ? prompt.text : prompt.command))
    }
    return undefined
  }

  entry(entry: Entry): DocumentEntry {
    const { type, uuid, timestamp } = entry
    const content = contentOf(entry)
    const isResult = content.some((block) => isObject(block) && block['type'] === 'tool_result')
    const time = typeof timestamp === 'string' ? this.clean(timestamp) : ''
    const named = { uuid: this.clean(uuid), time }
    if (type === 'attachment' || type === 'system') {
      const speaker = type === 'system' ? 'System' : 'Attachment'
      return { ...named, speaker, parts: [{ kind: 'note', text: this.#lineName(entry) }] }
    }
    const speaker = type === 'assistant' ? 'Assistant' : isResult ? 'Tool result' : 'User'
    const notes = [
      ...(entry['isMeta'] === true ? ['added by the program'] : []),
      ...(entry['isCompactSummary'] === true ? ['the summary of what came before'] : []),
    ].map((text): DocumentPart => ({ kind: 'note', text }))
    return { ...named, speaker, parts: [...notes, ...content.flatMap((block) => this.#parts(block))] }
  }

  #parts(block: unknown): DocumentPart[] {
    if (typeof block === 'string') return [{ kind: 'prose', text: this.clean(block) }]
    if (!isObject(block)) return [this.#json('unreadable content', block)]
    const { type } = block
    if (type === 'text' && typeof block['text'] === 'string')
      return [{ kind: 'prose', text: this.clean(block['text']) }]
    if (type === 'thinking' && typeof block['thinking'] === 'string')
      return [{ kind: 'thinking', text: this.clean(block['thinking']) }]
    if (type === 'redacted_thinking') return [{ kind: 'note', text: 'thinking that only the model can read' }]
    if (type === 'tool_use') return [this.#json(`Call of ${String(block['name'])}`, block['input'])]
    if (type === 'tool_result') return this.#resultParts(block)
    if (type === 'image' || type === 'document') return [this.#filePart(type, block)]
    return [this.#json(typeof type === 'string' ? type : 'unreadable content', block)]
  }

  #resultParts(result: Record<string, unknown>): DocumentPart[] {
    const { tool_use_id: id, content, is_error: failed } = result
    const of = this.#callNames.get(id) ?? (typeof id === 'string' ? id : 'an unknown call')
    const label = this.clean(`Result of ${of}${failed === true ? ' (failed)' : ''}`)
    const parts = Array.isArray(content) ? content : content === undefined ? [] : [content]
    if (parts.length === 0) return [{ kind: 'note', text: `${label}: nothing` }]
    return parts.flatMap((part: unknown): DocumentPart[] => {
      const text: unknown = isObject(part) && part['type'] === 'text' ? part['text'] : part
      if (typeof text === 'string') return [{ kind: 'code', label, text: this.clean(text) }]
      const isNested = isObject(part) && part['type'] === 'tool_result'
      return isNested ? [this.#json(label, part)] : this.#parts(part)
    })
  }

  #filePart(type: 'image' | 'document', block: Record<string, unknown>): DocumentPart {
    const source = isObject(block['source']) ? block['source'] : {}
    const { data, url, media_type: media } = source
    const mediaType = typeof media === 'string' ? media : type
    if (typeof url === 'string') return { kind: 'note', text: this.clean(`${type} at ${url}`) }
    if (typeof data !== 'string') return this.#json(type, block)
    if (source['type'] === 'text') return { kind: 'code', label: type, text: this.clean(data) }
    if (type === 'image' && !this.#redact)
      return { kind: 'image', mediaType: wellFormed(mediaType), base64: data }
    const left = this.#redact ? ', left out: it cannot be redacted' : ''
    return { kind: 'note', text: this.clean(`${type} (${mediaType}, ${sizeOf(data)} bytes)${left}`) }
  }

  /** What an attachment or a system line is, in a line. */
  #lineName(entry: Entry): string {
    const attachment = isObject(entry['attachment']) ? entry['attachment'] : {}
    const known = [entry['subtype'], attachment['type'], attachment['filename'], entry['content']]
    return known
      .flatMap((part) => (typeof part === 'string' && part !== '' ? [this.clean(part)] : []))
      .join(': ')
      .replaceAll(/\s+/g, ' ')
      .trim()
  }

  #json(label: string, value: unknown): DocumentPart {
    const name = this.clean(label)
    if (!isShallow(value)) return { kind: 'note', text: `${name}: nested too deep to be shown` }
    // Strings are redacted before they are quoted: a key's line feeds would be `\n` after.
    const shown = redactValue(value, (text) => this.clean(text))
    return { kind: 'code', label: name, text: JSON.stringify(shown, null, 2) ?? '' }
  }
}

/** How many bytes base64 text stands for. */
export function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4)
}

function contentOf(entry: Entry): unknown[] {
  const content: unknown = isObject(entry.message) ? entry.message['content'] : undefined
  if (content === undefined || content === null) return []
  return Array.isArray(content) ? content : [content]
}
