import { appendFile } from 'node:fs/promises'
import { openSession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'

/** The session of most tests. */
export const SID = '11111111-2222-4333-8444-555555555555'
export const OTHER = '99999999-2222-4333-8444-555555555555'

/** Whether everything is to be tried, however long it takes. */
export const LONG: boolean = process.env['LOCI_LONG'] === '1'
/** Many where there is time (`LOCI_LONG=1`), else as few as still show what a test is for. */
export function often(many: number, few: number): number {
  return LONG ? many : few
}
/** What a property may take at most: where it is tried often, more than what is usual. */
export const LONG_ENOUGH: number = often(300_000, 30_000)

export type Line = Record<string, unknown>

let minute = 0
function stamp(): string {
  minute += 1
  return stampOf(minute)
}

/** So many minutes into the year that the tests play in. */
export function stampOf(minutes: number): string {
  return new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString()
}

/** A line of the conversation. */
export function entry(type: string, uuid: string, parentUuid: string | null, fields: Line = {}): Line {
  return { type, uuid, parentUuid, sessionId: SID, timestamp: stamp(), ...fields }
}

export function user(uuid: string, parentUuid: string | null, content: unknown, fields: Line = {}): Line {
  return entry('user', uuid, parentUuid, { message: { role: 'user', content }, ...fields })
}

export function assistant(
  uuid: string,
  parentUuid: string | null,
  content: unknown,
  fields: Line & { id?: string } = {},
): Line {
  const { id, ...rest } = fields
  const message = { role: 'assistant', content, ...(id === undefined ? {} : { id }) }
  return entry('assistant', uuid, parentUuid, { message, ...rest })
}

export const text = (said: string): Line => ({ type: 'text', text: said })
export const call = (id: string): Line => ({ type: 'tool_use', id, name: 'Bash', input: { command: id } })
export const result = (id: string, content: unknown = `result of ${id}`): Line => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
})

export function rewind(leafUuid: string | null): Line {
  return { type: 'last-prompt', lastPrompt: '', leafUuid, explicit: true, sessionId: SID }
}
export function lastPrompt(leafUuid: string): Line {
  return { type: 'last-prompt', lastPrompt: 'x', leafUuid, sessionId: SID }
}

/** A conversation without branches: m1 the user's, m2 the model's, and so on. */
export function straight(count: number): Line[] {
  return Array.from({ length: count }, (_, index) => {
    const parent = index === 0 ? null : `m${index}`
    const uuid = `m${index + 1}`
    return index % 2 === 0
      ? user(uuid, parent, `say ${uuid}`)
      : assistant(uuid, parent, [text(`said ${uuid}`)])
  })
}

export function jsonl(...lines: readonly (Line | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
}

/** A project folder that holds the session with these bytes. */
export async function project(
  transcript: TreeFile | undefined,
  others: Record<string, TreeFile> = {},
): Promise<Tree & { projectDir: string; file: string }> {
  const own = transcript === undefined ? {} : { [`p/${SID}.jsonl`]: transcript }
  const made = await tree({ 'p/': '', ...own, ...others })
  return { ...made, projectDir: made.path('p'), file: made.path(`p/${SID}.jsonl`) }
}

/** Opens a transcript read-only, asks it something, and takes the tree away. */
export async function reading<T>(transcript: TreeFile, ask: (session: Session) => Promise<T>): Promise<T> {
  const made = await project(transcript)
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
  try {
    return await ask(session)
  } finally {
    await session.close()
    await made.remove()
  }
}

export async function chainOf(transcript: TreeFile, tip?: string): Promise<string[]> {
  const chain = await reading(transcript, (session) => session.chain(tip))
  return chain.map(({ uuid }) => uuid)
}

/** Appends as another program would: past the session and its lease. */
export function appendForeign(file: string, ...lines: readonly (Line | string)[]): Promise<void> {
  return appendFile(file, jsonl(...lines))
}
