import { isLociError } from '@loci/disk'
import type { Memory, MemoryDraft, Proposal, SearchHit } from '@loci/memdir'
import { structuredPatch } from 'diff'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { oneLine } from '../printable.ts'
import { changeMemory, memoryWarnings, readMemory } from './memory-place.ts'
import { damageLines, lines, parameter } from './text.ts'

/** What waits, each with where it comes from and what it would change. */
export async function proposalsCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.proposals())
  const advice = 'loci memory approve ID takes one, loci memory reject ID drops it'
  return {
    value,
    text: lines(value.length === 0 ? ['nothing waits'] : [...value.flatMap(proposalLines), advice]),
  }
}

export async function approveCommand(context: CommandContext): Promise<CommandResult> {
  const value = await changeMemory(context, (memory) => memory.approve(parameter(context, 0)))
  return { value, text: lines([`approved: ${value.file}`, ...memoryWarnings(value)]) }
}

export async function rejectCommand(context: CommandContext): Promise<CommandResult> {
  const id = parameter(context, 0)
  await changeMemory(context, (memory) => memory.reject(id))
  return { value: { id }, text: lines([`rejected: ${id}`]) }
}

export async function searchCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.search(parameter(context, 0)))
  return { value, text: lines(value.length === 0 ? ['nothing found'] : value.map(hitLine)) }
}

export async function verifyCommand(context: CommandContext): Promise<CommandResult> {
  const { value, changes } = await readMemory(context, async (memory) => ({
    value: await memory.verify(),
    // A folder that cannot be read can be repaired by nobody, and is what is told.
    changes: await memory.repair({ dryRun: true }).then(
      ({ changes: all }) => all,
      (error: unknown) => {
        if (isLociError(error)) return []
        throw error
      },
    ),
  }))
  if (value.length === 0) return { value, text: lines(['the memory is in order']) }
  const repair =
    changes.length > 0
      ? 'loci memory repair --dry-run shows what can be put right by itself'
      : 'nothing of it can be put right by itself'
  return { value, text: lines([...damageLines(value), repair]), exitCode: 3 }
}

export async function repairCommand(context: CommandContext): Promise<CommandResult> {
  const dryRun = context.options['dry-run'] === true
  const value = await (dryRun ? readMemory : changeMemory)(context, (memory) => memory.repair({ dryRun }))
  return { value, text: lines(value.changes.length === 0 ? ['nothing to repair'] : value.changes) }
}

function proposalLines({ id, draft, replaces, outdated, sessionId, messageId }: Proposal): string[] {
  const what = replaces === undefined ? `new: ${draft.file ?? draft.name}` : `changes ${replaces.file}`
  const from = [
    ...(sessionId === undefined ? [] : [`session ${sessionId}`]),
    ...(messageId === undefined ? [] : [`message ${messageId}`]),
  ]
  return [
    `${id}  ${oneLine(what)}`,
    ...(from.length === 0 ? [] : [`  from ${from.join(', ')}`]),
    ...(outdated ? ['  the memory is another by now: reject it, or save anew what holds of it'] : []),
    ...memoryWarnings(draft).map((warning) => `  ${warning}`),
    ...changeLines(replaces, draft).map((line) => `  ${line}`),
  ]
}

/** The lines that differ, with three around them. Pure. */
function changeLines(before: Memory | undefined, after: MemoryDraft): string[] {
  const old = before === undefined ? '' : shown(before)
  const { hunks } = structuredPatch('', '', old, shown(after), undefined, undefined, { context: 3 })
  return hunks.flatMap((hunk) => hunk.lines.filter((line) => !line.startsWith('\\')))
}

function shown({ name, description, type, body }: MemoryDraft): string {
  return `${name} (${type}): ${description}\n${body.trimEnd()}\n`
}

function hitLine({ memory: { file, type }, snippet }: SearchHit): string {
  return `${file}  ${type}  ${oneLine(snippet)}`
}
