import { parseArgs } from 'node:util'

/** Words that cannot be understood as a command. Exit code 2. */
export class UsageError extends Error {}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  json: { type: 'boolean' },
  debug: { type: 'boolean' },
  write: { type: 'boolean' },
  bare: { type: 'boolean' },
  'config-dir': { type: 'string' },
  cwd: { type: 'string' },
  all: { type: 'boolean' },
  archived: { type: 'boolean' },
  limit: { type: 'string' },
  'up-to': { type: 'string' },
  title: { type: 'string' },
  format: { type: 'string' },
  redact: { type: 'boolean' },
  session: { type: 'string' },
  'dry-run': { type: 'boolean' },
  'on-conflict': { type: 'string' },
  scope: { type: 'string' },
  print: { type: 'boolean', short: 'p' },
  continue: { type: 'boolean', short: 'c' },
  resume: { type: 'string', short: 'r' },
  'fork-session': { type: 'boolean' },
  'session-id': { type: 'string' },
  'rewind-files': { type: 'string' },
  model: { type: 'string' },
  offline: { type: 'boolean' },
  'permission-mode': { type: 'string' },
  'output-format': { type: 'string' },
} as const

export type OptionName = keyof typeof OPTIONS
export type Options = {
  [Name in OptionName]?: (typeof OPTIONS)[Name]['type'] extends 'boolean' ? boolean : string
}

/** Options that every command takes, before or after its words. */
const GLOBAL_OPTIONS: readonly OptionName[] = [
  'help',
  'version',
  'json',
  'debug',
  'write',
  'bare',
  'config-dir',
  'cwd',
]

/** What was typed: words in order, options by name. */
export interface Invocation {
  words: readonly string[]
  options: Options
}

/** @throws {UsageError} for an option that does not exist, lacks its value or is given twice with different ones */
export function parseInvocation(argv: readonly string[]): Invocation {
  try {
    const args = withResumeValue(argv)
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true })
    return { words: positionals, options: values }
  } catch (error) {
    throw new UsageError(firstSentence(error))
  }
}

/** `--resume` may stand alone: it means the newest session then, as an empty value. */
function withResumeValue(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, index) => {
    if (index >= end || (word !== '--resume' && word !== '-r')) return word
    const next = index + 1 < end ? argv[index + 1] : undefined
    return next === undefined || next.startsWith('-') ? '--resume=' : word
  })
}

/** What a command accepts beyond the global options. */
export interface CommandShape {
  options: readonly OptionName[]
  /** Names of the words after the command's own, as the help shows them: `ID`, or `[ID]` if it may be left out. */
  parameters: readonly string[]
}

/** @throws {UsageError} when a word is missing or one too many, or an option is not one of the command's */
export function checkShape(name: string, shape: CommandShape, invocation: Invocation): void {
  const given = invocation.words.length - name.split(' ').length
  const required = shape.parameters.filter((parameter) => !parameter.startsWith('['))
  if (given < required.length) throw new UsageError(`${name} needs ${required.slice(given).join(' and ')}`)
  if (given > shape.parameters.length) {
    throw new UsageError(
      `${name} takes no further word: ${JSON.stringify(invocation.words.at(-1))}; quote words that belong together`,
    )
  }
  checkOptions(name, shape.options, invocation)
}

/** @throws {UsageError} when an option is neither global nor one of these */
export function checkOptions(name: string, options: readonly OptionName[], invocation: Invocation): void {
  const allowed = new Set<string>([...GLOBAL_OPTIONS, ...options])
  for (const option of Object.keys(invocation.options)) {
    if (!allowed.has(option)) throw new UsageError(`${name} has no option --${option}`)
  }
}

/** A count from the command line. @throws {UsageError} when it is no whole number from 1 */
export function parseCount(option: OptionName, text: string): number {
  const count = Number(text)
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new UsageError(`--${option} takes a whole number from 1, not ${JSON.stringify(text)}`)
  }
  return count
}

/** One of several words. @throws {UsageError} when it is none of them */
export function parseChoice<Choice extends string>(
  option: OptionName,
  text: string | undefined,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  if (text === undefined) return choices[0]
  const choice = choices.find((one) => one === text)
  if (choice === undefined)
    throw new UsageError(`--${option} takes ${choices.join(', ')}, not ${JSON.stringify(text)}`)
  return choice
}

function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split(/\.(?: |\n|$)|\n/, 1)[0] ?? message
}
