import { ellipsize } from './cut-text.ts'
import { cleanLines } from './truncate.ts'

/** How long a line is that we write, in UTF-16 units; only a long file name can make it longer. */
const MAX_INDEX_LINE = 150
/** From here on `verify` calls a line too long, in UTF-16 units. */
export const LONG_INDEX_LINE = 200

/** A line of an index that points to a topic file. */
export interface IndexEntry {
  title: string
  /** As `Memory.file`: relative to the folder of the index, `/` between segments. */
  file: string
  /** What stands behind the link; empty if nothing does. */
  hook: string
  /** From 1, in the raw text. */
  line: number
}

// The title is lazy, so that brackets in it end at the first `](`. The target is `<…>` or runs, with blanks and
// balanced parentheses, to the `)` that closes it.
const ENTRY =
  /^\s*[-*+]\s+\[(?<title>.*?)\]\((?:<(?<angle>(?:[^<>\\]|\\.)*)>|(?<bare>(?:[^()<>]|\([^()]*\))+))\)(?<rest>.*)$/dsu
/** How a link to another place begins: with a scheme, at the root, or as an anchor. */
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|[/#])/i
const SEPARATOR = /^\s*(?:[—–:]|-{1,2})\s*/u

/**
 * The entries of the raw text of an index, in order. Front matter and comments hold none; nor are links to
 * other places (`https://…`, `#…`, absolute paths, `../…`) and to files that do not end in `.md`: they are text.
 */
export function parseIndex(raw: string): IndexEntry[] {
  return cleanLines(raw).flatMap(({ text, line }) => {
    const groups = ENTRY.exec(text)?.groups
    if (groups === undefined) return []
    const file = targetOf(groups['angle'], groups['bare'])
    if (file === undefined) return []
    const hook = (groups['rest'] ?? '').replace(SEPARATOR, '').trim()
    return [{ title: (groups['title'] ?? '').trim(), file, hook, line }]
  })
}

function targetOf(angle: string | undefined, bare: string | undefined): string | undefined {
  const target = angle === undefined ? decodePercent((bare ?? '').trim()) : angle.replace(/\\(.)/g, '$1')
  if (ELSEWHERE.test(target) || !target.endsWith('.md')) return undefined
  const file = target.replace(/^(?:\.\/)+/, '')
  return file.split('/').includes('..') ? undefined : file
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * The index line `- [name](file) — hook`, at most 150 UTF-16 units: the hook is cut first, then the name, the
 * link stays whole. Brackets and line breaks in name and hook become blanks. Without a hook the line ends
 * after the link.
 */
export function formatIndexLine(name: string, file: string, hook: string): string {
  const link = `](${formatTarget(file)})`
  const title = flatten(name)
  const budget = MAX_INDEX_LINE - '- ['.length - link.length
  const shownTitle = title.length <= budget ? title : ellipsize(title, Math.max(budget, 1))
  const head = `- [${shownTitle}${link}`
  const room = MAX_INDEX_LINE - head.length - ' — '.length
  const shownHook = flatten(hook)
  if (shownHook.length <= room) return shownHook === '' ? head : `${head} — ${shownHook}`
  // A hook of one or two units says nothing.
  return room < 3 ? head : `${head} — ${ellipsize(shownHook, room)}`
}

/** The hook of an entry, if it is another than the line of that description would have. */
export function ownHook({ title, file, hook }: IndexEntry, description: string): string | undefined {
  const [usual] = parseIndex(formatIndexLine(title, file, description))
  return hook === '' || hook === usual?.hook ? undefined : hook
}

function flatten(text: string): string {
  return text.replace(/[[\]\s\p{Cc}]+/gu, ' ').trim()
}

/**
 * Names that would end a plain link early, or that `parseIndex` would decode, stand in angle brackets; so do those
 * that look like a link to another place, with `./` before them.
 */
function formatTarget(file: string): string {
  if (ELSEWHERE.test(file)) return formatAngled(`./${file}`)
  return /[\s()%<>\\]/u.test(file) ? formatAngled(file) : file
}

function formatAngled(target: string): string {
  return `<${target.replace(/[<>\\]/g, '\\$&')}>`
}

/** The text of an entry's line, with `file` as its target and all else as it was. */
export function retargetLine(text: string, file: string): string {
  const { angle, bare } = ENTRY.exec(text)?.indices?.groups ?? {}
  // The brackets of `<…>` go with it.
  const span = angle === undefined ? bare : [angle[0] - 1, angle[1] + 1]
  return span === undefined ? text : text.slice(0, span[0]) + formatTarget(file) + text.slice(span[1])
}

/**
 * The bytes of an index in which `line` stands for `file`: in the place of the first entry for that file, else
 * as a new last line. All other bytes stay as they are; a new line ends as the others do.
 */
export function setIndexLine(bytes: Uint8Array, file: string, line: string): Buffer {
  const entry = findEntry(bytes, file)
  return entry === undefined ? appendIndexLine(bytes, line) : replaceIndexLine(bytes, entry.line, line)
}

/** As {@link setIndexLine}, with `lines` in the place of all entries for `file`. */
export function setIndexLines(bytes: Uint8Array, file: string, lines: readonly Uint8Array[]): Buffer {
  const entries = entriesFor(bytes, file)
  const [first, ...others] = entries
  if (first === undefined) return lines.reduce<Buffer>(appendIndexLine, Buffer.from(bytes))
  if (lines.length === 0)
    return removeIndexLines(
      bytes,
      entries.map(({ line }) => line),
    )
  // As many as there are: each in its own place.
  if (lines.length === entries.length) {
    return entries.reduce<Buffer>(
      (rest, { line }, n) => replaceIndexLine(rest, line, lines[n] ?? ''),
      Buffer.from(bytes),
    )
  }
  const newline = Buffer.from(lineBreakOf(bytes))
  const text = Buffer.concat(lines.flatMap((line, n) => (n === 0 ? [line] : [newline, line])))
  const rest = removeIndexLines(
    bytes,
    others.map(({ line }) => line),
  )
  return replaceIndexLine(rest, first.line, text)
}

/** The first entry for `file`. */
export function findEntry(bytes: Uint8Array, file: string): IndexEntry | undefined {
  return entriesFor(bytes, file)[0]
}

/** All entries for `file`, in order. */
export function entriesFor(bytes: Uint8Array, file: string): IndexEntry[] {
  return parseIndex(decode(bytes)).filter((entry) => entry.file === file)
}

/** The whole lines that stand for `file`, without line ends; none if there is no index. */
export function linesFor(bytes: Uint8Array | undefined, file: string): Buffer[] {
  return bytes === undefined ? [] : entriesFor(bytes, file).map(({ line }) => indexLineAt(bytes, line))
}

/** The bytes of an index with one more line at the end. */
export function appendIndexLine(bytes: Uint8Array, line: string | Uint8Array): Buffer {
  const newline = lineBreakOf(bytes)
  const unended = bytes.length > 0 && bytes.at(-1) !== 0x0a && !isBareMark(bytes)
  return Buffer.concat([bytes, Buffer.from(unended ? newline : ''), Buffer.from(line), Buffer.from(newline)])
}

/** The bytes of an index without the given lines, counted from 1. */
export function removeIndexLines(bytes: Uint8Array, lines: readonly number[]): Buffer {
  return lines
    .toSorted((a, b) => b - a)
    .reduce<Buffer>((rest, line) => {
      const { begin, next } = spanOf(rest, line)
      return Buffer.concat([rest.subarray(0, begin), rest.subarray(next)])
    }, Buffer.from(bytes))
}

/** The bytes of an index with other text on a line, counted from 1; its line end stays. */
export function replaceIndexLine(bytes: Uint8Array, line: number, text: string | Uint8Array): Buffer {
  const { begin, end } = spanOf(bytes, line)
  return Buffer.concat([bytes.subarray(0, begin), Buffer.from(text), bytes.subarray(end)])
}

/** The bytes of a line, counted from 1, without byte order mark and line end. */
export function indexLineAt(bytes: Uint8Array, line: number): Buffer {
  const { begin, end } = spanOf(bytes, line)
  return Buffer.from(bytes.subarray(begin, end))
}

/** Where a line begins, ends, and the next begins. Of bytes, so that a part that is not UTF-8 survives. */
function spanOf(bytes: Uint8Array, line: number): { begin: number; end: number; next: number } {
  let start = 0
  for (let number = 1; number < line; number += 1) start = bytes.indexOf(0x0a, start) + 1
  const newline = bytes.indexOf(0x0a, start)
  const next = newline === -1 ? bytes.length : newline + 1
  const begin = start === 0 ? markLength(bytes) : start
  const end = newline === -1 ? next : newline - (bytes[newline - 1] === 0x0d ? 1 : 0)
  return { begin, end, next }
}

function lineBreakOf(bytes: Uint8Array): string {
  const first = bytes.indexOf(0x0a)
  return first > 0 && bytes[first - 1] === 0x0d ? '\r\n' : '\n'
}

function markLength(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}

function isBareMark(bytes: Uint8Array): boolean {
  return bytes.length === 3 && markLength(bytes) === 3
}

/** The text of an index; bytes that are not UTF-8 become U+FFFD, which moves no line. */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}
