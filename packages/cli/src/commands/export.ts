import { exportSession } from '@loci/session-jsonl'
import { parseChoice } from '../arguments.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { findSession } from '../find-session.ts'
import { redactSecrets } from '../redact.ts'
import { parameter } from './text.ts'

/** The session as text for a file; printed as it comes, so that it need not be held twice. */
export async function exportCommand(context: CommandContext): Promise<CommandResult> {
  const { home, cwd, options } = context
  const format = parseChoice('format', options.format, ['markdown', 'html', 'jsonl'])
  const { path } = await findSession(home, cwd, parameter(context, 0))
  const redact = options.redact === true ? redactSecrets : undefined
  const pieces = exportSession(path, { format, redact })
  if (options.json !== true) return { value: undefined, text: '', pieces }
  let text = ''
  for await (const piece of pieces) text += piece
  return { value: { format, text }, text }
}
