import { basename } from 'node:path'
import { analyse, chainTo, entryNode, recordsOf } from './analysis.ts'
import { formatJson, isObject } from './entry.ts'
import { documentOf } from './export-document.ts'
import { renderHtml } from './export-html.ts'
import { renderMarkdown } from './export-markdown.ts'
import { redactValue } from './export-redact.ts'
import { isShallow } from './json-depth.ts'
import { chunksOf, openTranscript, readTranscript } from './read-transcript.ts'
import { sessionIdOf } from './session-path.ts'
import type { TranscriptItem } from './transcript.ts'

/**
 * The text of a session to read or to pass on, in pieces. Only reads, and takes no lease.
 *
 * - `markdown`, `html`: the conversation as it stands, from its root or its last compaction to its tip: prompts, answers,
 *   thinking, calls, results whole and as they came (not their replacements), what damage there is. Other branches,
 *   subagents and side files are not in it. The HTML is one page without script that loads nothing; images are in it.
 *   The session is held in memory.
 * - `jsonl`: the whole transcript, byte for byte (bytes that are not UTF-8 read as U+FFFD). Holds one chunk.
 *
 * `redact` is given every string, keys of objects too, and what it answers is written in its place; base64 (images) it
 * cannot look into and is left out. With it each line of `jsonl` is a record, written anew; what cannot be read or
 * nests too deep is left out, and a line `{ type: 'unreadable', kind, offset, length, line }` stands in its place.
 *
 * @throws {TypeError} with the first step, for another format, a `redact` that is no function, or a `path` that is no
 * string
 * @throws {LociError} SESSION_NOT_FOUND; DISK_IO, also when it is no file
 */
export async function* exportSession(
  path: string,
  options: { format: 'markdown' | 'html' | 'jsonl'; redact?: ((text: string) => string) | undefined },
): AsyncIterable<string> {
  if (typeof path !== 'string' || !isObject(options))
    throw new TypeError('exportSession takes a path and options: exportSession(path, { format, redact? })')
  const { format, redact } = options
  if (format !== 'markdown' && format !== 'html' && format !== 'jsonl')
    throw new TypeError(`format must be 'markdown', 'html' or 'jsonl'`)
  if (redact !== undefined && typeof redact !== 'function') throw new TypeError('redact must be a function')
  if (format === 'jsonl') {
    yield* redact ? redactedLines(path, redact) : textOf(path)
    return
  }
  const items: TranscriptItem[] = []
  for await (const item of readTranscript(path)) items.push(item)
  const analysis = analyse(items, path, sessionIdOf(basename(path)))
  const title = recordsOf(analysis.tree, 'custom-title').at(-1)?.['customTitle']
  const page = documentOf({
    sessionId: basename(path, '.jsonl'),
    chain: chainTo(analysis, analysis.tip === null ? undefined : entryNode(analysis, analysis.tip)),
    customTitle: typeof title === 'string' && title !== '' ? title : undefined,
    damage: analysis.damage,
    redact,
  })
  yield* format === 'html' ? renderHtml(page) : renderMarkdown(page)
}

async function* textOf(path: string): AsyncGenerator<string> {
  const file = await openTranscript(path)
  try {
    // A byte order mark is part of the file.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    for await (const chunk of chunksOf(file, 0)) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } finally {
    await file.close()
  }
}

async function* redactedLines(path: string, redact: (text: string) => string): AsyncGenerator<string> {
  for await (const { record, damage, offset, length, line } of readTranscript(path)) {
    const kind = damage?.kind ?? (isShallow(record) ? undefined : 'too-deep')
    const shown =
      kind === undefined ? redactValue(record, redact) : { type: 'unreadable', kind, offset, length, line }
    yield `${formatJson(shown)}\n`
  }
}
