import { errorMessage, isLociError } from '@loci/disk'
import { z } from 'zod'
import { nameOf } from './file-target.ts'
import { runShell } from './run-shell.ts'
import type { ShellResult } from './run-shell.ts'
import { defineTool, failed, systemText } from './tool.ts'
import type { Tool, ToolCall, ToolContext } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

export const bashTool: Tool = defineTool({
  name: 'Bash',
  description:
    'Runs a command with bash in the project directory, without standard input. Returns what it printed, errors in between, or "(no output)"; then lines in [brackets]: its exit code if that is not 0, whether it was ended, whether something goes on running, and what it changed that undo does not cover.',
  schema: z.strictObject({
    command: systemText().describe('The command'),
    timeout_ms: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .describe(`When it is ended, in milliseconds; default ${DEFAULT_TIMEOUT_MS}`),
  }),
  async plan({ command, timeout_ms = DEFAULT_TIMEOUT_MS }, context, call) {
    return {
      access: { kind: 'command', command },
      summary: command,
      async run() {
        const covered = await runCovered(command, timeout_ms, context, call)
        if (typeof covered.result === 'string')
          return failed(`The command could not be started in ${context.root}: ${covered.result}`)
        const { result, changed, untracked, problem } = covered
        const names = untracked.map((path) => nameOf(context.root, path))
        return {
          text: [
            outputOf(result),
            ...endOf(result, timeout_ms),
            ...leftRunning(result),
            ...notCovered(names),
            ...(problem === undefined
              ? []
              : [
                  `[it ran, but what it changed was not recorded, so that undo does not cover it: ${problem}]`,
                ]),
          ].join('\n'),
          isError: result.exitCode !== 0 || result.ended !== null || problem !== undefined,
          details: {
            stdout: result.output,
            stderr: '',
            interrupted: result.ended === 'interrupted',
            exitCode: result.exitCode,
            changed,
            untracked,
          },
        }
      },
    }
  },
})

interface CoveredRun {
  /** A string: why it was not started. */
  result: ShellResult | string
  changed: string[]
  untracked: string[]
  /** Why what it changed could not be recorded. */
  problem?: string
}

async function runCovered(
  command: string,
  timeoutMs: number,
  { root, env, history, groups }: ToolContext,
  { messageId, signal }: ToolCall,
): Promise<CoveredRun> {
  let ran: ShellResult | string | undefined
  const run = async (): Promise<ShellResult | string> => {
    ran = await runShell({ command, cwd: root, env: withoutKeys(env), timeoutMs, signal, groups })
    return ran
  }
  try {
    return history
      ? await history.trackCommand(messageId, run)
      : { result: await run(), changed: [], untracked: [] }
  } catch (error) {
    // What it printed is worth knowing, and that it ran all the more.
    if (ran === undefined || !isLociError(error)) throw error
    return { result: ran, changed: [], untracked: [], problem: errorMessage(error) }
  }
}

/** What pays for the model, and lets into the team's memory, is no business of the commands that it writes. */
function withoutKeys(env: ToolContext['env']): ToolContext['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !KEYS.test(name)))
}

const KEYS = /^(ANTHROPIC|CLAUDE|LOCI)_.*(KEY|TOKEN|SECRET|HEADERS)$/

function outputOf({ output, droppedBytes }: ShellResult): string {
  const dropped = droppedBytes > 0 ? `\n[${droppedBytes} further bytes of output were not kept]` : ''
  const text = output.replace(/\n$/, '')
  return `${text.trim() === '' ? '(no output)' : text}${dropped}`
}

function endOf({ exitCode, killedBy, ended }: ShellResult, timeoutMs: number): string[] {
  if (ended === 'timeout') return [`[ended after ${timeoutMs} ms]`]
  if (ended === 'interrupted') return ['[interrupted by the user]']
  return exitCode === 0 ? [] : [`[exit code ${exitCode ?? `none: ended by ${killedBy}`}]`]
}

function leftRunning({ isLeftRunning }: ShellResult): string[] {
  return isLeftRunning
    ? ['[something that it started goes on running; undo does not cover what that changes from now on]']
    : []
}

/** Nothing that undo cannot bring back is passed over in silence. */
function notCovered(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const shown = names.slice(0, 20).join(', ')
  const more = names.length > 20 ? ` and ${names.length - 20} more` : ''
  return [`[changed, and not covered by undo: ${shown}${more}]`]
}
