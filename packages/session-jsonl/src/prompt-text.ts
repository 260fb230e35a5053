import { isObject } from './entry.ts'
import { cutUnits, wellFormed } from './well-formed.ts'

/** Length of a prompt in lists, in UTF-16 units. */
const PREVIEW_UNITS = 200

/** What a user line says as a prompt: what a person wrote, or the command that was run. */
export type Prompt = { text: string } | { command: string }

/**
 * The prompt that a record holds, if it holds one. No prompts: lines that the program added (`isMeta`), summaries of a
 * compaction, subagents' lines, tool results, output of local commands, notes of an editor and of interruptions.
 */
export function promptOf(record: Record<string, unknown>): Prompt | undefined {
  if (record['type'] !== 'user' || record['isMeta'] === true || record['isSidechain'] === true)
    return undefined
  if (record['isCompactSummary'] === true) return undefined
  const content: unknown = isObject(record['message']) ? record['message']['content'] : undefined
  const blocks: unknown[] = Array.isArray(content) ? content : [content]
  if (blocks.some((block) => isObject(block) && block['type'] === 'tool_result')) return undefined
  let command: string | undefined
  for (const block of blocks) {
    const raw: unknown = isObject(block) && block['type'] === 'text' ? block['text'] : block
    if (typeof raw !== 'string') continue
    command ??= /<command-name>([^<]*)/.exec(raw)?.[1]?.trim()
    const text = raw.replaceAll(/<(ide_\w+)>[\s\S]*?(?:<\/\1>|$)/g, '').trim()
    if (text !== '' && !NOT_WRITTEN.test(text)) return { text }
  }
  return command === undefined || command === '' ? undefined : { command }
}

const NOT_WRITTEN = /^(?:<command-|<local-command-|\[Request interrupted)/

/** A text as one line of at most 200 units and `…`; never half a character at its end. */
export function previewOf(text: string): string {
  const line = lineOf(text)
  // Through bytes: a slice would keep the whole text in memory, for every session of a list.
  return line.length <= PREVIEW_UNITS
    ? line
    : Buffer.from(`${cutUnits(line, PREVIEW_UNITS).trimEnd()}…`).toString('utf8')
}

/** Whether a text is a prompt whose preview is the same whatever comes after it. */
export function isLongPrompt(text: string): boolean {
  const prompt = text.trim()
  return !NOT_WRITTEN.test(prompt) && lineOf(prompt).length > PREVIEW_UNITS
}

function lineOf(text: string): string {
  return wellFormed(text)
    .replaceAll(/[\r\n]+/g, ' ')
    .trim()
}
