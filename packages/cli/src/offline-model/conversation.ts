import type { MessagesRequest } from '../messages-api/request-shape.ts'
import { saidIn } from './sum-up.ts'

/** A tool call and what came of it. */
export interface Outcome {
  name: string
  input: Readonly<Record<string, unknown>>
  /** The text of the result; empty if there is none. */
  text: string
  isError: boolean
}

/** Something that was said before the prompt, in order. */
export type Earlier =
  | { kind: 'context'; name: string; text: string }
  | { kind: 'prompt'; text: string }
  | { kind: 'outcome'; outcome: Outcome }

/** What a request tells, in the order in which it was said. */
export interface Conversation {
  /** The last text of a user that is not context. */
  prompt: string | undefined
  earlier: Earlier[]
  /** The calls made for the prompt so far. */
  done: Outcome[]
  tools: ReadonlySet<string>
}

type Message = MessagesRequest['messages'][number]
type Block = Exclude<Message['content'], string>[number]

const CONTEXT = /^<context name="(?<name>[^"]*)">\n?(?<text>[\s\S]*?)\n?(?:<\/context>\s*)?$/u

/** Takes a request apart. Pure; nothing of the system prompt is used. */
export function readConversation(request: MessagesRequest): Conversation {
  const blocks = request.messages.flatMap((message, index) =>
    blocksOf(message).map((block) => ({ block, index, role: message.role })),
  )
  const isPrompt = ({ block, role }: (typeof blocks)[number]): boolean =>
    role === 'user' && block.type === 'text' && !isContext(block.text)
  const at = blocks.findLastIndex(isPrompt)
  const results = resultsById(blocks.map(({ block }) => block))

  const earlier: Earlier[] = []
  const done: Outcome[] = []
  let prompt: string | undefined
  for (const [position, item] of blocks.entries()) {
    const { block } = item
    if (block.type === 'text' && isContext(block.text)) {
      const { name = '', text = '' } = CONTEXT.exec(block.text)?.groups ?? {}
      if (name === 'summary') for (const said of saidIn(text)) earlier.push({ kind: 'prompt', text: said })
      else earlier.push({ kind: 'context', name, text })
    } else if (block.type === 'text' && isPrompt(item)) {
      if (position === at) prompt = block.text
      else earlier.push({ kind: 'prompt', text: block.text })
    } else if (block.type === 'tool_use') {
      const result = results.get(block.id)
      const outcome = {
        name: block.name,
        input: isRecord(block.input) ? block.input : {},
        text: result?.text ?? '',
        isError: result?.isError ?? true,
      }
      if (position > at) done.push(outcome)
      else earlier.push({ kind: 'outcome', outcome })
    }
  }
  const tools = new Set((request.tools ?? []).flatMap((tool) => ('name' in tool ? [tool.name] : [])))
  return { prompt, earlier, done, tools }
}

function blocksOf({ content }: Message): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function isContext(text: string): boolean {
  return text.startsWith('<context ')
}

function resultsById(blocks: readonly Block[]): Map<string, { text: string; isError: boolean }> {
  return new Map(
    blocks.flatMap((block) =>
      block.type === 'tool_result'
        ? [[block.tool_use_id, { text: textOf(block.content), isError: block.is_error === true }] as const]
        : [],
    ),
  )
}

function textOf(content: Extract<Block, { type: 'tool_result' }>['content']): string {
  if (content === undefined || typeof content === 'string') return content ?? ''
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
