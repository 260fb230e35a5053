import type { Statement } from './recall.ts'

const ENTRY = /^\s*[-*+]\s+\[(?<title>.*?)\]\((?<file><[^>]*>|.*?\.md)\)\s*(?:[—–:-]+\s*)?(?<hook>.*)$/u
const HIT = /^(?<file>\S.*?) \((?<scope>[^(),]*), (?<type>[^(),]*)\): (?<description>.*)$/u
/** What SearchMemory says of a memory between its first line and its text. */
const ABOUT = /^revision \S+(?: \(written [^)]*\))?$|, which it names, (?:is|are) not there now$/u
const EMPTY_NOTICE = 'The memory is empty now.'
/** Lines that speak of memory and are no memory. */
const NOTICES: ReadonlySet<string> = new Set([EMPTY_NOTICE, 'The memory has changed since.'])

/** What a note about memory says. */
export interface MemoryNote {
  added: Statement[]
  /** What is no longer there. */
  removed: Statement[]
  /** Nothing is there any more. */
  isEmpty: boolean
}

/** Reads the index in a memory context, or what a later one says of changes. Pure. */
export function parseMemoryNote(text: string): MemoryNote {
  const [stays = '', ...gone] = text.split(/^No longer in the index:$/mu)
  const parse = (part: string): Statement[] =>
    part.split('\n').flatMap((line) => {
      const statement = NOTICES.has(line.trim()) ? undefined : parseIndexLine(line)
      return statement === undefined ? [] : [statement]
    })
  return {
    added: parse(stays),
    removed: parse(gone.join('\n')),
    isEmpty: text.trim() === EMPTY_NOTICE,
  }
}

/** A line of a memory index, or another line of text there, as a statement. */
function parseIndexLine(line: string): Statement | undefined {
  const { title = '', file = '', hook = '' } = ENTRY.exec(line)?.groups ?? {}
  if (file !== '') {
    const text = hook === '' ? title : hook
    return { text, source: 'memory', where: file.replace(/^<|>$/gu, ''), isCut: text.endsWith('…') }
  }
  const text = line.trim()
  // Headings name the index and its place.
  if (text === '' || text.startsWith('#') || text.startsWith('>') || text.endsWith(':')) return undefined
  return { text, source: 'memory', where: '', isCut: false }
}

/** The hits in a result of SearchMemory: the description and body of each are one statement. */
export function parseSearchHits(result: string): Statement[] {
  const hits: Statement[] = []
  for (const paragraph of result.split(/\n\s*\n/u)) {
    const [first = '', ...rest] = paragraph.trim().split('\n')
    const body = rest.filter((line) => !ABOUT.test(line))
    const { file, description = '' } = HIT.exec(first)?.groups ?? {}
    const last = hits.at(-1)
    if (file !== undefined)
      hits.push({ text: joinText(description, body.join('\n')), source: 'memory', where: file, isCut: false })
    else if (last !== undefined) last.text = `${last.text}\n${paragraph.trim()}`
  }
  return hits
}

/** A body that says what the description says is said once. */
function joinText(description: string, body: string): string {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')
  if (body.trim() === '') return description
  return plain(body).includes(plain(description)) ? body.trim() : `${description}\n${body.trim()}`
}
