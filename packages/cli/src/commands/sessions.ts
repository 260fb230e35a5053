import { listSessions, sessionInfo } from '@loci/session-jsonl'
import type { Entry, SessionInfo } from '@loci/session-jsonl'
import { parseCount } from '../arguments.ts'
import type { CommandContext, CommandResult } from '../commands.ts'
import { forkWithHistory, unlock, withSession } from '../compose.ts'
import { findSession } from '../find-session.ts'
import type { SessionPlace } from '../find-session.ts'
import { conversationTarget } from '../rewind-door.ts'
import { damageLines, lines, parameter } from './text.ts'

export async function listCommand({ home, cwd, options }: CommandContext): Promise<CommandResult> {
  const value = await listSessions({
    projectsDir: home.projectsDir,
    ...(options.all === true ? {} : { cwd }),
    ...(options.limit === undefined ? {} : { limit: parseCount('limit', options.limit) }),
    ...(options.archived === true ? { archived: true } : {}),
  })
  const none =
    options.all === true ? 'no sessions' : `no sessions of ${cwd}; --all shows those of every directory`
  return { value, text: lines(value.length === 0 ? [none] : value.map(sessionLine)) }
}

function sessionLine(info: SessionInfo): string {
  const marks = [info.archived && 'archived', info.damaged && 'damaged', info.forkedFrom && 'fork'].filter(
    Boolean,
  )
  const mark = marks.length > 0 ? `  (${marks.join(', ')})` : ''
  return `${info.sessionId}  ${new Date(info.lastActivityMs).toISOString()}  ${info.summary}${mark}`
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
    text: lines([...entries.map(entryLine).filter((line) => line !== ''), ...damageLines(damage)]),
    exitCode: damage.length > 0 ? 3 : 0,
  }
}

/** One line an entry: who, what, and the id to rewind to. Attachments and system lines are not talk. */
function entryLine(entry: Entry): string {
  const { message } = entry
  if (typeof message !== 'object' || message === null || !('content' in message)) return ''
  const blocks: unknown[] = Array.isArray(message.content)
    ? message.content
    : [{ type: 'text', text: message.content }]
  return `${entry.uuid}  ${entry.type}: ${blocks.map(blockText).join(' ').replaceAll(/\s+/g, ' ').trim()}`
}

function blockText(block: unknown): string {
  if (typeof block !== 'object' || block === null || !('type' in block)) return ''
  if ('text' in block && typeof block.text === 'string') return block.text
  if (block.type === 'tool_use' && 'name' in block) return `[calls ${String(block.name)}]`
  return `[${String(block.type)}]`
}

export async function tipsCommand(context: CommandContext): Promise<CommandResult> {
  const value = await withSession(await placeOf(context), 'read', (session) => session.tips())
  const text = value.map(
    (tip) => `${tip.uuid}  ${tip.timestamp}  ${tip.depth} entries${tip.current ? '  (current)' : ''}`,
  )
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
  const value = await forkWithHistory(home, place, {
    ...(options['up-to'] === undefined ? {} : { upTo: options['up-to'] }),
    ...(options.title === undefined ? {} : { title: options.title }),
  })
  return { value, text: lines([`new session ${value.sessionId}`, value.path]) }
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
