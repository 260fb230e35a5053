import { UsageError, checkShape, parseInvocation } from './arguments.ts'
import type { CommandLineWorld } from './command-context.ts'
import { commands, helpText } from './commands.ts'
import type { Command } from './commands.ts'

/**
 * Runs one command of `file-history` and resolves to its exit code: see {@link helpText}. An error is one line on
 * standard error.
 */
export async function runCommandLine(world: CommandLineWorld): Promise<number> {
  let isRun = false
  try {
    const invocation = parseInvocation(world.argv)
    const { words, rest, options } = invocation
    if (options.version === true) {
      world.print(`${world.version()}\n`)
      return 0
    }
    const [name = ''] = words
    if (options.help === true || name === 'help') {
      world.print(helpText())
      return 0
    }
    const command = commandNamed(name)
    isRun = name === 'run'
    const parameters = isRun ? commandToRun(words, rest) : checkShape(name, command, invocation)
    if (isRun) checkShape(name, command, { words: [name], options })
    const run = await command.load()
    const context = { ...world, words: parameters, options, startDir: startDirectory(world) }
    const result = await run(context)
    if (typeof result === 'number') return result
    world.print(options.json === true ? `${JSON.stringify(result.value, null, 2)}\n` : result.text)
    return result.exitCode ?? 0
  } catch (error) {
    const { reportError } = await import('./report-error.ts')
    const { line, exitCode } = reportError(error)
    world.warn(`${line}\n`)
    return isRun && exitCode !== 2 ? 125 : exitCode
  }
}

function commandNamed(name: string): Command {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command !== undefined) return command
  const names = Object.keys(commands).join(', ')
  const problem = name === '' ? 'a command is needed' : `there is no command ${JSON.stringify(name)}`
  throw new UsageError(`${problem}; the commands are ${names}`)
}

function commandToRun(words: readonly string[], rest: readonly string[] | undefined): string[] {
  if (words.length === 1 && rest !== undefined && rest.length > 0) return [...rest]
  throw new UsageError('run needs -- and then what is to be run: file-history run -- COMMAND…')
}

function startDirectory(world: CommandLineWorld): string {
  try {
    return world.cwd()
  } catch {
    throw new UsageError('the current directory is gone; change to one that is there')
  }
}
