import { isLociError, LociError } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { z } from 'zod'
import type { FileChange } from './apply-changes.ts'
import { readIndex, readTopic } from './folder.ts'
import type { Folder } from './folder.ts'
import { findEntry } from './index-file.ts'
import { toMemory, withHook } from './memory.ts'
import type { Memory, MemoryDraft } from './memory.ts'
import { checkDraft } from './check-draft.ts'
import { planSave } from './save.ts'
import type { SavePlan } from './save.ts'
import { listSideFiles, readSideFile, SIDE_FILE_MODE, sideFilePath } from './side-files.ts'
import { MEMORY_TYPES } from './topic-file.ts'
import type { MemoryType } from './topic-file.ts'

/** A memory that waits for a person to approve or reject it. */
export interface Proposal {
  id: string
  draft: MemoryDraft
  /** What is stored now under the draft's file: what a diff has on its other side. */
  replaces?: Memory
  /** That file is another than the one it was proposed for: approving is a conflict. */
  outdated?: true
  /** Where it comes from. */
  sessionId?: string
  messageId?: string
}

export const PROPOSALS_DIR = '.proposed'

/** As stored in `.proposed/<id>.json`. */
interface StoredProposal {
  draft: {
    name: string
    description: string
    type: MemoryType
    body: string
    hook?: string | undefined
    file?: string | undefined
  }
  ifRevision?: string | undefined
  sessionId?: string | undefined
  messageId?: string | undefined
  proposedAt: string
}

export const PROPOSAL_SHAPE: z.ZodType<StoredProposal> = z.looseObject({
  draft: z.looseObject({
    name: z.string(),
    description: z.string(),
    type: z.enum(MEMORY_TYPES),
    body: z.string(),
    hook: z.string().optional(),
    file: z.string().optional(),
  }),
  ifRevision: z.string().optional(),
  sessionId: z.string().optional(),
  messageId: z.string().optional(),
  proposedAt: z.string(),
})

/** The new proposal, and nothing else. */
export async function planProposal(
  folder: Folder,
  draft: MemoryDraft,
  ifRevision: string | undefined,
): Promise<FileChange> {
  const value: StoredProposal = {
    draft: { ...toDraft(draft) },
    ...(ifRevision === undefined ? {} : { ifRevision }),
    ...(folder.sessionId === undefined ? {} : { sessionId: folder.sessionId }),
    ...(folder.messageId === undefined ? {} : { messageId: folder.messageId }),
    proposedAt: folder.clock().toISOString(),
  }
  const path = await sideFilePath(folder.dir, PROPOSALS_DIR, folder.createId())
  const after = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return { path, before: undefined, after, mode: SIDE_FILE_MODE }
}

export async function readProposals(dir: string): Promise<{ proposals: Proposal[]; damage: Damage[] }> {
  const { items, damage } = await listSideFiles(dir, PROPOSALS_DIR, PROPOSAL_SHAPE)
  const sorted = items.toSorted((a, b) => (key(a.value, a.id) < key(b.value, b.id) ? -1 : 1))
  const proposals = await Promise.all(
    sorted.map(async ({ id, value }) => {
      const { sessionId, messageId } = value
      const draft = toDraft(value.draft)
      const replaces = draft.file === undefined ? undefined : await readReplaced(dir, draft.file)
      return {
        id,
        draft,
        ...(replaces === undefined ? {} : { replaces }),
        ...(isOutdated(value, replaces) ? { outdated: true as const } : {}),
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(messageId === undefined ? {} : { messageId }),
      }
    }),
  )
  return { proposals, damage }
}

/** A name that cannot be read now is refused when somebody approves. */
async function readReplaced(dir: string, file: string): Promise<Memory | undefined> {
  const stored = await readTopic(dir, file).catch(() => undefined)
  const index = await readIndex(dir).catch(() => undefined)
  return stored && withHook(toMemory(stored).memory, index && findEntry(index, file))
}

function isOutdated({ draft, ifRevision }: StoredProposal, replaces: Memory | undefined): boolean {
  return draft.file !== undefined && ifRevision !== replaces?.revision
}

/** The save, with the proposal's own origin, then the proposal's end. A crash between can be approved again. */
export async function planApproval(folder: Folder, id: string): Promise<SavePlan> {
  const { value, path, bytes } = await readSideFile(folder.dir, PROPOSALS_DIR, id, PROPOSAL_SHAPE)
  const draft = toDraft(value.draft)
  checkDraft(draft)
  const origin = { ...folder, sessionId: value.sessionId, messageId: value.messageId }
  const plan = await planSave(origin, draft, { ifRevision: value.ifRevision, resumed: true }).catch(
    (error: unknown) => {
      throw isLociError(error, 'MEMORY_CONFLICT') ? outdated(draft.file, error) : error
    },
  )
  return {
    ...plan,
    changes: [...plan.changes, { path, before: bytes, after: undefined, mode: SIDE_FILE_MODE }],
  }
}

export async function planRejection(dir: string, id: string): Promise<FileChange[]> {
  const { path, bytes } = await readSideFile(dir, PROPOSALS_DIR, id, PROPOSAL_SHAPE)
  return [{ path, before: bytes, after: undefined, mode: SIDE_FILE_MODE }]
}

/** In words for who approves: there is no revision to give here. */
function outdated(file: string | undefined, cause: { details?: LociError['details'] }): LociError {
  return new LociError(
    'MEMORY_CONFLICT',
    `${JSON.stringify(file)} is another than when this was proposed: reject the proposal, or save anew what holds of it and then reject it`,
    { details: { ...cause.details }, cause },
  )
}

function toDraft({
  name,
  description,
  type,
  body,
  hook,
  file,
}: MemoryDraft | StoredProposal['draft']): MemoryDraft {
  return {
    name,
    description,
    type,
    body,
    ...(hook === undefined ? {} : { hook }),
    ...(file === undefined ? {} : { file }),
  }
}

function key({ proposedAt }: StoredProposal, id: string): string {
  return `${proposedAt} ${id}`
}
