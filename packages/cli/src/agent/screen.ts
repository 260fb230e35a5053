import { cutText } from '../cut-text.ts'
import { oneLine, printable } from '../printable.ts'
import type { AgentEvent } from './agent-event.ts'
import type { Approve } from './answer-calls.ts'
import type { LineInput } from './line-input.ts'
import type { TurnResult } from './turn.ts'

/** What an interactive session shows, and asks, in plain lines. */
export class Screen {
  readonly #print: (text: string) => void
  readonly #warn: (text: string) => void
  /** Whether what was printed last ended its line. */
  #atLineStart = true
  /** What a command prints: the line that has no end yet, and how many were shown. */
  #output = { rest: '', shown: 0 }

  constructor(streams: { print: (text: string) => void; warn: (text: string) => void }) {
    this.#print = streams.print
    this.#warn = streams.warn
  }

  say(line: string): void {
    this.#endLine()
    this.#print(`${printable(line)}\n`)
  }

  /** Lines that belong to what was said last. */
  list(lines: readonly string[]): void {
    for (const line of lines) this.say(`  ${oneLine(line)}`)
  }

  /** On standard error. */
  complain(line: string): void {
    this.#endLine()
    this.#warn(`${printable(line)}\n`)
  }

  /** What happens in a turn. */
  show(event: AgentEvent): void {
    if (event.type === 'text') {
      this.#print(printable(event.delta))
      this.#atLineStart = event.delta.endsWith('\n')
    } else if (event.type === 'tool') this.say(`· ${event.name} ${oneLine(event.summary)}`)
    else if (event.type === 'tool-output') this.#showOutput(event.text)
    else if (event.type === 'tool-result') {
      this.#showOutput('\n')
      this.#output = { rest: '', shown: 0 }
      if (event.isError) this.say(`  ${event.name}: ${shortly(event.text)}`)
    } else if (event.type === 'retry')
      this.say(`(${event.reason}; trying again in ${Math.ceil(event.waitMs / 1000)} s)`)
    else if (event.type === 'notice') this.say(`(${event.text})`)
  }

  /** Whole lines, up to a number of them for each command. */
  #showOutput(text: string): void {
    const output = this.#output
    if (output.shown > MAX_OUTPUT_LINES) return
    const lines = `${output.rest}${text}`.split('\n')
    output.rest = (lines.pop() ?? '').slice(-MAX_SHOWN_UNITS)
    for (const line of lines) {
      // What a line was before its last return to the left is not seen on a terminal either.
      const seen = line.replace(/\r$/, '').replace(/^.*\r/s, '')
      if (seen.trim() === '') continue
      output.shown += 1
      if (output.shown > MAX_OUTPUT_LINES) return this.say('  │ …')
      this.say(`  │ ${oneLine(seen.length > MAX_SHOWN_UNITS ? `${cutText(seen, MAX_SHOWN_UNITS)}…` : seen)}`)
    }
  }

  /** Asks until the answer is one; none at all allows nothing. */
  async ask(
    input: LineInput,
    { toolName, summary, preview, always }: Parameters<Approve>[0],
  ): ReturnType<Approve> {
    this.list(preview)
    this.#endLine()
    const rule = always === undefined ? '' : `, [a]lways allow ${shortly(always)} in this project`
    const question = `Allow ${toolName}: ${oneLine(summary)}? [y]es${rule}, [n]o: `
    for (;;) {
      const answer = (await input.ask(question))?.trim().toLowerCase()
      // Nobody ended the line of the question.
      if (answer === undefined) this.#print('\n')
      if (answer === 'y' || answer === 'yes') return 'once'
      if (always !== undefined && (answer === 'a' || answer === 'always')) return 'always'
      if (answer === undefined || answer === '' || answer === 'n' || answer === 'no') return 'no'
      this.say(`${always === undefined ? 'y' : 'y, a'} or n is an answer; Ctrl-C interrupts`)
    }
  }

  /** The shell's prompt is to begin a line. */
  leave(): void {
    this.#print('\n')
  }

  #endLine(): void {
    if (!this.#atLineStart) this.#print('\n')
    this.#atLineStart = true
  }
}

const MAX_SHOWN_UNITS = 300
const MAX_OUTPUT_LINES = 20

/** The first line of a text, and the last, which says how a command ended. Pure. */
export function shortly(text: string): string {
  const all = text.split('\n').filter((line) => line.trim() !== '')
  const [first = ''] = all
  const short = oneLine(all.length > 1 ? `${first} … ${all.at(-1)}` : first)
  return short.length > MAX_SHOWN_UNITS ? `${cutText(short, MAX_SHOWN_UNITS)}…` : short
}

/** What a turn took, in a line. Pure. */
export function usageLine({ numTurns, usage }: TurnResult): string {
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens, costUsd } = usage
  const sent = inputTokens + cacheReadInputTokens + cacheCreationInputTokens
  const cost = costUsd === null ? ', cost unknown' : costUsd === 0 ? '' : `, $${costUsd.toFixed(4)}`
  const requests = `${numTurns} ${numTurns === 1 ? 'request' : 'requests'}`
  return `${requests}, ${sent} tokens sent (${cacheReadInputTokens} cached), ${outputTokens} received${cost}`
}
