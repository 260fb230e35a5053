import { errorMessage, isLociError, LociError, orAbsent, resolveInside } from '@loci/disk'
import {
  dailyLogTemplate,
  loadMemory,
  MAX_ENTRYPOINT_BYTES,
  MAX_ENTRYPOINT_LINES,
  truncateEntrypointContent,
} from '@loci/memdir'
import type { MemoryDraft } from '@loci/memdir'
import { z } from 'zod'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { withMemory } from '../compose.ts'
import type { MemoryPlace } from '../compose.ts'
import { oneLine } from '../printable.ts'
import { changeMemory, memoryWarnings, placeOf, readMemory, scopeOf } from './memory-place.ts'
import { counted, damageLines, lines, parameter } from './text.ts'

const TYPES = ['user', 'feedback', 'project', 'reference'] as const
const words = z.string({ error: 'it must be a text' })
const draftSchema = z.strictObject({
  name: words,
  description: words,
  type: z.enum(TYPES, { error: `it must be one of ${TYPES.join(', ')}` }),
  body: words,
  hook: words.optional(),
  file: words.optional(),
  ifRevision: words.optional(),
})
/** As `dailyLogTemplate` names them. */
const DAILY_LOG = /^logs\/\d{4}\/\d{2}\/\d{4}-\d{2}-\d{2}\.md$/

export async function statusCommand(context: CommandContext): Promise<CommandResult> {
  const place = await placeOf(context)
  const { enabled, rule, dirs } = place
  const dir = dirs[scopeOf(context)]
  const problems: string[] = []
  /** What cannot be read must not keep the rest from being told. */
  async function read<T>(look: Promise<T>): Promise<T | undefined> {
    try {
      return await look
    } catch (error) {
      if (!isLociError(error)) throw error
      problems.push(errorMessage(error))
      return undefined
    }
  }
  const { index, proposals } = await withMemory({ dir }, async (memory) => ({
    index: sizeOf((await read(memory.index()))?.raw),
    proposals: (await read(memory.proposals()))?.length,
  }))
  return {
    value: { enabled, rule, dirs, index, proposals, ...(problems.length > 0 ? { problems } : {}) },
    text: lines([
      `memory is ${enabled ? 'on' : 'off'}: ${rule}`,
      ...(dirs.warnings ?? []).map((warning) => `warning: ${warning}`),
      ...(enabled ? waysOf(place) : []),
      `project: ${dirs.project}`,
      `user: ${dirs.user}`,
      index === undefined
        ? 'index: could not be read'
        : `index: ${index.lines} of ${index.lineLimit} lines, ${index.bytes} of ${index.byteLimit} bytes`,
      `proposals: ${proposals ?? 'could not be read'}`,
      ...problems.map((problem) => `damage: ${problem}`),
    ]),
    exitCode: problems.length > 0 ? 3 : 0,
  }
}

function sizeOf(
  raw: string | undefined,
): Record<'lines' | 'bytes' | 'lineLimit' | 'byteLimit', number> | undefined {
  if (raw === undefined) return undefined
  const { lineCount, byteCount } = truncateEntrypointContent(raw)
  return {
    lines: lineCount,
    bytes: byteCount,
    lineLimit: MAX_ENTRYPOINT_LINES,
    byteLimit: MAX_ENTRYPOINT_BYTES,
  }
}

/** What settings change of how memory is written. */
function waysOf({ mode, review, extraction, dirs }: MemoryPlace): string[] {
  return [
    ...(mode === 'daily-log' ? [`memoryMode: new memories go to ${dailyLogTemplate(dirs.project)}`] : []),
    ...(review && extraction ? ['memoryReview: what the background saves waits in memory proposals'] : []),
    ...(extraction ? [] : ['memoryExtraction: nothing is remembered in the background']),
  ]
}

export async function indexCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.index())
  const parts = [value.content, value.warning ?? ''].filter((part) => part !== '')
  return { value, text: lines(parts.length === 0 ? ['the index is empty'] : parts) }
}

export async function listCommand(context: CommandContext): Promise<CommandResult> {
  const value = await readMemory(context, (memory) => memory.list())
  const text = value.memories.map(
    ({ file, type, name, description }) => `${file}  ${type}  ${oneLine(description || name)}`,
  )
  return {
    value,
    text: lines([...(text.length === 0 ? ['no memories'] : text), ...damageLines(value.damage)]),
    exitCode: value.damage.length > 0 ? 3 : 0,
  }
}

export async function showCommand(context: CommandContext): Promise<CommandResult> {
  const file = parameter(context, 0)
  if (DAILY_LOG.test(file)) return showLog(context, file)
  const value = await readMemory(context, (memory) => memory.read(file))
  if (value === undefined) throw noMemory(file)
  const { name, type, description, body } = value
  const head = `${name} (${type})${description === '' ? '' : `: ${description}`}`
  return { value, text: lines([oneLine(head), '', body.trimEnd()]) }
}

async function showLog(context: CommandContext, file: string): Promise<CommandResult> {
  const { dirs } = await placeOf(context)
  const path = await orAbsent(resolveInside(dirs[scopeOf(context)], file))
  const value = path === undefined ? null : await loadMemory(path)
  if (value === null) throw noMemory(file)
  return { value, text: lines([value]) }
}

export async function saveCommand(context: CommandContext): Promise<CommandResult> {
  const { ifRevision, ...draft } = parseDraft(await context.readInput())
  const value = await changeMemory(
    context,
    (memory) => memory.save(draft, ifRevision === undefined ? {} : { ifRevision }),
    { make: true },
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
  return { value, text: lines([`restored ${value.file}`, ...memoryWarnings(value)]) }
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
