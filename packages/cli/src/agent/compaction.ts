import type Anthropic from '@anthropic-ai/sdk'
import { LociError } from '@loci/disk'
import type { Entry } from '@loci/session-jsonl'
import { blocksOf } from '../message-content.ts'
import { isPrompt } from '../rewind-door.ts'
import { windowOf } from './usage.ts'

/** How full a model's window is when the conversation is compacted by itself. */
const FULL_SHARE = 0.8
/** How much of the window is to come on top before what failed is tried again. */
const RETRY_SHARE = 0.05
/** What is kept as it is: a quarter of the conversation at most, and not more than this. */
const MAX_KEPT_UNITS = 40_000

/** The name of the context that asks for a summary. */
const COMPACTION_CONTEXT = 'compaction'
/** That of the one which holds it. */
const SUMMARY_CONTEXT = 'summary'

/** What asks for the summary, as the last text of a request. Pure. */
export function compactionInstruction(wish: string): string {
  const asked = wish === '' ? '' : `\n\nFor this summary the user asks: ${wish}`
  return `<context name="${COMPACTION_CONTEXT}">
This conversation is about to be replaced by a summary, which you write now. After it only the summary and the last few messages are there, and the work goes on from them. Call no tools. Answer with the summary and nothing else, in the language of the conversation.

Say, where it applies:
1. What the user asked for, decided, corrected or ruled out, in their own words where these matter.
2. What was done: files that were read, changed or made, with their paths; commands, and what came of them.
3. What went wrong, and how it was solved.
4. What the next steps need to know: names, numbers, places in the code, short pieces of it, constraints.
5. What is left to do, and what was being done last.

An earlier summary is part of the conversation: carry over what still matters of it. Add nothing that was not said or seen, and no passwords or keys.${asked}
</context>`
}

/** What stands for the closed part of a conversation. Pure. */
export function summaryMessage(summary: string): string {
  return `<context name="${SUMMARY_CONTEXT}">
What was said before was replaced by this summary of it. Files may have changed since: read them again before you rely on what it says of them. Go on where it ends.

${summary}
</context>`
}

/**
 * The summary in an answer. Pure.
 *
 * @throws {LociError} MODEL_REFUSED, MODEL_REJECTED when it holds no whole one
 */
export function summaryIn({ content, stop_reason }: Anthropic.Message): string {
  if (stop_reason === 'refusal') throw new LociError('MODEL_REFUSED', 'The model refused to sum it up')
  if (stop_reason === 'max_tokens' || stop_reason === 'model_context_window_exceeded')
    throw new LociError('MODEL_REJECTED', 'The summary was cut before its end')
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
  const isAnswer = !content.some(({ type }) => type === 'tool_use')
  if (text.trim() !== '' && isAnswer) return text.trim()
  throw new LociError('MODEL_REJECTED', 'The model gave no summary')
}

/** What of a conversation is kept as it is. */
export interface KeptPart {
  /** The first entry of it; `undefined`: nothing is kept. */
  from: string | undefined
  units: number
  /** Those of the whole conversation. */
  totalUnits: number
}

/** The end of a conversation from a prompt or an answer on: as much as fits. Pure. */
export function keptPart(chain: readonly Entry[]): KeptPart {
  const sizes = chain.map((entry) => JSON.stringify(fieldOf(entry.message, 'content') ?? '').length)
  const totalUnits = sizes.reduce((sum, size) => sum + size, 0)
  const most = Math.min(MAX_KEPT_UNITS, totalUnits / 4)
  const kept: KeptPart = { from: undefined, units: 0, totalUnits }
  let units = 0
  for (const [index, entry] of [...chain.entries()].toReversed()) {
    units += sizes[index] ?? 0
    if (units > most || entry['isCompactSummary'] === true) break
    if (!isPrompt(entry) && !beginsAnswer(chain, index)) continue
    kept.from = entry.uuid
    kept.units = units
  }
  return kept
}

function beginsAnswer(chain: readonly Entry[], index: number): boolean {
  const entry = chain[index]
  if (entry?.type !== 'assistant' || blocksOf(entry).length === 0) return false
  const before = chain.slice(0, index).findLast(({ type }) => type === 'assistant')
  const id = fieldOf(entry.message, 'id')
  return before === undefined || id === undefined || fieldOf(before.message, 'id') !== id
}

/** The part of a conversation that came after it was compacted, without what is kept of before; else all of it. Pure. */
export function sinceCompaction(chain: readonly Entry[]): readonly Entry[] {
  const summary = chain.find(({ isCompactSummary }) => isCompactSummary === true)
  if (summary === undefined) return chain
  const from = chain.findIndex(({ parentUuid }) => parentUuid === summary.uuid)
  return from === -1 ? [] : chain.slice(from)
}

/**
 * How many tokens a conversation takes, by what the last answer says that it read and wrote; 0 where none was given
 * since the conversation was compacted. Pure.
 */
export function contextTokens(chain: readonly Entry[]): number {
  for (const { type, message } of sinceCompaction(chain).toReversed()) {
    const usage = type === 'assistant' ? fieldOf(message, 'usage') : undefined
    const tokens = COUNTS.reduce((sum, key) => sum + countIn(usage, key), 0)
    if (tokens > 0) return tokens
  }
  return 0
}

const COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
] as const

/** Whether a conversation of so many tokens is to be compacted by itself. Pure. */
export function isFull(tokens: number, model: string, failedAt: number | undefined): boolean {
  const window = windowOf(model)
  if (tokens < window * FULL_SHARE) return false
  return failedAt === undefined || tokens >= failedAt + window * RETRY_SHARE
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

function countIn(usage: unknown, key: string): number {
  const count = fieldOf(usage, key)
  return typeof count === 'number' && Number.isFinite(count) ? count : 0
}
