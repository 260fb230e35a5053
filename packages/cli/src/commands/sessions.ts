import { basename, dirname } from 'node:path'
import {
  archiveSession,
  listSessions,
  renameSession,
  sessionInfo,
  tagSession,
  unarchiveSession,
} from '@loci/session-jsonl'
import type { Entry, SessionInfo } from '@loci/session-jsonl'
import { parseCount } from '../arguments.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { deleteWithHistory, forkWithHistory, unlock, withSession } from '../compose.ts'
import { findSession } from '../find-session.ts'
import type { SessionPlace } from '../find-session.ts'
import { conversationTarget } from '../rewind-door.ts'
import { oneLine } from '../printable.ts'
import { counted, damageLines, lines, parameter } from './text.ts'
import { textOf } from '../message-content.ts'

export async function listCommand({ home, cwd, options }: CommandContext): Promise<CommandResult> {
  const value = await listSessions({
    projectsDir: home.projectsDir,
    ...(options.all === true ? {} : { cwd }),
    ...(options.limit === undefined ? {} : { limit: parseCount('limit', options.limit) }),
    ...(options.archived === true ? { archived: true } : {}),
  })
  const line = (info: SessionInfo): string =>
    options.all === true ? `${sessionLine(info)}  ${directoryOf(info)}` : sessionLine(info)
  if (value.length > 0) return { value, text: lines(value.map(line)) }
  const where = home.kind === 'vacant' ? `; ${home.dir} is empty or does not exist` : ''
  const none =
    options.all === true ? 'no sessions' : `no sessions of ${cwd}; --all shows those of every directory`
  return { value, text: lines([`${none}${where}`]) }
}

function sessionLine(info: SessionInfo): string {
  const marks = [
    info.tag && `tag ${oneLine(info.tag)}`,
    info.archived && 'archived',
    info.damaged && 'damaged',
    info.forkedFrom && 'fork',
    info.cwd && info.lastCwd && `began in ${oneLine(info.cwd)}, went on in ${oneLine(info.lastCwd)}`,
  ].filter(Boolean)
  const mark = marks.length > 0 ? `  (${marks.join(', ')})` : ''
  return `${info.sessionId}  ${new Date(info.lastActivityMs).toISOString()}  ${oneLine(info.summary)}${mark}`
}

/** Where a session is, as its lines say; a folder's name is never turned back into a path, for it fits many. */
function directoryOf({ cwd, lastCwd, path }: SessionInfo): string {
  const directory = lastCwd ?? cwd
  return directory === undefined
    ? `in the folder ${oneLine(basename(dirname(path)))}, directory not recorded`
    : `in ${oneLine(directory)}`
}

export async function showCommand(context: CommandContext): Promise<CommandResult> {
  const place = await placeOf(context)
  const info = await sessionInfo(place.path)
  const { entries, tip, damage } = await withSession(place, 'read', async (session) => ({
    entries: await session.chain(),
    tip: session.tip,
    damage: await session.damage(),
  }))
  return {
    value: { info, entries, tip, damage },
    text: lines([...entryLines(entries), ...damageLines(damage)]),
    exitCode: damage.length > 0 ? 3 : 0,
  }
}

/** One line an entry: who, what, and the id to rewind to. */
function entryLines(entries: readonly Entry[]): string[] {
  const said = entries.filter((entry) => entry.message !== undefined)
  const rest = entries.length - said.length
  return [
    ...said.map((entry) => `${entry.uuid}  ${entry.type}: ${oneLine(textOf(entry))}`),
    ...(entries.length === 0
      ? ['the conversation is empty here; loci sessions tips lists its other ends']
      : []),
    ...(rest === 0
      ? []
      : [
          `(and ${counted(rest, 'attachment or system line', 'attachments and system lines')}; --json lists them)`,
        ]),
  ]
}

export async function tipsCommand(context: CommandContext): Promise<CommandResult> {
  const { value, tip } = await withSession(await placeOf(context), 'read', async (session) => ({
    value: await session.tips(),
    tip: session.tip,
  }))
  const text = value.map(
    ({ uuid, timestamp, depth, current }) =>
      `${uuid}  ${timestamp}  ${depth} entries${current ? '  (current)' : ''}`,
  )
  // After a rewind the session stands inside a branch, at no end.
  if (!value.some(({ current }) => current))
    text.push(`now at ${tip ?? 'the beginning, before the first prompt'}`)
  return { value, text: lines(text) }
}

export async function rewindCommand(context: CommandContext): Promise<CommandResult> {
  const place = await placeOf(context)
  await context.home.claim()
  const value = await withSession(place, 'write', async (session) => {
    await session.moveTip(await conversationTarget(session, parameter(context, 1)))
    return { sessionId: session.id, tip: session.tip }
  })
  return { value, text: lines([value.tip === null ? 'now before the first prompt' : `now at ${value.tip}`]) }
}

export async function forkCommand(context: CommandContext): Promise<CommandResult> {
  const { home, options } = context
  const place = await placeOf(context)
  await home.claim()
  const { sessionId, path } = await forkWithHistory(home, place, {
    ...(options['up-to'] === undefined ? {} : { upTo: options['up-to'] }),
    ...(options.title === undefined ? {} : { title: options.title }),
  })
  return { value: { sessionId, path }, text: lines([`new session ${sessionId}`, path]) }
}

export function renameCommand(context: CommandContext): Promise<CommandResult> {
  return change(context, (place) => renameSession({ ...place, title: parameter(context, 1) }))
}

export function tagCommand(context: CommandContext): Promise<CommandResult> {
  const tag = parameter(context, 1)
  return change(context, (place) => tagSession({ ...place, tag: tag === '' ? null : tag }))
}

export function archiveCommand(context: CommandContext): Promise<CommandResult> {
  return change(context, archiveSession)
}

export function unarchiveCommand(context: CommandContext): Promise<CommandResult> {
  return change(context, unarchiveSession)
}

/** Changes what lists show of a session, and shows it. */
async function change(
  context: CommandContext,
  work: (place: SessionPlace) => Promise<void>,
): Promise<CommandResult> {
  const place = await placeOf(context)
  await context.home.claim()
  await work(place)
  const value = await sessionInfo(place.path)
  return { value, text: lines(value === undefined ? [] : [sessionLine(value)]) }
}

export async function deleteCommand(context: CommandContext): Promise<CommandResult> {
  const place = await placeOf(context)
  await context.home.claim()
  const value = await deleteWithHistory(context.home, place)
  return { value, text: lines(value.removed.map((path) => `removed ${path}`)) }
}

export async function unlockCommand(context: CommandContext): Promise<CommandResult> {
  const place = await placeOf(context)
  await context.home.claim()
  await unlock(context.home, place)
  return { value: { sessionId: place.sessionId }, text: lines([`${place.sessionId} is unlocked`]) }
}

function placeOf(context: CommandContext): Promise<SessionPlace> {
  return findSession(context.home, context.cwd, parameter(context, 0))
}
