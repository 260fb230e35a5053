import { LociError } from '@loci/disk'
import type { FileHistory } from '@loci/file-history'
import { listSessions } from '@loci/session-jsonl'
import type { Entry, Session } from '@loci/session-jsonl'
import { UsageError } from '../arguments.ts'
import { textOf } from '../message-content.ts'
import { findMemory, withMemory } from '../compose.ts'
import { placeOf, resumedPlace } from '../find-session.ts'
import { oneLine } from '../printable.ts'
import { conversationTarget, filesTarget, isPrompt } from '../rewind-door.ts'
import { rewindLines } from '../rewind-report.ts'
import type { ConfigHome } from '../config-home.ts'
import type { SessionPlace } from '../find-session.ts'
import { compactedLine } from './compact.ts'
import type { Agent } from './open-agent.ts'
import type { ConversationContext } from './start-agent.ts'
import type { Start } from './start-session.ts'

/** What the commands of an interactive session work on. */
export interface LineSession {
  readonly context: ConversationContext
  /** The config home that it is in: another than it began in, once a session of somebody else's is gone on with. */
  readonly home: ConfigHome
  say(line: string): void
  /** The entries that lead to where the conversation is, read without a lease where it was not gone on with yet. */
  chain(): Promise<Entry[]>
  /** The agent, opened for writing with its first use: looking takes no lease and makes nothing. */
  agent(): Promise<Agent>
  /** Where the session of the agent is. */
  place(): Promise<SessionPlace>
  /** Does what Ctrl-C ends. */
  interruptibly<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Leaves the session it is in and goes on in another. */
  goTo(start: Start): Promise<void>
}

interface SlashCommand {
  usage: string
  summary: string
  run: (session: LineSession, words: readonly string[]) => Promise<void>
}

const COMMANDS: Readonly<Record<string, SlashCommand>> = {
  '/resume': {
    usage: '/resume [N, id or title]',
    summary: 'go on with another session; without a word: list them',
    run: resume,
  },
  '/rewind': {
    usage: '/rewind [N or id] [both|files|conversation] [skip|overwrite]',
    summary: 'go back to before a prompt, by default with the files; without a word: list them',
    run: rewind,
  },
  '/branch': {
    usage: '/branch [id] [title]',
    summary: 'copy the conversation up to an entry into a new session, and go on there',
    run: branch,
  },
  '/undo': { usage: '/undo', summary: 'take the last rewind of the files back; again: redo it', run: undo },
  '/resolve': {
    usage: '/resolve finish|undo',
    summary: 'end a rewind of the files that was interrupted',
    run: resolve,
  },
  '/compact': {
    usage: '/compact [what matters]',
    summary: 'let a summary stand for the conversation so far, but for its end',
    run: compact,
  },
  '/memory': { usage: '/memory', summary: 'what is remembered here, and where', run: memory },
  '/doctor': { usage: '/doctor', summary: 'what is damaged here, and what helps', run: doctor },
  '/help': { usage: '/help', summary: 'this list', run: help },
  '/exit': { usage: '/exit', summary: 'leave; everything is on disk already', run: async () => undefined },
}

/**
 * Runs a line that begins with `/`.
 *
 * @throws {UsageError} for a command that does not exist; what the packages throw
 */
export async function runSlash(session: LineSession, line: string): Promise<void> {
  const [name = '', ...words] = line.split(/\s+/)
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined)
    throw new UsageError(`there is no command ${JSON.stringify(name)}; /help lists them`)
  await command.run(session, words)
}

async function help(session: LineSession): Promise<void> {
  for (const { usage, summary } of Object.values(COMMANDS)) session.say(`  ${usage}\n      ${summary}`)
}

async function resume(session: LineSession, words: readonly string[]): Promise<void> {
  const { home } = session
  const { cwd } = session.context
  const wanted = words.join(' ')
  if (wanted !== '' && !NUMBER.test(wanted)) {
    await session.goTo({ kind: 'resume', place: await resumedPlace(home, cwd, wanted) })
    return
  }
  const all = await listSessions({ projectsDir: home.projectsDir, cwd, limit: 20 })
  if (wanted !== '') {
    const info = byNumber(all, wanted, '/resume')
    await session.goTo({ kind: 'resume', place: placeOf(info, info.cwd ?? cwd) })
    return
  }
  if (all.length === 0) session.say('no sessions of this directory')
  for (const [index, info] of all.entries()) {
    const time = new Date(info.lastActivityMs).toISOString()
    session.say(`${String(index + 1).padStart(3)}  ${info.sessionId}  ${time}  ${oneLine(info.summary)}`)
  }
}

/** A line of a list by its number. @throws {UsageError} when there is none */
function byNumber<T>(all: readonly T[], number: string, command: string): T {
  const found = all[Number(number) - 1]
  if (found !== undefined) return found
  throw new UsageError(`there is no number ${number}; ${command} lists ${all.length}`)
}

const NUMBER = /^\d{1,4}$/
/** What can only be meant as an id. */
const ID = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/i

const PARTS = ['both', 'files', 'conversation'] as const
const ON_CONFLICT = ['stop', 'skip', 'overwrite'] as const

async function rewind(session: LineSession, words: readonly string[]): Promise<void> {
  const [wanted, ...rest] = words
  if (wanted === undefined) {
    const prompts = (await session.chain()).filter(isPrompt)
    if (prompts.length === 0) session.say('no prompts yet')
    for (const [index, prompt] of prompts.entries())
      session.say(
        `${String(index + 1).padStart(3)}  ${prompt.uuid}  ${oneLine(textOf(prompt)).slice(0, 100)}`,
      )
    return
  }
  const part = PARTS.find((one) => rest.includes(one)) ?? 'both'
  const onConflict = ON_CONFLICT.find((one) => rest.includes(one)) ?? 'stop'
  const unknown = rest.find((word) => word !== part && word !== onConflict)
  if (unknown !== undefined)
    throw new UsageError(
      `/rewind takes ${PARTS.join(', ')}, ${ON_CONFLICT.join(', ')}, not ${JSON.stringify(unknown)}`,
    )
  const agent = await session.agent()
  const id = await entryId(agent.session, wanted)
  // Files first: should the process end in between, the next open says so, with both ways out.
  if (part !== 'conversation') await rewindFiles(session, agent, id, onConflict)
  if (part !== 'files') await rewindConversation(session, agent.session, id)
}

async function rewindFiles(
  session: LineSession,
  { session: transcript, history }: Agent,
  id: string,
  onConflict: 'stop' | 'skip' | 'overwrite',
): Promise<void> {
  const target = await filesTarget(transcript, id)
  if (target === null) {
    session.say('files: as they are; no prompt came after that entry')
    return
  }
  const result = await requireHistory(history).rewind(target, { onConflict })
  for (const line of rewindLines(result)) session.say(line)
  if (result.undoable) session.say('/undo brings the files back')
}

async function rewindConversation(session: LineSession, transcript: Session, id: string): Promise<void> {
  const before = transcript.tip
  await transcript.moveTip(await conversationTarget(transcript, id))
  session.say(
    transcript.tip === null ? 'now at the beginning, before the first prompt' : `now at ${transcript.tip}`,
  )
  if (before !== null && before !== transcript.tip)
    session.say(`/rewind ${before} conversation goes back to where it was`)
}

/** An entry by the number of its prompt in the list, its id or the beginning of that. */
async function entryId(transcript: Session, wanted: string): Promise<string> {
  const chain = await transcript.chain()
  if (NUMBER.test(wanted)) return byNumber(chain.filter(isPrompt), wanted, '/rewind').uuid
  if ((await transcript.entry(wanted)) !== undefined) return wanted
  const [only, another] = chain.filter(({ uuid }) => uuid.startsWith(wanted))
  if (only !== undefined && another === undefined) return only.uuid
  const message = another
    ? `${JSON.stringify(wanted)} fits several entries; give more of the id`
    : `There is no entry ${JSON.stringify(wanted)}`
  throw new LociError('ENTRY_NOT_FOUND', message, { details: { id: wanted } })
}

function requireHistory(history: FileHistory | null): FileHistory {
  if (history) return history
  throw new LociError('HISTORY_DISABLED', 'File history is switched off, so files cannot be rewound')
}

async function branch(session: LineSession, words: readonly string[]): Promise<void> {
  const { session: transcript } = await session.agent()
  const [first = '', ...rest] = words
  const hasId = NUMBER.test(first) || ID.test(first)
  const upTo = hasId ? await entryId(transcript, first) : transcript.tip
  const title = (hasId ? rest : words).join(' ')
  if (upTo === null)
    throw new LociError('ENTRY_NOT_FOUND', 'There is nothing to branch from yet; say something first')
  const place = await session.place()
  await session.goTo({ kind: 'fork', place, wish: { upTo, ...(title === '' ? {} : { title }) } })
  const fork = await session.agent()
  session.say(`now in ${fork.session.id}; /resume ${place.sessionId} goes back`)
}

async function compact(session: LineSession, words: readonly string[]): Promise<void> {
  const agent = await session.agent()
  session.say('Compacting; Ctrl-C leaves the conversation as it is')
  const compacted = await session.interruptibly((signal) => agent.compact(words.join(' '), signal))
  session.say(compactedLine(compacted))
}

async function undo(session: LineSession): Promise<void> {
  const { history } = await session.agent()
  for (const line of rewindLines(await requireHistory(history).undoRewind())) session.say(line)
}

async function resolve(session: LineSession, [how]: readonly string[]): Promise<void> {
  if (how !== 'finish' && how !== 'undo') throw new UsageError('/resolve takes finish or undo')
  const { history } = await session.agent()
  for (const line of rewindLines(await requireHistory(history).resolveRewind(how))) session.say(line)
}

async function doctor(session: LineSession): Promise<void> {
  const { home, context } = session
  const { doctorCommand } = await import('../commands/doctor.ts')
  const { text } = await doctorCommand({ ...context, home })
  session.say(text.trimEnd())
}

async function memory(session: LineSession): Promise<void> {
  const { home } = session
  const { cwd, env, options } = session.context
  const { enabled, rule, dirs } = await findMemory({ home, cwd, env, bare: options.bare === true })
  session.say(`memory is ${enabled ? 'on' : 'off'}: ${rule}`)
  for (const scope of ['project', 'user'] as const) {
    const { content, warning } = await withMemory({ dir: dirs[scope] }, (memdir) => memdir.index())
    session.say(`${scope}: ${dirs[scope]}`)
    session.say(content === '' ? '  (nothing yet)' : content)
    if (warning !== undefined) session.say(warning)
  }
}
