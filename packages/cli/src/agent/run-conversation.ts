import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError, checkOptions, parseChoice } from '../arguments.ts'
import type { Invocation, OptionName } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { printable } from '../printable.ts'
import { linesOf } from './line-input.ts'
import type { LineInput } from './line-input.ts'
import type { ConversationContext } from './start-agent.ts'
import type { ProcessGroups } from './tools/run-shell.ts'

/** What a conversation needs of the outside world, beside what a command needs. */
export interface ConversationWorld {
  env: Readonly<Record<string, string | undefined>>
  /** Lines of standard input, for an interactive session; without it `readInput` gives them. */
  openLines?: () => LineInput
  /** Whether something is piped into standard input, as opposed to a person who types. Default: true. */
  isPiped?: boolean
  /** Called once by a run that ends in good order when it is interrupted; by others not at all. */
  listenForInterrupt?: () => AbortSignal
  /** The groups of processes that commands run in; default: only the first process of a command is ended. */
  groups?: ProcessGroups
  now?: () => Date
  readInput: () => Promise<string>
  print: (text: string) => void
  warn: (text: string) => void
}

const TALK: readonly OptionName[] = [
  'continue',
  'resume',
  'fork-session',
  'session-id',
  'model',
  'offline',
  'permission-mode',
]
const TURN: readonly OptionName[] = [...TALK, 'print', 'output-format']
const REWIND: readonly OptionName[] = ['rewind-files', 'resume', 'dry-run', 'on-conflict', 'output-format']

/**
 * `loci [prompt]` in its three forms: a session, one turn (`-p`), rewinding files. Resolves to the exit code.
 *
 * @throws {UsageError} for options that belong to another form
 */
export async function runConversation(
  world: ConversationWorld,
  invocation: Invocation,
  context: CommandContext & { version: string },
): Promise<number> {
  const { words, options } = invocation
  const [prompt = '', second] = words
  if (second !== undefined) throw new UsageError('a prompt is one word; put it in quotes')
  if (options['rewind-files'] !== undefined) {
    checkOptions('--rewind-files', REWIND, invocation)
    if (prompt !== '') throw new UsageError('--rewind-files takes no prompt')
    return rewindFiles(world, context, options['rewind-files'])
  }
  checkOptions(options.print === true ? '-p' : 'a session', options.print === true ? TURN : TALK, invocation)
  // What waits for input is ended by an interruption at once.
  const given = options.print === true && world.isPiped !== false ? await world.readInput() : ''
  const conversation: ConversationContext = {
    ...context,
    now: world.now ?? ((): Date => new Date()),
    wait: (ms, signal) => sleep(ms, undefined, { signal }),
    groups: world.groups,
    signal: world.listenForInterrupt?.() ?? new AbortController().signal,
    print: world.print,
    warn: world.warn,
  }
  if (options.print === true) {
    const { runPrint } = await import('./print-mode.ts')
    return runPrint(conversation, { prompt, input: given })
  }
  const { runLines } = await import('./line-session.ts')
  const input = world.openLines?.() ?? linesOf(await world.readInput())
  try {
    return await runLines(conversation, prompt === '' ? undefined : prompt, input)
  } finally {
    input.close()
  }
}

async function rewindFiles(world: ConversationWorld, context: CommandContext, id: string): Promise<number> {
  const format = parseChoice('output-format', context.options['output-format'], ['text', 'json'])
  const { rewindFilesDoor } = await import('../commands/rewind-files.ts')
  const { value, text, exitCode = 0 } = await rewindFilesDoor(context, id)
  const isJson = format === 'json' || context.options.json === true
  world.print(isJson ? `${JSON.stringify(value, null, 2)}\n` : printable(text))
  return exitCode
}
