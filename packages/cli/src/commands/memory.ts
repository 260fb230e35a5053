import { LociError } from '@loci/disk'
import { MAX_ENTRYPOINT_BYTES, MAX_ENTRYPOINT_LINES, truncateEntrypointContent } from '@loci/memdir'
import type { MemoryDraft } from '@loci/memdir'
import { z } from 'zod'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { withMemory } from '../compose.ts'
import { oneLine } from '../printable.ts'
import { changeMemory, placeOf, readMemory, scopeOf } from './memory-place.ts'
import { counted, damageLines, lines, parameter } from './text.ts'

const draftSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  type: z.enum(['user', 'feedback', 'project', 'reference']),
  body: z.string(),
  hook: z.string().optional(),
  file: z.string().optional(),
  ifRevision: z.string().optional(),
})

export async function statusCommand(context: CommandContext): Promise<CommandResult> {
  const { enabled, rule, dirs } = await placeOf(context)
  const dir = dirs[scopeOf(context)]
  const { raw, proposals } = await withMemory({ dir }, async (memory) => ({
    raw: (await memory.index()).raw,
    proposals: (await memory.proposals()).length,
  }))
  const { lineCount, byteCount } = truncateEntrypointContent(raw)
  const index = {
    lines: lineCount,
    bytes: byteCount,
    lineLimit: MAX_ENTRYPOINT_LINES,
    byteLimit: MAX_ENTRYPOINT_BYTES,
  }
  return {
    value: { enabled, rule, dirs, index, proposals },
    text: lines([
      `memory is ${enabled ? 'on' : 'off'}: ${rule}`,
      ...(dirs.warnings ?? []).map((warning) => `warning: ${warning}`),
      `project: ${dirs.project}`,
      `user: ${dirs.user}`,
      `index: ${index.lines} of ${index.lineLimit} lines, ${index.bytes} of ${index.byteLimit} bytes`,
      `proposals: ${proposals}`,
    ]),
  }
}

export async function indexCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.index())
  const parts = [value.content, value.warning ?? ''].filter((part) => part !== '')
  return { value, text: lines(parts.length === 0 ? ['the index is empty'] : parts) }
}

export async function listCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.list())
  const text = value.memories.map(
    ({ file, type, description }) => `${file}  ${type}  ${oneLine(description)}`,
  )
  return {
    value,
    text: lines([...(text.length === 0 ? ['no memories'] : text), ...damageLines(value.damage)]),
    exitCode: value.damage.length > 0 ? 3 : 0,
  }
}

export async function showCommand(context: CommandContext): Promise<CommandResult> {
  const file = parameter(context, 0)
  const value = await readMemory(context, (memory) => memory.read(file))
  if (value === undefined) throw noMemory(file)
  return {
    value,
    text: lines([oneLine(`${value.name} (${value.type}): ${value.description}`), '', value.body.trimEnd()]),
  }
}

export async function saveCommand(context: CommandContext): Promise<CommandResult> {
  const { ifRevision, ...draft } = parseDraft(await context.readInput())
  const value = await changeMemory(context, (memory) =>
    memory.save(draft, ifRevision === undefined ? {} : { ifRevision }),
  )
  const warnings = (value.warnings ?? []).map((warning) => `warning: ${warning}`)
  const { lines: room } = value.room
  const saved = `saved ${value.memory.file}; the index has room for ${counted(room, 'line')} more`
  return { value, text: lines([saved, ...warnings]) }
}

export async function removeCommand(context: CommandContext): Promise<CommandResult> {
  const file = parameter(context, 0)
  await changeMemory(context, async (memory) => {
    const found = await memory.read(file)
    if (found === undefined) throw noMemory(file)
    await memory.remove(file, { ifRevision: found.revision })
  })
  return { value: { file }, text: lines([`${file} is in the trash; loci memory trash shows it`]) }
}

export async function trashCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.trash())
  const text = value.map(({ id, file, removedAt }) => `${id}  ${removedAt}  ${file}`)
  return { value, text: lines(text.length === 0 ? ['the trash is empty'] : text) }
}

export async function restoreCommand(context: CommandContext): Promise<CommandResult> {
  const value = await changeMemory(context, (memory) => memory.restore(parameter(context, 0)))
  return { value, text: lines([`restored ${value.file}`]) }
}

function noMemory(file: string): LociError {
  return new LociError(
    'MEMORY_NOT_FOUND',
    `There is no memory ${JSON.stringify(file)}; loci memory list shows them`,
    { details: { file } },
  )
}

function parseDraft(text: string): MemoryDraft & { ifRevision?: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new LociError(
      'MEMORY_INVALID',
      'The draft on standard input is not valid JSON; give {"name", "description", "type", "body"}',
      { cause },
    )
  }
  const result = draftSchema.safeParse(value)
  if (!result.success) {
    const issue = result.error.issues[0]
    const where = issue?.path.join('.') || 'its top'
    throw new LociError(
      'MEMORY_INVALID',
      `The draft is wrong at ${where}: ${issue?.message ?? ''}; nothing was saved`,
      {
        cause: result.error,
      },
    )
  }
  const { hook, file, ifRevision, ...draft } = result.data
  return {
    ...draft,
    ...(hook === undefined ? {} : { hook }),
    ...(file === undefined ? {} : { file }),
    ...(ifRevision === undefined ? {} : { ifRevision }),
  }
}
