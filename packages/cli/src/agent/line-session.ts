import { selectTasks, subscribeTo } from '@loci/app-state'
import { orAbsent } from '@loci/disk'
import type { Entry } from '@loci/session-jsonl'
import { textOf } from '../message-content.ts'
import { withSession } from '../compose.ts'
import type { ConfigHome } from '../config-home.ts'
import type { SessionPlace } from '../find-session.ts'
import { reportError } from '../report-error.ts'
import { isPrompt } from '../rewind-door.ts'
import { chooseStart, lookAtPlace } from './choose-start.ts'
import type { LineInput } from './line-input.ts'
import { Screen, shortly, usageLine } from './screen.ts'
import { runSlash } from './slash-commands.ts'
import type { LineSession } from './slash-commands.ts'
import { chooseModel, choosePermissionMode, startAgent } from './start-agent.ts'
import type { ConversationContext } from './start-agent.ts'
import type { Agent } from './open-agent.ts'
import { workingDirectory } from './start-session.ts'
import type { Start } from './start-session.ts'
import { todoLines } from './tools/todo-write.ts'

/**
 * The interactive session, a line at a time: a prompt is answered, a line that begins with `/` is a command. Resolves
 * to the exit code at the end of input: 0; 130 after Ctrl-C where nothing was going on; where no person was there to see
 * that a line failed, the greatest that one of them would have had by itself.
 */
export async function runLines(
  context: ConversationContext,
  firstPrompt: string | undefined,
  input: LineInput,
): Promise<number> {
  const start = await chooseStart(context)
  const session = new Lines(context, start, input)
  try {
    return await session.run(firstPrompt)
  } finally {
    await session.close()
  }
}

class Lines implements LineSession {
  readonly context: ConversationContext
  readonly #input: LineInput
  readonly #model: ReturnType<typeof chooseModel>
  #home: ConfigHome
  #start: Start
  #opened: { agent: Agent; place: SessionPlace } | undefined
  readonly #screen: Screen
  readonly #told = new Set<string>()

  constructor(context: ConversationContext, start: Start, input: LineInput) {
    this.context = context
    this.#home = context.home
    this.#start = start
    this.#input = input
    this.#screen = new Screen(context)
    this.#model = chooseModel(context)
    // Wrong words are said before the first line is read.
    choosePermissionMode(context)
  }

  get home(): ConfigHome {
    return this.#home
  }

  async run(firstPrompt: string | undefined): Promise<number> {
    const { version, cwd, signal } = this.context
    const { root, notice } = await this.#where()
    this.say(`loci ${version} in ${root ?? cwd}; /help lists the commands`)
    this.say(this.#modelLine())
    if (notice !== undefined) this.#tell(notice)
    await this.#look()
    if (this.#isReadOnly())
      this.say(
        `${this.#home.dir} was not made by Loci and is only read: --write, or another --config-dir, lets you talk here`,
      )
    let exitCode = 0
    let line = firstPrompt ?? (await this.#readLine())
    while (line !== null) {
      const text = line.trim()
      if (text === '/exit' || text === '/quit') break
      if (text !== '') exitCode = Math.max(exitCode, await this.#handle(text))
      if (signal.aborted) return 130
      line = await this.#readLine()
    }
    if (line === null && this.#input.isInteractive) this.#screen.leave()
    if (this.#input.wasInterrupted || signal.aborted) return 130
    return this.#input.isInteractive ? 0 : exitCode
  }

  /** The next line; `null` at the end, or when the run is interrupted meanwhile. */
  async #readLine(): Promise<string | null> {
    const { signal } = this.context
    const listening = new AbortController()
    const interrupted = new Promise<null>((resolve) => {
      signal.addEventListener('abort', () => resolve(null), { signal: listening.signal })
    })
    try {
      return await Promise.race([this.#input.readLine('> '), interrupted])
    } finally {
      listening.abort()
    }
  }

  say(line: string): void {
    this.#screen.say(line)
  }

  async chain(): Promise<Entry[]> {
    if (this.#opened) return this.#opened.agent.session.chain()
    if (this.#start.kind === 'new') return []
    return withSession(this.#start.place, 'read', (session) => session.chain())
  }

  async agent(): Promise<Agent> {
    return (await this.#open()).agent
  }

  async place(): Promise<SessionPlace> {
    return (await this.#open()).place
  }

  async goTo(start: Start): Promise<void> {
    await this.close()
    this.#start = start
    this.#told.clear()
    const { notice } = await this.#where()
    if (notice !== undefined) this.#tell(notice)
    await this.#look()
  }

  async close(): Promise<void> {
    const opened = this.#opened
    this.#opened = undefined
    await opened?.agent.close()
  }

  async #open(): Promise<{ agent: Agent; place: SessionPlace }> {
    if (this.#opened) return this.#opened
    const { agent, home, place, notices } = await startAgent(
      { ...this.context, home: this.#home },
      this.#start,
      {
        model: this.#model,
        permissionMode: choosePermissionMode(this.context),
        approve: this.#input.isInteractive ? (request) => this.#screen.ask(this.#input, request) : undefined,
        emit: (event) => this.#screen.show(event),
      },
    )
    this.#opened = { agent, place }
    this.#home = home
    subscribeTo(
      agent.state,
      (state) => todoLines(selectTasks(state)),
      (lines) => this.#screen.list(lines),
      isSameList,
    )
    for (const notice of notices) this.#tell(notice)
    return this.#opened
  }

  /** Says what to know about the session, once. */
  #tell(notice: string): void {
    if (!this.#told.has(notice)) this.say(notice)
    this.#told.add(notice)
  }

  /** Where the session will work; nothing that is known of a new one, or where no directory is there. */
  async #where(): Promise<{ root?: string; notice?: string | undefined }> {
    if (this.#start.kind === 'new') return {}
    return (await orAbsent(workingDirectory(this.#start.place, this.context.cwd))) ?? {}
  }

  /** Whether a new conversation could not be written. */
  #isReadOnly(): boolean {
    return this.#start.kind === 'new' && this.#home.kind === 'foreign' && this.context.options.write !== true
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
    const chain = await this.chain()
    const prompt = chain.findLast(isPrompt)
    if (prompt) this.say(`> ${shortly(textOf(prompt))}`)
    const answer = chain.findLast((entry) => entry.type === 'assistant' && textOf(entry) !== '')
    if (answer && prompt && chain.indexOf(answer) > chain.indexOf(prompt)) this.say(shortly(textOf(answer)))
    for (const notice of await lookAtPlace(this.#home, place)) this.say(notice)
  }

  /** Its exit code, if it were alone. An error ends the line, not the session. */
  async #handle(text: string): Promise<number> {
    try {
      // A path that begins a line is none of our commands.
      if (/^\/[a-z-]*(\s|$)/.test(text)) {
        await runSlash(this, text)
        return 0
      }
      return await this.#prompt(text)
    } catch (error) {
      const report = reportError(error, 'inSession')
      // A bug of ours is not to be lost in a conversation.
      if (report.exitCode === 70) throw error
      this.#complain(report.line, error)
      return report.exitCode
    }
  }

  #complain(line: string, error: unknown): void {
    this.#screen.complain(line)
    if (this.context.options.debug === true && error instanceof Error) this.context.warn(`${error.stack}\n`)
  }

  async #prompt(text: string): Promise<number> {
    const agent = await this.agent()
    const result = await this.interruptibly((signal) => agent.prompt(text, signal))
    const { error } = result
    const report = error && reportError(error, 'inSession')
    if (error?.code === 'TURN_INTERRUPTED') this.say('Interrupted.')
    else if (report) this.#complain(report.line, error)
    this.say(`· ${usageLine(result)}`)
    return report?.exitCode ?? 0
  }

  async interruptibly<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController()
    const stopListening = this.#input.onInterrupt(() => abort.abort())
    try {
      return await work(AbortSignal.any([abort.signal, this.context.signal]))
    } finally {
      stopListening()
    }
  }
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index])
}
