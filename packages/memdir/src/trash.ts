import { isUtf8 } from 'node:buffer'
import { LociError, resolveInside } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { z } from 'zod'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE } from './file-name.ts'
import { readIndex, readTopic } from './folder.ts'
import type { Folder } from './folder.ts'
import { decode, findEntry, parseIndex, removeIndexLines } from './index-file.ts'
import { toMemory, withHook } from './memory.ts'
import type { StoredTopic } from './memory.ts'
import { checkRevision, indexLineOf, isVisible, planIndexLine } from './save.ts'
import type { SavePlan } from './save.ts'
import { listSideFiles, readSideFile, sideFilePath } from './side-files.ts'

/** Something that was removed. */
export interface TrashEntry {
  id: string
  file: string
  /** ISO 8601, UTC. */
  removedAt: string
}

const TRASH_DIR = '.trash'

/** As stored in `.trash/<id>.json`: the topic's bytes, as text where they are, and the index line. */
const TRASH_SHAPE = z
  .looseObject({
    file: z.string(),
    removedAt: z.string(),
    line: z.string().optional(),
    text: z.string().optional(),
    base64: z.string().optional(),
  })
  .refine(
    ({ text, base64 }) => text !== undefined || base64 !== undefined,
    'it holds neither text nor base64',
  )

export async function readTrash(dir: string): Promise<{ entries: TrashEntry[]; damage: Damage[] }> {
  const { items, damage } = await listSideFiles(dir, TRASH_DIR, TRASH_SHAPE)
  const entries = items
    .map(({ id, value }) => ({ id, file: value.file, removedAt: value.removedAt }))
    .toSorted((a, b) => compare(b.removedAt, a.removedAt) || compare(a.id, b.id))
  return { entries, damage }
}

/** Bytes into the trash first, then the index line, then the file: after a crash each is there once at least. */
export async function planRemoval(folder: Folder, file: string, ifRevision: string): Promise<FileChange[]> {
  const stored = await readTopic(folder.dir, file)
  if (stored === undefined) {
    throw new LociError(
      'MEMORY_NOT_FOUND',
      `There is no memory ${JSON.stringify(file)}: list shows which there are`,
      {
        details: { file },
      },
    )
  }
  checkRevision(file, stored, ifRevision)
  const before = await readIndex(folder.dir)
  const entries = parseIndex(decode(before ?? new Uint8Array())).filter((entry) => entry.file === file)
  const after =
    before &&
    removeIndexLines(
      before,
      entries.map(({ line }) => line),
    )
  const line = before && entries[0] && decode(before).split('\n')[entries[0].line - 1]?.replace(/\r$/, '')
  return [
    await planTrash(folder, stored, line),
    { path: await resolveInside(folder.dir, INDEX_FILE), before, after },
    { path: stored.path, before: stored.bytes, after: undefined },
  ]
}

/** Puts the topic back as it was, with its line; what has its place now is trashed first. */
export async function planRestore(folder: Folder, id: string): Promise<SavePlan> {
  const { dir } = folder
  const entry = await readSideFile(dir, TRASH_DIR, id, TRASH_SHAPE)
  const { file, text, base64, line } = entry.value
  const bytes = text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text)
  const present = await readTopic(dir, file)
  const path = await resolveInside(dir, file)
  const stored: StoredTopic = { file, path, bytes, modifiedAtMs: folder.clock().getTime() }
  const own = line !== undefined && parseIndex(line)[0]?.file === file ? line : indexLineOf(stored)
  const index = await planIndexLine(dir, file, own)
  const replaced =
    present === undefined || present.bytes.equals(bytes) ? [] : [await planTrash(folder, present)]
  return {
    changes: [
      ...replaced,
      { path, before: present?.bytes, after: bytes },
      index,
      { path: entry.path, before: entry.bytes, after: undefined },
    ],
    path,
    memory: withHook(toMemory(stored).memory, findEntry(index.after, file)),
    visible: isVisible(index.after, file),
  }
}

async function planTrash(folder: Folder, stored: StoredTopic, line?: string): Promise<FileChange> {
  const { file, bytes } = stored
  const value: z.infer<typeof TRASH_SHAPE> = {
    file,
    removedAt: folder.clock().toISOString(),
    ...(line === undefined ? {} : { line }),
    ...(isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') }),
  }
  const path = await sideFilePath(folder.dir, TRASH_DIR, folder.createId())
  return { path, before: undefined, after: Buffer.from(`${JSON.stringify(value, null, 2)}\n`) }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
