import { randomUUID } from 'node:crypto'
import { files, orAbsent } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { sessionExists } from './append-log.ts'
import type { Durability } from './append-log.ts'
import type { ModelMessage } from './content-block.ts'
import type { Entry, EntryDraft, RecordDraft } from './entry.ts'
import { JsonlSession } from './jsonl-session.ts'
import type { Compaction } from './plan-compaction.ts'
import { sessionPath } from './session-path.ts'
import type { Tip } from './tips.ts'

/** Where a session is, and what its lines carry. */
export interface SessionOptions {
  /** The project's folder, made (0755) with the first append. See `resolveProjectDir` of `@loci/disk/project`. */
  projectDir: string
  /** The working directory, recorded on each line; lists go by it. */
  cwd?: string | undefined
  /** The version of the program that writes. */
  version?: string | undefined
  gitBranch?: string | undefined
  /** `'os'` (default): an append survives a crash of the process. `'fsync'`: a power cut too. */
  durability?: Durability | undefined
  clock?: (() => Date) | undefined
  createId?: (() => string) | undefined
}

/**
 * A conversation in a file that only grows. Calls keep their order, awaited or not, and what reads sees every append
 * made before it. A call that fails leaves the session as it was and usable.
 */
export interface Session {
  readonly id: string
  readonly path: string
  /** The entry that the next append follows; `null` while the conversation is empty. Read-only: as of the last read. */
  readonly tip: string | null
  /**
   * Appends an entry after the tip, or after `parentUuid`, and makes it the tip. Resolves to the entry as it is on
   * disk, once the operating system has it (`fsync`: the disk). After every 32 KiB of growth the title and the tag that the
   * session has are said again in the same write, so that lists find them near the end. If it rejects, the tip stays; what of
   * it reached the file stays there, as damage or as a branch of its own. Appends that are called one after the other
   * without waiting are written together, up to 256 KiB at a time, and fail together.
   * Up to 64 KiB are handed to the system at once: the event loop waits for as long as that takes, which with durability
   * `'os'` is all there is to an append. The flush of `'fsync'` is never waited for so.
   *
   * @throws {LociError} ENTRY_INVALID for a draft that can be no line here; ENTRY_NOT_FOUND for an unknown parent;
   * DISK_FULL, DISK_IO; SESSION_EXISTS or SESSION_LOCKED at the first append to a new session
   */
  append(draft: EntryDraft): Promise<Entry>
  /**
   * Appends a record outside the conversation; the tip stays. A `last-prompt` record that would move the tip when the
   * session is next opened is followed by one that says where it is.
   *
   * @throws {LociError} ENTRY_INVALID, DISK_FULL, DISK_IO
   */
  record(draft: RecordDraft): Promise<void>
  /**
   * Makes exactly this entry the tip, or with `null` nothing, and records that before it resolves. What came after it
   * stays in the file and in {@link tips}.
   *
   * @throws {LociError} ENTRY_NOT_FOUND, DISK_FULL, DISK_IO
   */
  moveTip(uuid: string | null): Promise<void>
  /**
   * Lets a summary stand for the conversation up to its end, but for what is kept, and makes the summary the tip. One
   * write: a crash leaves the conversation as it was (with a stub or a boundary that does not count, as damage) or
   * compacted. The closed part stays in the file, and `moveTip` goes back to it.
   *
   * @throws {LociError} ENTRY_INVALID when there is no conversation, or no summary; ENTRY_NOT_FOUND when `keepFrom` is not
   * in the conversation; DISK_FULL, DISK_IO
   */
  compact(compaction: Compaction): Promise<{ boundary: Entry; summary: Entry }>
  /**
   * The entries that lead to `tip` (default: the session's), root first; tool results beside the path are put back and
   * the last compaction is applied. The entries are the session's own: do not change them.
   *
   * @throws {LociError} ENTRY_NOT_FOUND, DISK_IO
   */
  chain(tip?: string): Promise<Entry[]>
  /**
   * What to send to the model: messages that the Messages API accepts as they are. Roles alternate, the first is the
   * user's; lines of one `message.id` are one message; every tool call has exactly one result in the message after it
   * ("Interrupted." where there is none), and a result without its call is left out; nothing is empty. What is malformed is left
   * out and is damage (`unreadable-content`). Attachments are left out unless they are rendered. What is sent when the
   * conversation ends with a prompt is, byte for byte, the beginning of what is sent as it grows.
   *
   * @param options.tip default: the session's
   * @param options.renderAttachment what an attachment says to the model, in the user message that follows it; `null`
   * for nothing
   *
   * @throws {LociError} ENTRY_NOT_FOUND, DISK_IO
   */
  conversation(options?: {
    tip?: string | undefined
    renderAttachment?: ((entry: Entry) => string | null) | undefined
  }): Promise<ModelMessage[]>
  /** Every end of a branch, the last in the file first; without tool results that are put back into another branch. */
  tips(): Promise<Tip[]>
  /** The records of that kind outside the conversation, in file order. */
  records(type: string): Promise<RecordDraft[]>
  /** The entry with that uuid on any branch, subagents' lines too. */
  entry(uuid: string): Promise<Entry | undefined>
  /** What is wrong with the file, in file order. */
  damage(): Promise<Damage[]>
  /** Waits for what was called before, and gives back the file and the lease. Later calls are refused. */
  close(): Promise<void>
}

/**
 * Makes a new session. Nothing is on disk before the first append, which makes the folder (0755) and the file (0600)
 * and takes the lease.
 *
 * @param options.sessionId default: `createId()`. Other programs list UUIDs only.
 * @throws {LociError} SESSION_EXISTS when the id is taken; ENTRY_INVALID when it is no file name; DISK_IO
 */
export async function createSession(
  options: SessionOptions & { sessionId?: string | undefined },
): Promise<Session> {
  const id = options.sessionId ?? (options.createId ?? randomUUID)()
  const path = sessionPath(options.projectDir, id)
  if (await orAbsent(files.lstat(path))) throw sessionExists(path)
  return new JsonlSession(id, path, options, 'write')
}

/**
 * Opens a session where its conversation stands. With `write` it takes the lease, which a process that died no longer
 * holds; with `read` it needs none, and every call first reads what others appended since. Opening never writes to the transcript.
 *
 * @throws {LociError} SESSION_NOT_FOUND; SESSION_LOCKED with `details = { pid, host, since, decidable }`; ENTRY_INVALID
 * when the id is no file name; DISK_IO
 */
export async function openSession(
  options: SessionOptions & { sessionId: string; mode?: 'write' | 'read' | undefined },
): Promise<Session> {
  const { sessionId, mode = 'write' } = options
  if (mode !== 'write' && mode !== 'read') throw new TypeError(`mode must be 'write' or 'read'`)
  const session = new JsonlSession(sessionId, sessionPath(options.projectDir, sessionId), options, mode)
  await session.open()
  return session
}
