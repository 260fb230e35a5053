import { relative } from 'node:path'
import { z } from 'zod'
import { isInside } from './file-target.ts'
import { runShell } from './run-shell.ts'
import type { ShellResult } from './run-shell.ts'
import { defineTool } from './tool.ts'
import type { Tool } from './tool.ts'

const DEFAULT_TIMEOUT_MS = 120_000
const MAX_TIMEOUT_MS = 600_000

export const bashTool: Tool = defineTool({
  name: 'Bash',
  description:
    'Runs a command with bash in the project directory, without standard input. Returns what it printed and its exit code. Files that it changes can be brought back.',
  schema: z.strictObject({
    command: z.string().min(1).describe('The command'),
    timeout_ms: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .describe(`When it is ended, in milliseconds; default ${DEFAULT_TIMEOUT_MS}`),
  }),
  async plan({ command, timeout_ms = DEFAULT_TIMEOUT_MS }, { root, env, history, killGroup }, call) {
    const run = (): Promise<ShellResult> =>
      runShell({ command, cwd: root, env, timeoutMs: timeout_ms, signal: call.signal, killGroup })
    return {
      access: { kind: 'command' },
      summary: command,
      async run() {
        const { result, changed, untracked } = history
          ? await history.trackCommand(call.messageId, run)
          : { result: await run(), changed: [], untracked: [] }
        const names = untracked.map((path) => (isInside(root, path) ? relative(root, path) : path))
        return {
          text: [outputOf(result), ...endOf(result, timeout_ms), ...notCovered(names)].join('\n'),
          isError: result.exitCode !== 0 || result.ended !== null,
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

function outputOf({ output, droppedBytes }: ShellResult): string {
  const dropped = droppedBytes > 0 ? `\n[${droppedBytes} further bytes of output were not kept]` : ''
  const text = output.replace(/\n$/, '')
  return `${text.trim() === '' ? '(no output)' : text}${dropped}`
}

function endOf({ exitCode, ended }: ShellResult, timeoutMs: number): string[] {
  if (ended === 'timeout') return [`[ended after ${timeoutMs} ms]`]
  if (ended === 'interrupted') return ['[interrupted by the user]']
  return exitCode === 0 ? [] : [`[exit code ${exitCode ?? 'none: ended by a signal'}]`]
}

/** Nothing that undo cannot bring back is passed over in silence. */
function notCovered(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const shown = names.slice(0, 20).join(', ')
  const more = names.length > 20 ? ` and ${names.length - 20} more` : ''
  return [`[changed, and not covered by undo: ${shown}${more}]`]
}
