import { isUtf8 } from 'node:buffer'
import { files, LociError, orAbsent } from '@loci/disk'
import type { FileChange } from '../apply-changes.ts'
import { checkDraft } from '../check-draft.ts'
import { checkText } from '../check-text.ts'
import { readTopic, readTopicAt } from '../folder.ts'
import type { Folder } from '../folder.ts'
import { planIndex } from '../index-change.ts'
import { decode, linesFor } from '../index-file.ts'
import { revisionOf, toMemory } from '../memory.ts'
import type { Memory, StoredTopic } from '../memory.ts'
import { refuseOtherFolder } from '../save.ts'
import { formatTopic, parseTopic } from '../topic-file.ts'
import { planTrash } from '../trash-file.ts'
import { planRemoval } from '../trash.ts'
import { resolveFile } from './find-file.ts'
import { followTopic } from './index-line.ts'

/** A topic file as a change would leave it. */
export interface TopicText {
  memory: Memory
  old: StoredTopic | undefined
  next: StoredTopic
}

/**
 * Reads a topic and computes what `edit` makes of its text.
 *
 * @throws {LociError} MEMORY_INVALID when the old text is not UTF-8, or the new one breaks the front matter or is
 * nothing that could be saved; MEMORY_NOT_FOUND…, whatever `edit` throws; PATH_LINK, DISK_IO
 */
export async function editTopic(
  folder: Folder,
  file: string,
  edit: (text: string | undefined) => string,
): Promise<TopicText> {
  const path = await resolveFile(folder.dir, file)
  await refuseOtherFolder(folder.dir, file)
  const old = await readTopicAt(file, path)
  if (old !== undefined && !isUtf8(old.bytes))
    throw new LociError('MEMORY_INVALID', `${JSON.stringify(file)} is not UTF-8; mend it by hand`)
  const before = old && decode(old.bytes)
  const text = edit(before)
  checkText('text', text)
  checkFrontMatter(before, text)
  const next = { file, path, bytes: Buffer.from(text), modifiedAtMs: folder.clock().getTime() }
  const { memory } = toMemory(next)
  checkDraft(memory)
  return { memory, old, next }
}

/** A write may leave front matter as bad as it was, but breaks none. */
function checkFrontMatter(before: string | undefined, text: string): void {
  const was = before === undefined ? 'no-front-matter' : parseTopic(before).problem?.kind
  const { problem } = parseTopic(text)
  if (problem === undefined || problem.kind === was) return
  const where = problem.line === undefined ? '' : ` (line ${problem.line})`
  throw new LociError(
    'MEMORY_INVALID',
    `Nothing was saved: that would break the front matter. ${problem.message}${where}`,
  )
}

/**
 * A proposal holds fields and body; what else stands in the front matter would be lost with it.
 *
 * @throws {LociError} MEMORY_INVALID
 */
export function checkProposable({ old, next }: TopicText): void {
  if (otherLines(old) === otherLines(next)) return
  throw new LociError(
    'MEMORY_INVALID',
    'Nothing was proposed: what waits for a person can change name, description, type and body, but nothing else in the front matter',
  )
}

/** The front matter with the same fields whatever they were, so that only the rest differs. In any order. */
function otherLines(topic: StoredTopic | undefined): string {
  const text =
    topic &&
    decode(topic.bytes)
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n')
  const same = formatTopic({ name: 'x', description: 'x', type: 'user', body: '' }, text)
  return same.split('\n').toSorted().join('\n')
}

/** The topic's bytes as they were written, and its line in the index. What is replaced goes to the trash. */
export async function planEdit(folder: Folder, { old, next }: TopicText): Promise<FileChange[]> {
  const index = await planIndex(folder.dir, next.file, (before) => followTopic(before, old, next))
  const lines = linesFor(index.before, next.file)
  const replaced = old?.bytes.equals(next.bytes) === false ? old : undefined
  return [
    ...(replaced === undefined
      ? []
      : [await planTrash(folder, { file: next.file, bytes: replaced.bytes, lines })]),
    { path: next.path, before: old?.bytes, after: next.bytes },
    index,
  ]
}

export async function planDelete(folder: Folder, file: string): Promise<FileChange[]> {
  await refuseOtherFolder(folder.dir, file)
  const stored = await readTopic(folder.dir, file)
  return stored === undefined ? [] : planRemoval(folder, file, revisionOf(stored.bytes))
}

/** The new files, then the index, then the end of the old ones: after a crash each is there once at least. */
export async function planMoves(
  folder: Folder,
  moves: readonly (readonly [from: string, to: string])[],
): Promise<FileChange[]> {
  const { dir } = folder
  const topics: (readonly [StoredTopic, StoredTopic])[] = []
  for (const [from, to] of moves) {
    const path = await resolveFile(dir, to)
    await refuseOtherFolder(dir, from)
    await refuseOtherFolder(dir, to)
    const old = await readTopic(dir, from)
    if (old !== undefined) topics.push([old, { ...old, file: to, path }])
  }
  const [first] = topics
  if (first === undefined) return []
  const { path, before, after } = await planIndex(dir, first[1].file, (index) =>
    topics.reduce((rest, [old, next]) => followTopic(rest, old, next), index),
  )
  return [
    ...topics.map(([, next]) => ({ path: next.path, before: undefined, after: next.bytes })),
    // Of several topics' lines: no `linesOf`.
    { path, before, after },
    ...topics.map(([old]) => ({ path: old.path, before: old.bytes, after: undefined })),
  ]
}

/** Takes away directories that are empty now, given each before those in it. */
export async function removeDirectories(dir: string, directories: readonly string[]): Promise<void> {
  for (const directory of directories.toReversed())
    await orAbsent(files.rmdir(await resolveFile(dir, directory)))
}
