import type { TokenUsage } from '@loci/app-state'
import type { RecordDraft } from '@loci/session-jsonl'

/** US dollars for a million tokens. */
interface Price {
  input: number
  output: number
  cacheWrite: number
  cacheRead: number
}

const price = (input: number, output: number, cacheRead: number): Price => ({
  input,
  output,
  // Five-minute entries, the only ones that are asked for.
  cacheWrite: input * 1.25,
  cacheRead,
})

/** Source: https://platform.claude.com/docs/en/about-claude/pricing. A model that is not here has no known price. */
const PRICES: readonly [pattern: RegExp, Price][] = [
  [/^claude-(fable|mythos)-5-1$/, price(10, 50, 0.25)],
  [/^claude-(fable|mythos)-5$/, price(10, 50, 1)],
  [/^claude-opus-5-5$/, price(4, 20, 0.2)],
  [/^claude-opus-(5|4-[5-8])(-\d{8})?$/, price(5, 25, 0.5)],
  [/^claude-sonnet-5-5$/, price(2, 10, 0.1)],
  [/^claude-sonnet-5$/, price(2, 10, 0.2)],
  [/^claude-sonnet-4-[56](-\d{8})?$/, price(3, 15, 0.3)],
  [/^claude-haiku-4-5(-\d{8})?$/, price(1, 5, 0.1)],
  [/^loci-offline$/, price(0, 0, 0)],
]

/** Source: https://platform.claude.com/docs/en/about-claude/models/overview. */
const WINDOWS: readonly [pattern: RegExp, tokens: number][] = [
  [/^claude-(fable|mythos)-5(-\d)?$/, 1_000_000],
  [/^claude-(opus|sonnet)-5(-5)?$/, 1_000_000],
  [/^claude-(opus-4-[678]|sonnet-4-6)(-\d{8})?$/, 1_000_000],
]

/** How many tokens a model takes; what is not known takes 200,000. Pure. */
export function windowOf(model: string): number {
  return WINDOWS.find(([pattern]) => pattern.test(model))?.[1] ?? 200_000
}

/** Tokens of one answer, as the API counts them. */
export interface AnswerUsage {
  input_tokens: number
  output_tokens: number
  cache_creation_input_tokens?: number | null
  cache_read_input_tokens?: number | null
}

/** What one answer of a model took and cost. Pure. */
export function usageOf(model: string, usage: AnswerUsage): TokenUsage {
  const tokens = {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
    cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
  }
  const known = PRICES.find(([pattern]) => pattern.test(model))?.[1]
  if (known === undefined) return { ...tokens, costUsd: null }
  const millionths =
    tokens.inputTokens * known.input +
    tokens.outputTokens * known.output +
    tokens.cacheCreationInputTokens * known.cacheWrite +
    tokens.cacheReadInputTokens * known.cacheRead
  return { ...tokens, costUsd: millionths / 1e6 }
}

/** Both together; the cost is unknown once a part of it is. Pure. */
export function addUsage(one: TokenUsage, other: TokenUsage): TokenUsage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheCreationInputTokens: one.cacheCreationInputTokens + other.cacheCreationInputTokens,
    cacheReadInputTokens: one.cacheReadInputTokens + other.cacheReadInputTokens,
    costUsd: one.costUsd === null || other.costUsd === null ? null : one.costUsd + other.costUsd,
  }
}

export const NO_USAGE: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheReadInputTokens: 0,
  costUsd: 0,
}

/**
 * The record that says what a session has taken so far: the last one (of whatever client) and what came on top. Fields
 * of others stay. Pure.
 *
 * Source: `docs/formats/session.md`, cost-state.
 */
export function costRecord(last: RecordDraft | undefined, model: string, added: TokenUsage): RecordDraft {
  const byModel = modelUsage(last)
  const before = byModel[model]
  const tokens = addUsage(before === undefined ? NO_USAGE : readUsage(before), added)
  const total = addUsage({ ...NO_USAGE, costUsd: numberIn(last, 'totalCostUSD') }, added)
  const { costUsd, ...counts } = tokens
  return {
    ...last,
    type: 'cost-state',
    totalCostUSD: total.costUsd ?? numberIn(last, 'totalCostUSD'),
    // A cost that somebody else knew stays, though we cannot add to it.
    modelUsage: {
      ...byModel,
      [model]: { ...before, ...counts, costUSD: costUsd ?? numberIn(before, 'costUSD') },
    },
    hasUnknownModelCost: last?.['hasUnknownModelCost'] === true || added.costUsd === null,
  }
}

/** What a session has taken, from its last `cost-state` record. Pure. */
export function totalOf(record: RecordDraft | undefined): TokenUsage {
  const total = Object.values(modelUsage(record)).map(readUsage).reduce(addUsage, NO_USAGE)
  const isUnknown = record?.['hasUnknownModelCost'] === true
  return { ...total, costUsd: isUnknown ? null : numberIn(record, 'totalCostUSD') }
}

function modelUsage(record: RecordDraft | undefined): Record<string, object> {
  const all = record?.['modelUsage']
  if (typeof all !== 'object' || all === null) return {}
  return Object.fromEntries(
    Object.entries(all).filter(
      (pair): pair is [string, object] => typeof pair[1] === 'object' && pair[1] !== null,
    ),
  )
}

function readUsage(fields: object): TokenUsage {
  return {
    inputTokens: numberIn(fields, 'inputTokens'),
    outputTokens: numberIn(fields, 'outputTokens'),
    cacheCreationInputTokens: numberIn(fields, 'cacheCreationInputTokens'),
    cacheReadInputTokens: numberIn(fields, 'cacheReadInputTokens'),
    costUsd: numberIn(fields, 'costUSD'),
  }
}

function numberIn(fields: object | undefined, key: string): number {
  const value: unknown = fields === undefined ? undefined : Reflect.get(fields, key)
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
