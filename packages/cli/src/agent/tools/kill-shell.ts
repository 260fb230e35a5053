import { z } from 'zod'
import { unknownShell } from './bash-output.ts'
import { defineTool, done, wholeText } from './tool.ts'
import type { Tool } from './tool.ts'

export const killShellTool: Tool = defineTool({
  name: 'KillShell',
  description:
    'Ends a command in the background, with all that it started. Returns that it was ended, or had ended before.',
  schema: z.strictObject({ shell_id: wholeText().min(1).describe('Id that Bash returned') }),
  async plan({ shell_id }, { shells }) {
    return {
      access: { kind: 'own' },
      summary: shell_id,
      async run() {
        const wasRunning = await shells.stop(shell_id)
        if (wasRunning === undefined) return unknownShell(shell_id, shells)
        return done(wasRunning ? `Ended ${shell_id}.` : `${shell_id} had ended before.`)
      },
    }
  },
})
