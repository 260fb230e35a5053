import type { CommandContext, CommandResult } from '../command-context.ts'
import { examine } from '../doctor/examine.ts'
import { renderExamination } from '../doctor/render.ts'
import { lines } from './text.ts'

/** What is wrong with all that Loci keeps here, or with `--all` anywhere, and what to do; exit code 3 on damage. */
export async function doctorCommand(context: CommandContext): Promise<CommandResult> {
  const all = context.options.all === true
  const value = await examine(context, { all })
  const isDamaged = value.findings.some(({ severity }) => severity === 'damage')
  return { value, text: lines(renderExamination(value, { all })), exitCode: isDamaged ? 3 : 0 }
}
