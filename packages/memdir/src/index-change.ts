import { resolveInside } from '@loci/disk'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE } from './file-name.ts'
import { readIndex, scanHeads } from './folder.ts'
import { appendIndexLine, decode, findEntry, formatIndexLine, ownHook, parseIndex } from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import { toMemory } from './memory.ts'
import type { Memory, MemoryDraft, StoredTopic } from './memory.ts'
import type { TopicHead } from './topic-head.ts'
import {
  cleanLines,
  MAX_ENTRYPOINT_BYTES,
  MAX_ENTRYPOINT_LINES,
  truncateEntrypointContent,
} from './truncate.ts'

/** The index as `edit` makes it, from the index of a folder that has none yet too. */
export async function planIndex(
  dir: string,
  file: string,
  edit: (index: Buffer) => Buffer,
): Promise<FileChange & { before: Buffer | undefined; after: Buffer }> {
  const before = await readIndex(dir)
  return {
    path: await resolveInside(dir, INDEX_FILE),
    before,
    after: edit(before ?? (await indexOf(dir, file))),
    linesOf: file,
  }
}

/**
 * Whether a save of `draft` over `stored` leaves its index line as it is, in whatever form somebody wrote it:
 * nothing that the line says has changed. A draft without hook has nothing to say of it.
 */
export function keepsLine(entry: IndexEntry, draft: MemoryDraft, stored: Memory): boolean {
  if (draft.name !== stored.name) return false
  return draft.hook === undefined ? draft.description === stored.description : draft.hook === entry.hook
}

/** Whether `entry` says more than its topic file does, and than the line that takes its place. */
export function losesWords(entry: IndexEntry, line: string, stored: Memory | undefined): boolean {
  const [next] = parseIndex(line)
  const [usual] = stored === undefined ? [] : parseIndex(formatIndexLine(stored.name, stored.file, ''))
  const hook = stored === undefined ? entry.hook : (ownHook(entry, stored.description) ?? '')
  const hookGoes = hook !== '' && hook !== next?.hook
  return hookGoes || (entry.title !== next?.title && entry.title !== usual?.title)
}

/** The first index of a folder: lists the topics it has, since others read an index as complete. */
async function indexOf(dir: string, except: string): Promise<Buffer> {
  const { heads } = await scanHeads(dir)
  return heads
    .filter(({ file }) => file !== except)
    .reduce<Buffer>((index, head) => appendIndexLine(index, lineOfHead(head)), Buffer.alloc(0))
}

/** The index line for a topic file that has none. */
export function indexLineOf(stored: StoredTopic): string {
  return lineOfHead(toMemory(stored).memory)
}

/** As {@link indexLineOf}, of what a topic file says of itself. */
export function lineOfHead({ name, file, description }: Omit<TopicHead, 'type'>): string {
  return formatIndexLine(name, file, description)
}

/** Whether the line for `file` is in the part of the index that is passed to the model, and whole. */
export function isVisible(index: Uint8Array, file: string): boolean {
  const raw = decode(index)
  const entry = findEntry(index, file)
  const lines = cleanLines(raw)
  const position = lines.findIndex(({ line }) => line === entry?.line)
  const shown = truncateEntrypointContent(raw).content.split('\n')
  return position !== -1 && shown[position] === lines[position]?.text
}

/** How much more of an index would be passed to the model, and what of it is not passed on now. */
export function roomIn(index: Uint8Array): { lines: number; bytes: number; warning?: string } {
  const { lineCount, byteCount, warning } = truncateEntrypointContent(decode(index))
  return {
    lines: Math.max(0, MAX_ENTRYPOINT_LINES - lineCount),
    bytes: Math.max(0, MAX_ENTRYPOINT_BYTES - byteCount),
    ...(warning === undefined ? {} : { warning }),
  }
}
