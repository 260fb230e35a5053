import type { Damage } from '@loci/disk'
import type { CommandContext } from '../commands.ts'

/** Lines as one text, each ended. */
export function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}

export function damageLines(damage: readonly Damage[]): string[] {
  return damage.map(
    ({ kind, path, line, message }) =>
      `damage: ${path}${line === undefined ? '' : `:${line}`}: ${kind}: ${message}`,
  )
}

/** The nth word after the command's own; the table has made sure that it is there. */
export function parameter(context: CommandContext, index: number): string {
  return context.parameters[index] ?? ''
}
