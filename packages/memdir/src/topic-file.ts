import { LociError } from '@loci/disk'
import { Document, isAlias, isMap, isScalar, parseDocument, Scalar } from 'yaml'
import type { DocumentOptions, ParseOptions, ScalarTag, SchemaOptions, ToStringOptions } from 'yaml'
import { plainFields } from './plain-front-matter.ts'
import type { PlainFields } from './plain-front-matter.ts'

/** What a memory is about: the user, how to work, the project, or where to find something. */
export type MemoryType = 'user' | 'feedback' | 'project' | 'reference'
export const MEMORY_TYPES: readonly MemoryType[] = ['user', 'feedback', 'project', 'reference']

/** What a topic file holds beside its body. */
export interface TopicFields {
  name: string
  description: string
  type: MemoryType
  body: string
  originSessionId?: string | undefined
  originMessageId?: string | undefined
}

/** What could be read of a topic file; a field that is absent was not there. */
export interface Topic extends Partial<Omit<TopicFields, 'body'>> {
  body: string
  /** Why the file, or a part of it, could not be read as a memory. */
  problem?: { kind: string; line?: number; message: string }
}

/** The parts of a topic file; joined they are its text. */
interface Parts {
  mark: string
  newline: string
  /** Front matter with both fences, as it stands; `undefined` if there is none. */
  head: string | undefined
  /** The YAML between the fences, with `\n`. */
  yaml: string
  /** What follows the front matter, as it stands. */
  rest: string
  problem?: Topic['problem']
}

/**
 * Reads the text of a topic file: YAML front matter, then the body. `metadata.type` beats `type`. All scalars
 * are text, so `1.0` and `yes` stay what they are. A file without front matter, or with one that is no YAML
 * mapping, is all body and carries a `problem`. CRLF becomes LF in a file whose first line ends so.
 */
export function parseTopic(text: string): Topic {
  const parts = split(text)
  const body = bodyOf(parts)
  if (parts.problem !== undefined) return { body, problem: parts.problem }
  const fields = readFields(parts.yaml)
  if ('problem' in fields) {
    return {
      body: bodyOf({ ...parts, head: undefined, rest: `${parts.head ?? ''}${parts.rest}` }),
      problem: fields.problem,
    }
  }
  const word = fields.get('metadata.type') ?? fields.get('type')
  const type = MEMORY_TYPES.find((known) => known === word)
  return {
    ...defined('name', fields.get('name')),
    ...defined('description', fields.get('description')),
    ...defined('type', type),
    ...defined('originSessionId', fields.get('metadata.originSessionId')),
    ...defined('originMessageId', fields.get('metadata.originMessageId')),
    body,
    ...(type === undefined && word !== undefined && word !== ''
      ? {
          problem: {
            kind: 'unknown-type',
            message: `Type ${JSON.stringify(word)} is none of ${MEMORY_TYPES.join(', ')}`,
          },
        }
      : {}),
  }
}

/**
 * The text of a topic file with these fields. Given the text it replaces, everything that is not a field of
 * ours stays: other keys, comments, order, byte order mark, line ends; and a part whose fields are the same
 * stays byte for byte. The origin is set once and then stays. `parseTopic` reads all fields back as given.
 */
export function formatTopic(fields: TopicFields, previous?: string): string {
  const parts = split(previous ?? '')
  const parsed = parts.head === undefined ? undefined : parseFrontMatter(parts.yaml)
  const document = parsed?.document
  const { newline, mark } = parts
  if (document === undefined) {
    const head = fence(setFields(new Document({}, YAML), fields))
    return mark + `${head}${formatBody(fields.body)}`.replaceAll('\n', newline)
  }
  const before = document.toString(LAYOUT)
  const after = changedFields(document, fields)
  const head = before === after ? (parts.head ?? '') : fence(after).replaceAll('\n', newline)
  const rest = bodyOf(parts) === fields.body ? parts.rest : formatBody(fields.body).replaceAll('\n', newline)
  // A front matter that ended the file may lack its line end.
  return mark + head + (rest !== '' && !head.endsWith('\n') ? newline : '') + rest
}

function split(text: string): Parts {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const content = text.slice(mark.length)
  const newline = /^[^\n]*\r\n/.test(content) ? '\r\n' : '\n'
  const plain = { mark, newline, head: undefined, yaml: '', rest: content }
  const open = /^---[ \t]*(?:\r?\n|$)/.exec(content)
  if (open === null) {
    return {
      ...plain,
      problem: { kind: 'no-front-matter', line: 1, message: 'The file has no front matter' },
    }
  }
  const close = /^---[ \t]*(?:\r?\n|$)/m
  const afterOpen = content.slice(open[0].length)
  const end = close.exec(afterOpen)
  if (end === null) {
    return {
      ...plain,
      problem: { kind: 'front-matter', line: 1, message: 'The front matter is not closed by ---' },
    }
  }
  const headLength = open[0].length + end.index + end[0].length
  return {
    ...plain,
    head: content.slice(0, headLength),
    yaml: afterOpen.slice(0, end.index).replaceAll('\r\n', '\n'),
    rest: content.slice(headLength),
  }
}

/** Undoes {@link formatBody}; of a file without front matter everything but the line end of the last line. */
function bodyOf({ head, newline, rest }: Parts): string {
  const text = newline === '\r\n' ? rest.replaceAll('\r\n', '\n') : rest
  const begin = head !== undefined && text.startsWith('\n') ? 1 : 0
  return text.endsWith('\n') && text.length > begin ? text.slice(begin, -1) : text.slice(begin)
}

/** A blank line before, a line end after: always both, so that a body with its own is read back as it was. */
function formatBody(body: string): string {
  return body === '' ? '' : `\n${body}\n`
}

function fence(yaml: string): string {
  return `---\n${yaml}---\n`
}

type FrontMatter =
  | { document: Document.Parsed; problem?: undefined }
  | { document?: undefined; problem: NonNullable<Topic['problem']> }

/** Text that we write: quoted where some reader, of whichever YAML version, might take it for more than text. */
class QuotedText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const quotedTag: ScalarTag = {
  tag: 'tag:loci,2026:text',
  default: true,
  identify: (value) => value instanceof QuotedText,
  resolve: (value) => value,
  stringify: ({ value }) => (value instanceof QuotedText ? quote(value.text) : String(value)),
}

// failsafe: numbers, booleans and dates of other tools are text to us and are written back as they were.
const YAML: ParseOptions & DocumentOptions & SchemaOptions = {
  schema: 'failsafe',
  customTags: [quotedTag],
  logLevel: 'silent',
}
const LAYOUT: ToStringOptions = { lineWidth: 0, flowCollectionPadding: false }

function parseFrontMatter(yaml: string): FrontMatter {
  const document = parseDocument(yaml, YAML)
  const error = document.errors[0]
  if (error !== undefined) {
    const line = (error.linePos?.[0].line ?? 1) + 1
    // Its own place, and the lines it quotes, are counted from the fence.
    const why = error.message.replace(/\s*\n.*$/s, '').replace(/ at line \d+, column \d+:?$/, '')
    const message = `The front matter is not valid YAML: ${why}`
    return { problem: { kind: 'front-matter', line, message } }
  }
  if (document.contents !== null && !isMap(document.contents)) {
    return {
      problem: {
        kind: 'front-matter',
        line: 2,
        message: 'The front matter is not a list of keys and values',
      },
    }
  }
  return { document }
}

const FIELDS = [
  'name',
  'description',
  'type',
  'metadata.type',
  'metadata.originSessionId',
  'metadata.originMessageId',
]

/** The fields of ours in a front matter, by their path. */
function readFields(yaml: string): PlainFields | { problem: NonNullable<Topic['problem']> } {
  const plain = plainFields(yaml)
  if (plain !== undefined) return plain
  const parsed = parseFrontMatter(yaml)
  if (parsed.problem !== undefined) return parsed
  const { document } = parsed
  return new Map(
    FIELDS.flatMap((path) => {
      const text = textAt(document, path.split('.'))
      return text === undefined ? [] : [[path, text] as const]
    }),
  )
}

function textAt(document: Document.Parsed | Document, path: readonly string[]): string | undefined {
  const node = document.getIn(path, true)
  const value = isAlias(node) ? node.resolve(document) : node
  if (!isScalar(value)) return undefined
  return typeof value.value === 'string' ? value.value : undefined
}

function setFields(document: Document.Parsed | Document, fields: TopicFields): string {
  setText(document, ['name'], fields.name)
  setText(document, ['description'], fields.description)
  setText(document, ['type'], fields.type)
  const metadata = document.get('metadata')
  // Somebody's `metadata` that is no mapping is theirs.
  if (metadata === undefined || isMap(metadata)) {
    setText(document, ['metadata', 'type'], fields.type)
    if (textAt(document, ['metadata', 'originSessionId']) === undefined) {
      if (fields.originSessionId !== undefined)
        setText(document, ['metadata', 'originSessionId'], fields.originSessionId)
      if (fields.originMessageId !== undefined)
        setText(document, ['metadata', 'originMessageId'], fields.originMessageId)
    }
  }
  return document.toString(LAYOUT)
}

/** @throws {LociError} MEMORY_INVALID where other keys refer to what a field would replace */
function changedFields(document: Document.Parsed, fields: TopicFields): string {
  try {
    return setFields(document, fields)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const message = `Nothing was saved: the front matter cannot be changed (${why}); mend it by hand`
    throw new LociError('MEMORY_INVALID', message, { cause })
  }
}

function setText(document: Document.Parsed | Document, path: readonly string[], text: string): void {
  if (textAt(document, path) === text) return
  const node = document.getIn(path, true)
  // In place, because the node carries the comment behind it.
  if (isScalar(node)) node.value = new QuotedText(text)
  else document.setIn(path, new Scalar(new QuotedText(text)))
}

const PLAIN = /^\p{L}(?:[\p{L}\p{N} _.,;/()+'-]*[\p{L}\p{N}_.,;/()+'-])?$/u
const WORDS_WITH_A_MEANING = /^(?:y|n|yes|no|on|off|true|false|null)$/i

function quote(text: string): string {
  if (PLAIN.test(text) && !WORDS_WITH_A_MEANING.test(text)) return text
  // A JSON string is a YAML double-quoted one; these few more are line ends or not printable in some YAML.
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function defined<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  const found: Partial<Record<K, V>> = {}
  if (value !== undefined) found[key] = value
  return found
}
