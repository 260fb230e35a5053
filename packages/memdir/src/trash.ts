import { LociError, resolveInside } from '@loci/disk'
import type { Damage } from '@loci/disk'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE } from './file-name.ts'
import { readIndex, readTopic } from './folder.ts'
import type { Folder } from './folder.ts'
import { indexLineOf, planIndex } from './index-change.ts'
import { appendIndexLine, decode, findEntry, linesFor, parseIndex, setIndexLines } from './index-file.ts'
import { toMemory, withHook } from './memory.ts'
import type { StoredTopic } from './memory.ts'
import { checkRevision, refuseOtherFolder } from './save.ts'
import type { SavePlan } from './save.ts'
import { listSideFiles, readSideFile, SIDE_FILE_MODE } from './side-files.ts'
import { planTrash, trashed, TRASH_DIR, TRASH_SHAPE } from './trash-file.ts'
import type { Trashed } from './trash-file.ts'

/** Something that was removed or replaced: a memory, or index lines alone that another change or `repair` took out. */
export interface TrashEntry {
  id: string
  file: string
  /** ISO 8601, UTC. */
  removedAt: string
}

export async function readTrash(dir: string): Promise<{ entries: TrashEntry[]; damage: Damage[] }> {
  const { items, damage } = await listSideFiles(dir, TRASH_DIR, TRASH_SHAPE)
  const entries = items
    .map(({ id, value }) => ({ id, file: value.file, removedAt: value.removedAt }))
    .toSorted((a, b) => compare(b.removedAt, a.removedAt) || compare(a.id, b.id))
  return { entries, damage }
}

export function noMemory(file: string): LociError {
  return new LociError(
    'MEMORY_NOT_FOUND',
    `There is no memory ${JSON.stringify(file)}: list shows which there are`,
    { details: { file } },
  )
}

/** Bytes into the trash first, then the index lines, then the file: after a crash each is there once at least. */
export async function planRemoval(folder: Folder, file: string, ifRevision: string): Promise<FileChange[]> {
  await refuseOtherFolder(folder.dir, file)
  const stored = await readTopic(folder.dir, file)
  if (stored === undefined) throw noMemory(file)
  checkRevision(file, stored, ifRevision)
  const before = await readIndex(folder.dir)
  return [
    await planTrash(folder, { file, bytes: stored.bytes, lines: linesFor(before, file) }),
    {
      path: await resolveInside(folder.dir, INDEX_FILE),
      before,
      after: before && setIndexLines(before, file, []),
      linesOf: file,
    },
    { path: stored.path, before: stored.bytes, after: undefined },
  ]
}

/** Puts the topic back as it was, with its lines; what has its place now is trashed first. */
export async function planRestore(folder: Folder, id: string): Promise<SavePlan> {
  const { dir } = folder
  const entry = await readSideFile(dir, TRASH_DIR, id, TRASH_SHAPE)
  const { file, bytes, lines } = trashed(entry.value)
  if (lines.some((line) => !standsFor(line, file))) {
    throw new LociError(
      'MEMORY_INVALID',
      `${JSON.stringify(entry.path)} holds an index line that is not for ${JSON.stringify(file)}; mend it by hand`,
      { details: { path: entry.path } },
    )
  }
  await refuseOtherFolder(dir, file)
  const present = await readTopic(dir, file)
  const path = await resolveInside(dir, file)
  const end: FileChange = { path: entry.path, before: entry.bytes, after: undefined, mode: SIDE_FILE_MODE }
  if (bytes === undefined) {
    if (present === undefined) throw linesAlone(file, entry.path)
    const index = await planIndex(dir, file, (before) => lines.reduce<Buffer>(appendIndexLine, before))
    return toPlan(present, index, [index, end])
  }
  const stored: StoredTopic = { file, path, bytes, modifiedAtMs: folder.clock().getTime() }
  const own = lines.length > 0 ? lines : [Buffer.from(indexLineOf(stored))]
  const index = await planIndex(dir, file, (before) => setIndexLines(before, file, own))
  const replaced = whatGives(file, present, linesFor(index.before, file), { bytes, lines: own })
  return toPlan(stored, index, [
    ...(replaced === undefined ? [] : [await planTrash(folder, replaced)]),
    { path, before: present?.bytes, after: bytes },
    index,
    end,
  ])
}

/** What stands in the place of `own` now and would be gone with it, if anything. */
function whatGives(
  file: string,
  present: StoredTopic | undefined,
  lines: readonly Buffer[],
  own: { bytes: Buffer; lines: readonly Buffer[] },
): Trashed | undefined {
  if (present !== undefined && !present.bytes.equals(own.bytes)) return { file, bytes: present.bytes, lines }
  const others = lines.filter((line) => !own.lines.some((kept) => kept.equals(line)))
  return others.length === 0 ? undefined : { file, lines: others }
}

function toPlan(stored: StoredTopic, index: SavePlan['index'], changes: FileChange[]): SavePlan {
  const { file, path } = stored
  return { changes, path, memory: withHook(toMemory(stored).memory, findEntry(index.after, file)), index }
}

function standsFor(line: Buffer, file: string): boolean {
  return !line.includes(0x0a) && parseIndex(decode(line))[0]?.file === file
}

function linesAlone(file: string, path: string): LociError {
  return new LociError(
    'MEMORY_INVALID',
    `This entry holds index lines alone, and ${JSON.stringify(file)} is not there: read them in ${JSON.stringify(path)}`,
    { details: { file, path } },
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
