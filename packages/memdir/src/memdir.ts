import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { files } from '@loci/disk'
import type { Damage, LociError } from '@loci/disk'
import { createChangeQueue } from './change-queue.ts'
import { checkDraft } from './check-draft.ts'
import { planFinish } from './finish-change.ts'
import type { UnfinishedChange } from './finish-change.ts'
import { readIndex, readTopic, scanFolder } from './folder.ts'
import type { Folder } from './folder.ts'
import { decode, parseIndex } from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import { LEASE_WAIT_MS } from './index-lease.ts'
import { keepParts } from './memdir-parts.ts'
import { toMemory, withHook } from './memory.ts'
import type { Memory, MemoryDraft } from './memory.ts'
import { planRepair } from './repair.ts'
import { planApproval, planProposal, planRejection, PROPOSALS_DIR, readProposals } from './review.ts'
import type { Proposal } from './review.ts'
import { planSave } from './save.ts'
import type { SavePlan } from './save.ts'
import { resultOf } from './save-result.ts'
import type { SaveResult } from './save-result.ts'
import { searchMemories } from './search.ts'
import type { SearchHit } from './search.ts'
import { noSideFile } from './side-files.ts'
import { noMemory, planRemoval, planRestore, readTrash } from './trash.ts'
import type { TrashEntry } from './trash.ts'
import { TRASH_DIR } from './trash-file.ts'
import { truncateEntrypointContent } from './truncate.ts'
import { verifyFolder } from './verify.ts'

/** The index of a folder. */
export interface MemoryIndex {
  /** As it stands in the file; empty if there is none. */
  raw: string
  /** The part that is passed to the model. */
  content: string
  /** What the model does not see of it, if anything; see `truncateEntrypointContent`. */
  warning?: string
  entries: IndexEntry[]
}

export interface MemdirOptions {
  /** The memory folder, as `memoryDirs` names it. Need not exist: the first save makes it. */
  dir: string
  /** Recorded with each memory saved, as where it came from. */
  sessionId?: string | undefined
  messageId?: string | undefined
  /** `save` only proposes; a person approves or rejects. */
  review?: boolean | undefined
  clock?: (() => Date) | undefined
  /** Names trash entries and proposals; default: random UUIDs. */
  createId?: (() => string) | undefined
  /** How long a change waits for another process; default 10,000 ms. */
  waitMs?: number | undefined
}

/**
 * A memory folder. Changes are made one after another under a lease on the folder, each re-reading what is
 * there; both steps of a change (topic file and index line) are made, or neither. Reading takes no lease and
 * changes nothing.
 */
export interface Memdir {
  readonly dir: string
  index(): Promise<MemoryIndex>
  /** All memories by file name, those without index line too, and what could not be read. */
  list(): Promise<{ memories: Memory[]; damage: Damage[] }>
  /** @throws {LociError} MEMORY_INVALID, PATH_LINK */
  read(file: string): Promise<Memory | undefined>
  /**
   * Saves a memory: the topic file, then its line in the index. The line stays as it is, in whatever form, where
   * neither name nor hook has changed (without `draft.hook`: nor description). What it replaces goes to the trash: the
   * topic file with its lines, or words of a line's own.
   *
   * @param options.ifRevision the revision the existing file must still have; without it `draft.file` must be new
   * @throws {LociError} MEMORY_CONFLICT with `details.revision`, the current one (`null`: no file), when it is
   * another, or when another process holds the folder; MEMORY_INVALID, for what is not worth saving too; PATH_LINK,
   * DISK_FULL, DISK_IO
   */
  save(draft: MemoryDraft, options?: { ifRevision?: string | undefined }): Promise<SaveResult>
  /**
   * Takes a memory out of the folder; its bytes and all its index lines go to the trash.
   *
   * @throws {LociError} MEMORY_NOT_FOUND, MEMORY_CONFLICT, MEMORY_INVALID, PATH_LINK
   */
  remove(file: string, options: { ifRevision: string }): Promise<void>
  /** What was removed or replaced, index lines alone too, newest first. Kept until restored: nothing sweeps it. */
  trash(): Promise<TrashEntry[]>
  /**
   * Puts a memory back as it was removed or replaced, byte for byte, with its index lines. What has its file name now, topic or lines,
   * goes to the trash first. An entry that holds lines alone adds them to the index again.
   *
   * @throws {LociError} MEMORY_NOT_FOUND; MEMORY_INVALID when an entry holds lines alone and the topic is not there
   */
  restore(id: string): Promise<Memory>
  /** What waits for review, oldest first. */
  proposals(): Promise<Proposal[]>
  /**
   * Saves a proposal as `save` would have.
   *
   * @throws {LociError} MEMORY_NOT_FOUND; MEMORY_CONFLICT when the file it replaces has changed since
   */
  approve(id: string): Promise<Memory>
  /** @throws {LociError} MEMORY_NOT_FOUND */
  reject(id: string): Promise<void>
  /** Memories that hold at least one of the words, best first. */
  search(query: string): Promise<SearchHit[]>
  /** Everything that is not as it should be. Empty: index and topic files agree and all can be read. */
  verify(): Promise<Damage[]>
  /**
   * Finishes a change that was cut off, and makes the index agree with the topic files as far as that takes no words away: adds missing lines, writes the
   * new name into lines of a topic that was renamed by hand (where only one can be meant), and takes out repeated
   * lines that stand there before or say no more than the topic file; those go to the trash. Lines for files that
   * are gone, and repeated lines with words of their own, are named by `verify` and stay; so do topic files.
   *
   * @returns one sentence for each change; with `dryRun` nothing is written
   */
  repair(options?: { dryRun?: boolean | undefined }): Promise<{ changes: string[] }>
  /**
   * Waits for the changes under way. There is nothing else to give back: each change takes its lease and gives it
   * back by itself, and the methods go on working afterwards.
   */
  close(): Promise<void>
}

/** Opens a memory folder. Reads and makes nothing yet. */
export async function openMemdir(options: MemdirOptions): Promise<Memdir> {
  const { review = false, waitMs = LEASE_WAIT_MS } = options
  if (typeof options.dir !== 'string' || options.dir === '') throw new TypeError('dir must be a path')
  const dir = resolve(options.dir)
  const folder: Folder = {
    dir,
    sessionId: options.sessionId,
    messageId: options.messageId,
    clock: options.clock ?? (() => new Date()),
    createId: options.createId ?? randomUUID,
  }
  const queue = createChangeQueue(folder, waitMs)

  /** Carries out a plan and tells what is there then. */
  async function settle(
    plan: (unfinished: UnfinishedChange | undefined) => Promise<SavePlan>,
    whereAbsent?: () => never,
  ): Promise<{ memory: Memory; index: SavePlan['index'] }> {
    const { memory, path, index } = await queue.change(plan, whereAbsent)
    // The time alone is not worth a failure: all is saved.
    const stats = await files.lstat(path).catch(() => undefined)
    return {
      memory: stats === undefined ? memory : { ...memory, modifiedAtMs: Number(stats.mtimeMs) },
      index,
    }
  }

  const memdir: Memdir = {
    dir,
    async index() {
      const raw = decode((await readIndex(dir)) ?? new Uint8Array())
      const { content, warning } = truncateEntrypointContent(raw)
      return { raw, content, ...(warning === undefined ? {} : { warning }), entries: parseIndex(raw) }
    },
    async list() {
      const { topics, damage } = await scanFolder(dir)
      const entries = new Map((await readEntries(dir)).toReversed().map((entry) => [entry.file, entry]))
      const read = topics.map(toMemory)
      return {
        memories: read.map(({ memory }) => withHook(memory, entries.get(memory.file))),
        damage: [...damage, ...read.flatMap((one) => one.damage)],
      }
    },
    async read(file) {
      const stored = await readTopic(dir, file)
      if (stored === undefined) return undefined
      return withHook(
        toMemory(stored).memory,
        (await readEntries(dir)).find((entry) => entry.file === file),
      )
    },
    async save(draft, { ifRevision } = {}) {
      checkDraft(draft)
      if (review) {
        const { plan } = await queue.change(async () => ({
          // Refuses what could not be saved now either.
          plan: await planSave(folder, draft, { ifRevision }),
          changes: [await planProposal(folder, draft, ifRevision)],
        }))
        return { ...resultOf(draft, plan.memory, plan.index.before), visible: false, proposed: true }
      }
      // What was finished just now may be this very save, made by a run that was cut off.
      const { memory, index } = await settle((unfinished) =>
        planSave(folder, draft, { ifRevision, resumed: unfinished !== undefined }),
      )
      return resultOf(draft, memory, index.after)
    },
    async remove(file, { ifRevision }) {
      await queue.change(
        async () => ({ changes: await planRemoval(folder, file, ifRevision) }),
        () => fail(noMemory(file)),
      )
    },
    trash: async () => (await readTrash(dir)).entries,
    async restore(id) {
      return (
        await settle(
          () => planRestore(folder, id),
          () => fail(noSideFile(TRASH_DIR, id)),
        )
      ).memory
    },
    proposals: async () => (await readProposals(dir)).proposals,
    async approve(id) {
      return (
        await settle(
          () => planApproval(folder, id),
          () => fail(noSideFile(PROPOSALS_DIR, id)),
        )
      ).memory
    },
    async reject(id) {
      await queue.change(
        async () => ({ changes: await planRejection(dir, id) }),
        () => fail(noSideFile(PROPOSALS_DIR, id)),
      )
    },
    async search(query) {
      return searchMemories((await memdir.list()).memories, query)
    },
    verify: () => verifyFolder(dir),
    async repair({ dryRun = false } = {}) {
      if (dryRun) {
        const unfinished = await planFinish(dir)
        const { sentences } = await planRepair(folder, unfinished?.changes)
        return { changes: [...(unfinished?.sentences ?? []), ...sentences] }
      }
      const { sentences } = await queue.change(
        async (unfinished) => {
          const repair = await planRepair(folder)
          return { ...repair, sentences: [...(unfinished?.sentences ?? []), ...repair.sentences] }
        },
        () => ({ changes: [], sentences: [] }),
      )
      return { changes: sentences }
    },
    close: () => queue.idle(),
  }
  keepParts(memdir, { folder, queue, review })
  return memdir
}

function fail(error: LociError): never {
  throw error
}

/** An index that cannot be read is the business of `index` and `verify`, not of a topic. */
async function readEntries(dir: string): Promise<IndexEntry[]> {
  const bytes = await readIndex(dir).catch(() => undefined)
  return parseIndex(decode(bytes ?? new Uint8Array()))
}
