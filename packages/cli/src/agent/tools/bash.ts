import { errorMessage, isLociError } from '@loci/disk'
import { z } from 'zod'
import { cutText } from '../../cut-text.ts'
import { nameOf } from './file-target.ts'
import { runShell } from './run-shell.ts'
import type { ShellResult } from './run-shell.ts'
import { defineTool, done, failed, systemText, wholeText } from './tool.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

export const bashTool: Tool = defineTool({
  name: 'Bash',
  description:
    'Runs a command with bash in the project directory, without standard input. Returns what it printed, errors in between, or "(no output)"; then lines in [brackets]: its exit code if that is not 0, whether it was ended, whether something goes on running, and what it changed that undo does not cover. With run_in_background it returns at once, with an id for BashOutput and KillShell; what runs in the background is ended at the end of the session.',
  schema: z.strictObject({
    command: systemText().describe('The command'),
    timeout: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .describe(`When it is ended, in milliseconds; default ${DEFAULT_TIMEOUT_MS}, in the background never`),
    description: wholeText().max(500).optional().describe('What it does, in a few words, for the user'),
    run_in_background: z.boolean().optional().describe('Go on without waiting for its end'),
  }),
  async plan({ command, timeout, description, run_in_background = false }, context, call) {
    return {
      access: { kind: 'command', command },
      summary: run_in_background ? `${command} (in the background)` : command,
      ...(description === undefined ? {} : { preview: [description] }),
      async run() {
        if (run_in_background) return runInBackground(command, timeout, context, call)
        const timeoutMs = timeout ?? DEFAULT_TIMEOUT_MS
        const { root: cwd, groups } = context
        const { signal } = call
        const onOutput = shownOutput(call)
        const options = { command, cwd, env: withoutKeys(context.env), timeoutMs, signal, groups, onOutput }
        const covered = await covering(() => runShell(options), context, call)
        if (typeof covered.result === 'string')
          return failed(`The command could not be started in ${context.root}: ${covered.result}`)
        const { result, changed, untracked, problem } = covered
        const names = untracked.map((path) => nameOf(context.root, path))
        return {
          text: [
            outputOf(result),
            ...endOf(result, timeoutMs),
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

interface CoveredRun<Result> {
  /** A string: why it was not started. */
  result: Result | string
  changed: string[]
  untracked: string[]
  /** Why what it changed could not be recorded. */
  problem?: string
}

/** Runs a command between two looks at the tree. */
async function covering<Result>(
  run: () => Promise<Result | string>,
  { history }: ToolContext,
  { messageId }: ToolCall,
): Promise<CoveredRun<Result>> {
  let ran: Result | string | undefined
  const noted = async (): Promise<Result | string> => {
    ran = await run()
    return ran
  }
  try {
    return history
      ? await history.trackCommand(messageId, noted)
      : { result: await noted(), changed: [], untracked: [] }
  } catch (error) {
    // What it printed is worth knowing, and that it ran all the more.
    if (ran === undefined || !isLociError(error)) throw error
    return { result: ran, changed: [], untracked: [], problem: errorMessage(error) }
  }
}

/** What it changes before it is let go is covered, and the state before it. */
async function runInBackground(
  command: string,
  timeoutMs: number | undefined,
  context: ToolContext,
  call: ToolCall,
): Promise<ToolResult> {
  const { root: cwd, env, groups, shells } = context
  const options = { command, cwd, env: withoutKeys(env), timeoutMs, groups }
  const { result, problem } = await covering(() => shells.start(options), context, call)
  if (typeof result === 'string') return failed(`The command could not be started in ${cwd}: ${result}`)
  const { id } = result
  const notes = [
    '[undo does not cover what it changes from now on]',
    ...(problem === undefined ? [] : [`[what it changed until now was not recorded: ${problem}]`]),
  ]
  return done([`Running in the background as ${id}.`, ...notes].join('\n'), { backgroundTaskId: id })
}

/** Characters of a command's output that are shown while it runs. */
const MAX_SHOWN_UNITS = 1 << 20

function shownOutput({ onOutput }: ToolCall): (text: string) => void {
  let left = MAX_SHOWN_UNITS
  return (text) => {
    if (left <= 0) return
    const shown = cutText(text, left)
    left -= text.length
    onOutput?.(shown)
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
