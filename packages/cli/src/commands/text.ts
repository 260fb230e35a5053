import type { Damage } from '@loci/disk'
import type { CommandContext } from '../command-context.ts'

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

/** A number and what it is of. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** The nth word after the command's own; the table has made sure that it is there. */
export function parameter(context: CommandContext, index: number): string {
  return context.parameters[index] ?? ''
}
