import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { createRequire } from 'node:module'
import { UsageError, checkShape, parseInvocation } from './arguments.ts'
import type { Invocation } from './arguments.ts'
import { commands } from './commands.ts'
import type { CommandContext } from './commands.ts'
import { openConfigHome } from './config-home.ts'
import { helpText } from './help.ts'

/** The outside world of one run. `bin.ts` gives the process's own; a test or the demo gives another. */
export interface CliWorld {
  argv: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  readInput: () => Promise<string>
  /** Writes to standard output. */
  print: (text: string) => void
  /** Writes to standard error. */
  warn: (text: string) => void
}

/**
 * Runs one command and resolves to its exit code: 0 ok, 1 refused or failed, 2 usage, 3 damage, conflict or
 * pending rewind found, 70 a bug. An error is one line on standard error; `--debug` adds the stack.
 */
export async function runCli(world: CliWorld): Promise<number> {
  let debug = world.argv.includes('--debug')
  try {
    const invocation = parseInvocation(world.argv)
    debug = invocation.options.debug === true
    return await runInvocation(world, invocation)
  } catch (error) {
    const { reportError } = await import('./report-error.ts')
    const report = reportError(error)
    world.warn(`${report.line}\n`)
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
  if (options.help === true || words.length === 0 || words[0] === 'help') {
    world.print(helpText(words[0] === 'help' ? words.slice(1) : words))
    return 0
  }
  const name = commandName(words)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined)
    throw new UsageError(`there is no command ${JSON.stringify(words.slice(0, 2).join(' '))}`)
  checkShape(name, command, invocation)
  const run = await command.load()
  const result = await run(await makeContext(world, invocation, words.slice(name.split(' ').length)))
  world.print(options.json === true ? `${JSON.stringify(result.value, null, 2)}\n` : result.text)
  return result.exitCode ?? 0
}

function commandName(words: readonly string[]): string {
  const one = words[0] ?? ''
  return Object.hasOwn(commands, one) ? one : words.slice(0, 2).join(' ')
}

async function makeContext(
  world: CliWorld,
  { options }: Invocation,
  parameters: readonly string[],
): Promise<CommandContext> {
  const dir =
    options['config-dir'] ?? world.env['LOCI_CONFIG_DIR'] ?? join(world.env['HOME'] ?? homedir(), '.loci')
  if (dir === '')
    throw new UsageError('the config home is empty; give --config-dir or LOCI_CONFIG_DIR a directory')
  return {
    home: await openConfigHome({ dir: resolve(world.cwd, dir), write: options.write === true }),
    cwd: resolve(world.cwd, options.cwd ?? '.'),
    env: world.env,
    options,
    parameters,
    readInput: world.readInput,
    say: (line) => (options.json === true ? undefined : world.print(`${line}\n`)),
  }
}

function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json')
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : ''
}
