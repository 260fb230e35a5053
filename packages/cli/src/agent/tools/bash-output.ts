import { z } from 'zod'
import { defineTool, done, failed, wholeText } from './tool.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'
import type { ShellResult } from './run-shell.ts'

export const bashOutputTool: Tool = defineTool({
  name: 'BashOutput',
  description:
    'Reads what a command in the background printed since it was last read. Returns that, or "(nothing new)"; then in [brackets] whether it runs, or how it ended.',
  schema: z.strictObject({ bash_id: wholeText().min(1).describe('Id that Bash returned') }),
  async plan({ bash_id }, { shells }) {
    return {
      access: { kind: 'own' },
      summary: bash_id,
      async run() {
        const reading = shells.read(bash_id)
        if (reading === undefined) return unknownShell(bash_id, shells)
        const { text, droppedUnits, end } = reading
        const output = text.replace(/\n$/, '')
        return done(
          [
            ...(droppedUnits > 0 ? [`[${droppedUnits} characters before this were not kept]`] : []),
            output.trim() === '' ? '(nothing new)' : output,
            `[${end === undefined ? 'it runs' : endOf(end)}]`,
          ].join('\n'),
        )
      },
    }
  },
})

/** For an id of no command of this process; one of an earlier process has ended with it. */
export function unknownShell(id: string, { ids }: ToolContext['shells']): ToolResult {
  const known = ids.length > 0 ? `; there are ${ids.join(', ')}` : ''
  return failed(`No command runs in the background as ${JSON.stringify(id)}${known}.`)
}

function endOf({ exitCode, killedBy, ended }: ShellResult): string {
  if (ended === 'timeout') return 'it was ended, its time was up'
  if (ended === 'interrupted') return 'it was ended'
  return exitCode === null ? `it was ended by ${killedBy}` : `it ended with exit code ${exitCode}`
}
