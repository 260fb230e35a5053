import { UsageError } from '../arguments.ts'
import { oneLine, printable } from '../printable.ts'
import { reportError } from '../report-error.ts'
import type { AgentEvent } from './agent-event.ts'
import type { Approve } from './answer-calls.ts'
import { chooseStart, lookAtPlace } from './choose-start.ts'
import type { LineInput } from './line-input.ts'
import { runSlash } from './slash-commands.ts'
import { chooseModel, choosePermissionMode, startAgent } from './start-agent.ts'
import type { ConversationContext } from './start-agent.ts'
import type { Agent } from './open-agent.ts'
import type { Start } from './start-session.ts'
import type { TurnResult } from './turn.ts'

/** What the commands of an interactive session work on. */
export interface LineSession {
  readonly context: ConversationContext
  /** How it begins, or goes on after `/resume` and `/branch`. */
  readonly start: Start
  say(line: string): void
  /** The agent, opened for writing with its first use: looking takes no lease and makes nothing. */
  agent(): Promise<Agent>
  /** Leaves the session it is in and goes on in another. */
  goTo(start: Start): Promise<void>
}

/**
 * The interactive session, a line at a time: a prompt is answered, a line that begins with `/` is a command. Resolves
 * to the exit code at the end of input: 0; 1 when no person was there to see that a line failed; 130 after Ctrl-C where
 * nothing was going on.
 */
export async function runLines(
  context: ConversationContext,
  firstPrompt: string | undefined,
  input: LineInput,
  print: (text: string) => void,
): Promise<number> {
  const start = await chooseStart(context)
  const session = new Lines(context, start, input, print)
  try {
    return await session.run(firstPrompt)
  } finally {
    await session.close()
  }
}

class Lines implements LineSession {
  readonly context: ConversationContext
  readonly #input: LineInput
  readonly #print: (text: string) => void
  readonly #model: ReturnType<typeof chooseModel>
  #start: Start
  #agent: Agent | undefined
  /** Whether what was printed last ended its line. */
  #atLineStart = true

  constructor(context: ConversationContext, start: Start, input: LineInput, print: (text: string) => void) {
    this.context = context
    this.#start = start
    this.#input = input
    this.#print = print
    this.#model = chooseModel(context)
    // Wrong words are said before the first line is read.
    choosePermissionMode(context)
  }

  get start(): Start {
    return this.#start
  }

  async run(firstPrompt: string | undefined): Promise<number> {
    this.say(`loci ${this.context.version} in ${this.context.cwd}; /help lists the commands`)
    this.say(this.#modelLine())
    await this.#look()
    let exitCode = 0
    let line = firstPrompt ?? (await this.#input.readLine('> '))
    while (line !== null) {
      const text = line.trim()
      if (text === '/exit' || text === '/quit') break
      if (text !== '' && !(await this.#handle(text))) exitCode = 1
      line = await this.#input.readLine('> ')
    }
    if (this.#input.wasInterrupted) return 130
    return this.#input.isInteractive ? 0 : exitCode
  }

  say(line: string): void {
    this.#endLine()
    this.#print(`${printable(line)}\n`)
  }

  async agent(): Promise<Agent> {
    if (this.#agent) return this.#agent
    const { agent, notices } = await startAgent(this.context, this.#start, {
      model: this.#model,
      permissionMode: choosePermissionMode(this.context),
      approve: this.#input.isInteractive ? (request) => this.#approve(request) : undefined,
      emit: (event) => this.#show(event),
    })
    this.#agent = agent
    for (const notice of notices) this.say(notice)
    return agent
  }

  async goTo(start: Start): Promise<void> {
    await this.close()
    this.#start = start
    await this.#look()
  }

  async close(): Promise<void> {
    const agent = this.#agent
    this.#agent = undefined
    await agent?.close()
  }

  #modelLine(): string {
    const { model, isOffline } = this.#model
    return isOffline
      ? `${model} answers, the offline model: rule-based; ANTHROPIC_API_KEY brings a real one`
      : `${model} answers`
  }

  async #look(): Promise<void> {
    if (this.#start.kind !== 'resume') return
    const { place } = this.#start
    this.say(`session ${place.sessionId}`)
    for (const notice of await lookAtPlace(this.context.home, place)) this.say(notice)
  }

  /** Whether it went well. An error ends the line, not the session. */
  async #handle(text: string): Promise<boolean> {
    try {
      if (text.startsWith('/')) {
        await runSlash(this, text)
        return true
      }
      return (await this.#prompt(text)).error === undefined
    } catch (error) {
      const report = reportError(error)
      // A bug of ours is not to be lost in a conversation.
      if (report.exitCode === 70) throw error
      this.say(error instanceof UsageError ? `loci: ${oneLine(error.message)}` : report.line)
      return false
    }
  }

  async #prompt(text: string): Promise<TurnResult> {
    const agent = await this.agent()
    const abort = new AbortController()
    const stopListening = this.#input.onInterrupt(() => abort.abort())
    try {
      const result = await agent.prompt(text, abort.signal)
      this.#endLine()
      if (result.error)
        this.say(result.error.code === 'INTERRUPTED' ? 'Interrupted.' : `loci: ${result.error.message}`)
      this.say(`· ${usageLine(result)}`)
      return result
    } finally {
      stopListening()
    }
  }

  readonly #approve: Approve = async ({ toolName, summary }) => {
    this.#endLine()
    const question = `Allow ${toolName}: ${oneLine(summary)}? [y]es, [a]lways in this session, [n]o: `
    const answer = (await this.#input.ask(question))?.trim().toLowerCase() ?? ''
    if (answer === 'y' || answer === 'yes') return 'once'
    return answer === 'a' || answer === 'always' ? 'always' : 'no'
  }

  #show(event: AgentEvent): void {
    if (event.type === 'text') {
      this.#print(printable(event.delta))
      this.#atLineStart = event.delta.endsWith('\n')
    } else if (event.type === 'tool') this.say(`· ${event.name} ${oneLine(event.summary)}`)
    else if (event.type === 'tool-result' && event.isError)
      this.say(`  ${event.name}: ${shortly(event.text)}`)
    else if (event.type === 'retry')
      this.say(`(${event.reason}; trying again in ${Math.ceil(event.waitMs / 1000)} s)`)
    else if (event.type === 'notice') this.say(`(${event.text})`)
  }

  #endLine(): void {
    if (!this.#atLineStart) this.#print('\n')
    this.#atLineStart = true
  }
}

/** The first line of a text, and the last, which says how a command ended. */
function shortly(text: string): string {
  const all = text.split('\n').filter((line) => line.trim() !== '')
  const [first = ''] = all
  return oneLine(all.length > 1 ? `${first} … ${all.at(-1)}` : first)
}

function usageLine({ numTurns, usage }: TurnResult): string {
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens, costUsd } = usage
  const sent = inputTokens + cacheReadInputTokens + cacheCreationInputTokens
  const cost = costUsd === null ? 'cost unknown' : `$${costUsd.toFixed(4)}`
  const requests = `${numTurns} ${numTurns === 1 ? 'request' : 'requests'}`
  return `${requests}, ${sent} tokens sent (${cacheReadInputTokens} cached), ${outputTokens} received, ${cost}`
}
