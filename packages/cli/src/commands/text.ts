import type { Damage } from '@loci/disk'
import type { Entry } from '@loci/session-jsonl'
import type { CommandContext } from '../commands.ts'

/** Lines as one text, each ended. */
export function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}

/** The first ten of them, one a line, and how many more there are. */
export function damageLines(damage: readonly Damage[]): string[] {
  const shown = damage.slice(0, 10).map(({ kind, path, line, message }) => {
    const place = line === undefined ? path : `${path}:${line}`
    return `damage: ${place}: ${kind}: ${message}`
  })
  const rest = damage.length - shown.length
  return rest > 0 ? [...shown, `damage: ${rest} more; --json lists all`] : shown
}

/** The nth word after the command's own; the table has made sure that it is there. */
export function parameter(context: CommandContext, index: number): string {
  return context.parameters[index] ?? ''
}

/** What an entry says, in short: its text, the calls it makes; `''` for one that says nothing. */
export function textOf(entry: Entry | undefined): string {
  const message = entry?.message
  if (typeof message !== 'object' || message === null || !('content' in message)) return ''
  const blocks: unknown[] = Array.isArray(message.content)
    ? message.content
    : [{ type: 'text', text: message.content }]
  return blocks.map(blockText).join(' ').replaceAll(/\s+/g, ' ').trim()
}

function blockText(block: unknown): string {
  if (typeof block !== 'object' || block === null || !('type' in block)) return ''
  if ('text' in block && typeof block.text === 'string') return block.text
  if (block.type === 'tool_use' && 'name' in block) return `[calls ${String(block.name)}]`
  return `[${String(block.type)}]`
}
