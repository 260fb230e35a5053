import { isUtf8 } from 'node:buffer'
import { join } from 'node:path'
import { files, LociError, orAbsent, resolveInside } from '@loci/disk'
import type { FileChange } from './apply-changes.ts'
import { defaultTopicFile, INDEX_FILE } from './file-name.ts'
import { readTopicAt, scanFolder } from './folder.ts'
import type { Folder } from './folder.ts'
import { keepsLine, losesWords, planIndex } from './index-change.ts'
import { decode, findEntry, formatIndexLine, indexLineAt, linesFor, setIndexLine } from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import { revisionOf, toMemory, withHook } from './memory.ts'
import type { Memory, MemoryDraft, StoredTopic } from './memory.ts'
import { scanForSecrets } from './scan-secrets.ts'
import { formatTopic, parseTopic } from './topic-file.ts'
import { planTrash } from './trash-file.ts'
import type { Trashed } from './trash-file.ts'

/** What a save would write, and what would be there then. */
export interface SavePlan {
  changes: FileChange[]
  /** Of the topic file. */
  path: string
  memory: Memory
  index: { before: Buffer | undefined; after: Buffer }
}

interface SaveOptions {
  ifRevision: string | undefined
  /** A save that may have been made already, by a run that did not get to its end. */
  resumed?: boolean
}

/** Computes both steps of a save from what is on disk now. Call it under the lease. */
export async function planSave(folder: Folder, draft: MemoryDraft, options: SaveOptions): Promise<SavePlan> {
  const { dir } = folder
  const target = await chooseTarget(folder, draft, options)
  const previous = target.stored?.bytes
  const bytes = Buffer.from(topicText(folder, draft, previous))
  const line = formatIndexLine(draft.name, target.file, draft.hook ?? draft.description)
  const old = target.stored && toMemory(target.stored).memory
  // A save that was cut off may not have come to its line.
  const keeps = (entry: IndexEntry): boolean =>
    old !== undefined && !target.already && keepsLine(entry, draft, old)
  const index = await planIndex(dir, target.file, (before) => {
    const entry = findEntry(before, target.file)
    return entry !== undefined && keeps(entry) ? before : setIndexLine(before, target.file, line)
  })
  const entry = index.before && findEntry(index.before, target.file)
  const replaced = whatGives(target, {
    bytes,
    line: entry && !keeps(entry) && losesWords(entry, line, old) ? entry.line : undefined,
    index: index.before,
  })
  const stored = { file: target.file, path: target.path, bytes, modifiedAtMs: folder.clock().getTime() }
  return {
    changes: [
      ...(replaced === undefined ? [] : [await planTrash(folder, replaced)]),
      { path: target.path, before: previous, after: bytes },
      index,
    ],
    path: target.path,
    memory: withHook(toMemory(stored).memory, findEntry(index.after, target.file)),
    index,
  }
}

/** What would be gone with the save: the topic as it was with its lines, or the line that has words of its own. */
function whatGives(
  { file, stored }: Target,
  { bytes, line, index }: { bytes: Buffer; line: number | undefined; index: Buffer | undefined },
): Trashed | undefined {
  if (stored !== undefined && !stored.bytes.equals(bytes))
    return { file, bytes: stored.bytes, lines: linesFor(index, file) }
  return line === undefined || index === undefined ? undefined : { file, lines: [indexLineAt(index, line)] }
}

interface Target {
  file: string
  path: string
  stored: StoredTopic | undefined
  /** The topic is already as the save would make it. */
  already: boolean
}

async function chooseTarget(folder: Folder, draft: MemoryDraft, options: SaveOptions): Promise<Target> {
  const file = draft.file ?? (await freeFile(folder, draft, options))
  const path = await resolveInside(folder.dir, file)
  const stored = await readTopicAt(file, path)
  const already = stored !== undefined && options.resumed === true && isAlready(folder, draft, stored.bytes)
  const target = { file, path, stored, already }
  await refuseOtherFolder(folder.dir, file)
  if (already) return target
  if (draft.file === undefined && options.ifRevision !== undefined) {
    throw new LociError('MEMORY_INVALID', 'ifRevision is for an existing memory: give its file too')
  }
  if (stored !== undefined || options.ifRevision !== undefined)
    checkRevision(file, stored, options.ifRevision)
  if (stored !== undefined && !isUtf8(stored.bytes)) {
    throw new LociError(
      'MEMORY_INVALID',
      `${JSON.stringify(file)} is not UTF-8; convert it before changing it`,
      {
        details: { file },
      },
    )
  }
  return target
}

/**
 * @throws {LociError} MEMORY_CONFLICT, with `details.revision`, when the file has another revision
 */
export function checkRevision(
  file: string,
  stored: StoredTopic | undefined,
  ifRevision: string | undefined,
): void {
  const revision = stored === undefined ? null : revisionOf(stored.bytes)
  if (revision === ifRevision) return
  const what =
    revision === null
      ? 'is not there any more: save it without ifRevision to make it anew'
      : ifRevision === undefined
        ? 'exists: read it and give its revision as ifRevision to replace it, or choose another file'
        : 'was changed since it was read: read it again and decide anew'
  throw new LociError('MEMORY_CONFLICT', `${JSON.stringify(file)} ${what}`, { details: { file, revision } })
}

/** The default name, past what has it. Compared without case, because some file systems do. */
async function freeFile(folder: Folder, draft: MemoryDraft, options: SaveOptions): Promise<string> {
  const entries = (await orAbsent(files.readdir(folder.dir))) ?? []
  const taken = new Set(entries.map(({ name }) => foldCase(name)))
  if (options.resumed) {
    for (const name of await sameTopics(folder, draft)) taken.delete(foldCase(name))
  }
  return defaultTopicFile(draft.type, withoutSecrets(draft.name), (file) => taken.has(foldCase(file)))
}

/** A file name is printed and passed on where its text is not. */
function withoutSecrets(name: string): string {
  return scanForSecrets(name).reduceRight(
    (rest, { start, end }) => `${rest.slice(0, start)} ${rest.slice(end)}`,
    name,
  )
}

async function sameTopics(folder: Folder, draft: MemoryDraft): Promise<string[]> {
  const { topics } = await scanFolder(folder.dir)
  return topics.filter(({ bytes }) => isAlready(folder, draft, bytes)).map(({ file }) => file)
}

function foldCase(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

function isAlready(folder: Folder, draft: MemoryDraft, bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false
  const text = decode(bytes)
  // First: the rest is slow, and some other file cannot be made into this one at all.
  if (parseTopic(text).name !== draft.name) return false
  return topicText(folder, draft, bytes) === text
}

function topicText(folder: Folder, draft: MemoryDraft, previous: Buffer | undefined): string {
  const { name, description, type, body } = draft
  const origin = { originSessionId: folder.sessionId, originMessageId: folder.messageId }
  return formatTopic({ name, description, type, body, ...origin }, previous && decode(previous))
}

/** A subfolder with an index, such as `team`, is a memory folder for itself: what is saved there is not ours. */
export async function refuseOtherFolder(dir: string, file: string): Promise<void> {
  const segments = file.split('/').slice(0, -1)
  for (let depth = 1; depth <= segments.length; depth += 1) {
    const below = segments.slice(0, depth).join('/')
    if ((await orAbsent(files.lstat(join(dir, below, INDEX_FILE)))) === undefined) continue
    throw new LociError(
      'MEMORY_INVALID',
      `${JSON.stringify(below)} is a memory folder for itself: open it to change ${JSON.stringify(file)}`,
      { details: { file } },
    )
  }
}
