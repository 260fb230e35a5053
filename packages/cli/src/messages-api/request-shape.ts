import type Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'

/** The body of a request once it is checked. `stream` says which form of answer the caller wants. */
export type MessagesRequest = Anthropic.MessageCreateParams

/** The blocks that the shape lets through. */
export type ShapedBlock =
  | Anthropic.TextBlockParam
  | Anthropic.ImageBlockParam
  | Anthropic.DocumentBlockParam
  | Anthropic.SearchResultBlockParam
  | Anthropic.ThinkingBlockParam
  | Anthropic.RedactedThinkingBlockParam
  | Anthropic.ToolUseBlockParam
  | Anthropic.ToolResultBlockParam

export interface ShapedMessage {
  role: 'user' | 'assistant'
  content: string | ShapedBlock[]
}

/** A body without a `shapeProblem`: tools that the caller runs, and no blocks of others. */
export interface ShapedRequest extends Omit<
  Anthropic.MessageCreateParamsNonStreaming,
  'messages' | 'tools' | 'stream'
> {
  messages: ShapedMessage[]
  tools?: Anthropic.Tool[]
  stream?: boolean
}

const cacheControl = z
  .strictObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() })
  .nullish()

const text = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  cache_control: cacheControl,
  citations: z.array(z.looseObject({ type: z.string() })).nullish(),
})

const carriesFile = z.looseObject({
  source: z.looseObject({ type: z.string() }),
  cache_control: cacheControl,
})
const image = carriesFile.extend({ type: z.literal('image') })
const document = carriesFile.extend({ type: z.literal('document') })
const searchResult = z.looseObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(text),
  cache_control: cacheControl,
})
const toolReference = z.looseObject({ type: z.literal('tool_reference'), tool_name: z.string() })

const block = z.discriminatedUnion('type', [
  text,
  image,
  document,
  searchResult,
  // No place for a mark in these two: the API refuses to cache up to a thinking block.
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
    input: z.record(z.string(), z.unknown()),
    cache_control: cacheControl,
    caller: z.looseObject({ type: z.string() }).optional(),
    toolset_name: z.string().nullish(),
  }),
  z.strictObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
    content: z
      .union([
        z.string(),
        z.array(z.discriminatedUnion('type', [text, image, document, searchResult, toolReference])),
      ])
      .optional(),
    is_error: z.boolean().optional(),
    cache_control: cacheControl,
    toolset_name: z.string().nullish(),
  }),
])

const message = z.strictObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string(), z.array(block)]),
})

const tool = z.strictObject({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  input_schema: z.looseObject({ type: z.literal('object') }),
  type: z.literal('custom').nullish(),
  description: z.string().optional(),
  cache_control: cacheControl,
  allowed_callers: z.array(z.string()).optional(),
  defer_loading: z.boolean().optional(),
  eager_input_streaming: z.boolean().nullish(),
  input_examples: z.array(z.record(z.string(), z.unknown())).optional(),
  strict: z.boolean().optional(),
})

const parallel = { disable_parallel_tool_use: z.boolean().optional() }
const display = { display: z.enum(['summarized', 'omitted']).nullish() }

const body = z.strictObject({
  model: z.string().min(1),
  max_tokens: z.int().min(1),
  messages: z.array(message).min(1).max(100_000),
  system: z.union([z.string(), z.array(text)]).optional(),
  tools: z.array(tool).optional(),
  tool_choice: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('auto'), ...parallel }),
      z.strictObject({ type: z.literal('any'), ...parallel }),
      z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallel }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .optional(),
  thinking: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int().min(1024), ...display }),
      z.strictObject({ type: z.literal('adaptive'), ...display }),
      z.strictObject({ type: z.literal('between_tools') }),
      z.strictObject({ type: z.literal('disabled') }),
    ])
    .optional(),
  cache_control: cacheControl,
  stop_sequences: z.array(z.string()).optional(),
  stream: z.boolean().optional(),
  metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
  service_tier: z.enum(['auto', 'standard_only']).optional(),
  speed: z.enum(['standard', 'fast']).nullish(),
  output_config: z.looseObject({}).optional(),
  container: z.unknown().optional(),
  diagnostics: z.looseObject({}).nullish(),
  inference_geo: z.string().nullish(),
})

/** The first place where a body has the wrong shape, as `messages.2.content.0.text: …`; `undefined` when it has none. */
export function shapeProblem(value: unknown): string | undefined {
  const result = body.safeParse(value)
  return result.success ? undefined : lineFor(result.error.issues[0], value)
}

function lineFor(issue: z.core.$ZodIssue | undefined, value: unknown): string {
  const { path, message: said } = deepest(issue)
  return `${path.length === 0 ? describe(value) : path.join('.')}: ${said}`
}

function describe(value: unknown): string {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? 'body'
    : 'body is not an object'
}

/** A union says only "invalid input": what its best fitting branch says, with the place, is of use. */
function deepest(issue: z.core.$ZodIssue | undefined): { path: PropertyKey[]; message: string } {
  if (issue === undefined) return { path: [], message: 'invalid' }
  if (issue.code === 'unrecognized_keys')
    return { path: [...issue.path, issue.keys[0] ?? ''], message: 'Extra inputs are not permitted' }
  if (issue.code !== 'invalid_union') return { path: issue.path, message: issue.message }
  const inner = issue.errors
    .map((branch) => deepest(branch[0]))
    .toSorted((a, b) => b.path.length - a.path.length)[0]
  if (inner === undefined) return { path: issue.path, message: 'unknown type' }
  return { path: [...issue.path, ...inner.path], message: inner.message }
}
