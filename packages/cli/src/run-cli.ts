import { isAbsolute, join, resolve } from 'node:path'
import type { ConversationWorld } from './agent/run-conversation.ts'
import { files, orAbsent } from '@loci/disk'
import { UsageError, checkShape, parseInvocation } from './arguments.ts'
import type { Invocation } from './arguments.ts'
import { commands } from './commands.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { openConfigHome } from './config-home.ts'
import { helpText } from './help.ts'
import { packageVersion } from './package-version.ts'
import { printable } from './printable.ts'

/** The outside world of one run. `bin.ts` gives the process's own; a test or the demo gives another. */
export interface CliWorld extends ConversationWorld {
  argv: readonly string[]
  /** The directory to work in; a program started in one that is gone has none, and throws. */
  cwd: () => string
  /** Shows a line to a person who waits, beside the output; none where nobody does. */
  showProgress?: (line: string) => void
}

/**
 * Runs one command and resolves to its exit code: 0 ok, 1 refused or failed, 2 usage, 3 damage, conflict or
 * pending rewind found, 130 interrupted, 70 a bug. An error is one line on standard error; `--debug` adds the stack.
 */
export async function runCli(world: CliWorld): Promise<number> {
  let debug = world.argv.includes('--debug')
  try {
    const invocation = parseInvocation(world.argv)
    debug = invocation.options.debug === true
    return await runInvocation(world, invocation)
  } catch (error) {
    const { reportError } = await import('./report-error.ts')
    const report = reportError(error, 'onCommandLine')
    world.warn(`${printable(report.line)}\n`)
    if (debug && error instanceof Error) world.warn(`${error.stack}\n`)
    return report.exitCode
  }
}

async function runInvocation(world: CliWorld, invocation: Invocation): Promise<number> {
  const { words, options } = invocation
  if (options.version === true) {
    world.print(`${packageVersion()}\n`)
    return 0
  }
  const { print: isPrint, 'rewind-files': rewindId } = options
  const isTurn = isPrint === true || rewindId !== undefined
  if (options.help === true || (words[0] === 'help' && !isTurn)) {
    const about = words[0] === 'help' ? words.slice(1) : words
    if (about.length > 0 && !isGroup(about[0])) throw unknownCommand(about)
    world.print(helpText(about))
    return 0
  }
  if (isTurn || isPrompt(words)) {
    const { runConversation } = await import('./agent/run-conversation.ts')
    const context = { ...(await makeContext(world, invocation, [])), version: packageVersion() }
    return runConversation(world, invocation, context)
  }
  const name = commandName(words)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw unknownCommand(words)
  checkShape(name, command, invocation)
  const run = await command.load()
  const result = await run(await makeContext(world, invocation, words.slice(name.split(' ').length)))
  if (options.json === true) world.print(jsonText(result))
  else if (result.pieces === undefined) world.print(printable(result.text))
  else for await (const piece of result.pieces) world.print(piece)
  return result.exitCode ?? 0
}

function jsonText({ value, isLines }: CommandResult): string {
  if (isLines !== true || !Array.isArray(value)) return `${JSON.stringify(value, null, 2)}\n`
  return value.map((item: unknown) => `${JSON.stringify(item)}\n`).join('')
}

/** No words, or one that begins no command. */
function isPrompt(words: readonly string[]): boolean {
  return words.length === 0 || (words.length === 1 && !isGroup(words[0]))
}

function commandName(words: readonly string[]): string {
  const one = words[0] ?? ''
  return Object.hasOwn(commands, one) ? one : words.slice(0, 2).join(' ')
}

/** Whether some command begins with that word. */
function isGroup(word: string | undefined): boolean {
  return Object.keys(commands).some((name) => name.split(' ', 1)[0] === word)
}

function unknownCommand(words: readonly string[]): UsageError {
  const [group] = words
  if (words.length > 1 || !isGroup(group)) {
    const name = JSON.stringify(words.slice(0, 2).join(' '))
    const hint = isGroup(group) || words.length === 1 ? '' : '; a prompt is one word: put it in quotes'
    return new UsageError(`there is no command ${name}${hint}`)
  }
  const names = Object.keys(commands).filter((name) => name.startsWith(`${group} `))
  return new UsageError(`${group} needs one of ${names.map((name) => name.split(' ')[1]).join(', ')}`)
}

async function makeContext(
  world: CliWorld,
  { options }: Invocation,
  parameters: readonly string[],
): Promise<CommandContext> {
  const { HOME: userHome, LOCI_CONFIG_DIR: configured } = world.env
  const dir = options['config-dir'] ?? configured ?? (userHome ? join(userHome, '.loci') : '')
  if (dir === '')
    throw new UsageError('there is no config home; give --config-dir or LOCI_CONFIG_DIR a directory')
  // An absolute --cwd does without the directory we were started in, which may be gone.
  const cwd = isAbsolute(options.cwd ?? '')
    ? (options.cwd ?? '')
    : resolve(startDirectory(world), options.cwd ?? '.')
  if (options.cwd !== undefined && (await orAbsent(files.stat(cwd)))?.isDirectory() !== true)
    throw new UsageError(`--cwd ${JSON.stringify(options.cwd)} is no directory`)
  return {
    home: await openConfigHome({
      dir: isAbsolute(dir) ? dir : resolve(startDirectory(world), dir),
      write: options.write === true,
    }),
    cwd,
    env: world.env,
    options,
    parameters,
    readInput: world.readInput,
    showProgress: (line) => world.showProgress?.(printable(line)),
    say: (line) => (options.json === true ? undefined : world.print(`${printable(line)}\n`)),
  }
}

function startDirectory(world: CliWorld): string {
  try {
    return world.cwd()
  } catch {
    throw new UsageError('the current directory is gone; give --cwd and --config-dir absolute directories')
  }
}
