import { parseArgs } from 'node:util'

/** Words that cannot be understood as a command. Exit code 2. */
export class UsageError extends Error {}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  json: { type: 'boolean' },
  dir: { type: 'string' },
  root: { type: 'string' },
  'rewind-on-fail': { type: 'boolean' },
  'exit-code': { type: 'boolean' },
  'on-conflict': { type: 'string' },
  'dry-run': { type: 'boolean' },
  'max-files': { type: 'string' },
  'max-bytes': { type: 'string' },
  list: { type: 'boolean' },
} as const

type OptionName = keyof typeof OPTIONS
type Options = {
  [Name in OptionName]?: (typeof OPTIONS)[Name]['type'] extends 'boolean' ? boolean : string
}

/** Options that every command takes. */
const EVERYWHERE: readonly OptionName[] = ['help', 'version', 'json', 'dir', 'root']

/** What was typed. */
export interface Invocation {
  /** The words before `--`: the name of the command, then what it is about. */
  words: readonly string[]
  /** The words after `--`; absent without one. */
  rest?: readonly string[]
  options: Options
}

/** @throws {UsageError} for an option that does not exist, lacks its value or has an empty one */
export function parseInvocation(argv: readonly string[]): Invocation {
  const end = argv.indexOf('--')
  const args = end < 0 ? argv : argv.slice(0, end)
  const parsed = parseWords(args, end < 0 && args.includes('run'))
  for (const [name, value] of Object.entries(parsed.options)) {
    // What a shell makes of a variable that is not set would mean the current directory.
    if (value === '') throw new UsageError(`--${name} needs a value that is not empty`)
  }
  return end < 0 ? parsed : { ...parsed, rest: argv.slice(end + 1) }
}

function parseWords(args: readonly string[], isRun: boolean): Invocation {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
    return { words: positionals, options: values }
  } catch (error) {
    const advice = isRun ? '; what is to be run goes after --' : ''
    throw new UsageError(`${firstSentence(error)}${advice}`)
  }
}

/** What a command accepts beside the options that all take. */
export interface CommandShape {
  options: readonly OptionName[]
  /** Names of the words after its own: `ID`; `[ID]` if it may be left out; `[PATH…]` for any number. */
  parameters: readonly string[]
}

/**
 * The words of a command after its name. What is after `--` counts as words too, so that a name may begin with `-`.
 *
 * @throws {UsageError} when one is missing or too many, or an option is not one of the command's
 */
export function checkShape(name: string, shape: CommandShape, invocation: Invocation): string[] {
  for (const option of Object.keys(invocation.options)) {
    const isKnown = [...EVERYWHERE, ...shape.options].some((known) => known === option)
    if (!isKnown) throw new UsageError(`${name} has no option --${option}`)
  }
  const given = [...invocation.words.slice(1), ...(invocation.rest ?? [])]
  const required = shape.parameters.filter((parameter) => !parameter.startsWith('['))
  if (given.length < required.length) throw new UsageError(`${name} needs ${required[given.length]}`)
  const isOpen = shape.parameters.at(-1)?.endsWith('…]') === true
  if (!isOpen && given.length > shape.parameters.length) {
    throw new UsageError(`${name} takes no further word: ${JSON.stringify(given.at(-1))}`)
  }
  return given
}

/** One of several words; the first if there is none. @throws {UsageError} when it is none of them */
export function parseChoice<Choice extends string>(
  what: string,
  text: string | undefined,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  if (text === undefined) return choices[0]
  const choice = choices.find((one) => one === text)
  if (choice === undefined)
    throw new UsageError(`${what} takes ${choices.join(', ')}, not ${JSON.stringify(text)}`)
  return choice
}

/** A whole number from 1; absent without a text. @throws {UsageError} when it is none */
export function parseCount(what: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const count = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(count))
    throw new UsageError(`${what} takes a whole number from 1, not ${JSON.stringify(text)}`)
  return count
}

function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.split(/\.(?: |\n|$)|\n/, 1)[0] ?? message
}
