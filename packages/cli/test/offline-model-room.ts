import type { ModelAnswer } from '../src/messages-api/answer.ts'
import type { MessagesRequest } from '../src/messages-api/request-shape.ts'
import { answerOffline } from '../src/offline-model/offline-model.ts'

export const ALL_TOOLS = ['Read', 'Write', 'Edit', 'Bash', 'SaveMemory', 'SearchMemory']

/** A call as the model made it. */
export interface Call {
  name: string
  input: Record<string, unknown>
}

/** What a tool of the test says to a call. */
export type Answer = string | { error: string }
export type Tools = (call: Call) => Answer

type Message = MessagesRequest['messages'][number]

export const contextOf = (name: string, text: string): string =>
  `<context name="${name}">\n${text}\n</context>`

/** The text of an answer, its blocks together. */
export const textOf = ({ content }: ModelAnswer): string =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')

export function callsOf({ content }: ModelAnswer): Call[] {
  return content.flatMap((block) =>
    block.type === 'tool_use' ? [{ name: block.name, input: { ...Object(block.input) } }] : [],
  )
}

export function requestOf(messages: Message[], tools: readonly string[] = ALL_TOOLS): MessagesRequest {
  return {
    model: 'loci-offline',
    max_tokens: 1000,
    stream: true,
    tools: tools.map((name) => ({ name, input_schema: { type: 'object' as const } })),
    messages,
  }
}

/** The first answer to a prompt, with context before it. */
export function firstAnswer(
  prompt: string,
  contexts: readonly string[] = [],
  tools = ALL_TOOLS,
): ModelAnswer {
  const texts = [...contexts, prompt].map((text) => ({ type: 'text' as const, text }))
  return answerOffline(requestOf([{ role: 'user', content: texts }], tools))
}

/** A conversation that goes on from prompt to prompt. */
export class Dialogue {
  readonly messages: Message[] = []
  readonly calls: Call[] = []
  readonly #tools: Tools
  readonly #offered: readonly string[]
  #contexts: string[]

  constructor(tools: Tools, options: { contexts?: string[]; offered?: readonly string[] } = {}) {
    this.#tools = tools
    this.#contexts = options.contexts ?? []
    this.#offered = options.offered ?? ALL_TOOLS
  }

  /** One turn, the calls answered by the tools; resolves to the closing text. Fails after 12 answers. */
  say(prompt: string): string {
    const texts = [...this.#contexts, prompt].map((text) => ({ type: 'text' as const, text }))
    this.#contexts = []
    this.messages.push({ role: 'user', content: texts })
    for (let answers = 0; answers < 12; answers += 1) {
      const answer = answerOffline(requestOf(this.messages, this.#offered))
      const [call, ...more] = callsOf(answer)
      if (more.length > 0) throw new Error('more than one call in one message')
      if (call === undefined) {
        this.messages.push({ role: 'assistant', content: textOf(answer) })
        return textOf(answer)
      }
      this.#take(answer, call)
    }
    throw new Error('no end after 12 answers')
  }

  #take(answer: ModelAnswer, call: Call): void {
    this.calls.push(call)
    const id = `toolu_${this.calls.length}`
    const said = textOf(answer)
    const result = this.#tools(call)
    this.messages.push(
      {
        role: 'assistant',
        content: [
          ...(said === '' ? [] : [{ type: 'text' as const, text: said }]),
          { type: 'tool_use', id, name: call.name, input: call.input },
        ],
      },
      {
        role: 'user',
        content: [
          typeof result === 'string'
            ? { type: 'tool_result', tool_use_id: id, content: result }
            : {
                type: 'tool_result',
                tool_use_id: id,
                content: [{ type: 'text', text: result.error }],
                is_error: true,
              },
        ],
      },
    )
  }
}

/** Tools over files in memory, with the words of the real ones. */
export function fileTools(files: Map<string, string>): Tools {
  return ({ name, input }) => {
    const path = String(input['file_path'])
    const text = files.get(path)
    if (name === 'Write') {
      files.set(path, String(input['content']))
      return text === undefined ? `Created ${path}.` : `Replaced ${path}.`
    }
    if (name === 'Read') {
      if (text === undefined) return { error: `Read failed: ${path} does not exist` }
      return text === '' ? '(the file is empty)' : text
    }
    if (name === 'Edit') {
      const [old, now] = [String(input['old_string']), String(input['new_string'])]
      const parts = (text ?? '').split(old)
      if (parts.length === 1)
        return { error: `${path} does not hold that text; read it again. Nothing was changed.` }
      if (parts.length > 2 && input['replace_all'] !== true)
        return { error: `${path} holds that text ${parts.length - 1} times. Nothing was changed.` }
      files.set(path, parts.join(now))
      return `Changed ${path} in ${parts.length - 1} places.`
    }
    if (name === 'Bash') {
      const removed = /^rm -- '(?<path>.*)'$/u.exec(String(input['command']))?.groups?.['path']
      if (removed === undefined) return '(no output)'
      return files.delete(removed)
        ? '(no output)'
        : { error: `rm: cannot remove '${removed}': No such file or directory\n[exit code 1]` }
    }
    return name === 'SearchMemory' ? 'No memory fits.' : 'Saved note.md in the memory of this project.'
  }
}
