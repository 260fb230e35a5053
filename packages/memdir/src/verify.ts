import { join } from 'node:path'
import { fileErrno, files, resolveInside } from '@loci/disk'
import type { Damage } from '@loci/disk'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE } from './file-name.ts'
import { messageOf, readIndex, scanFolder } from './folder.ts'
import {
  appendIndexLine,
  decode,
  formatIndexLine,
  LONG_INDEX_LINE,
  parseIndex,
  removeIndexLines,
} from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import { toMemory } from './memory.ts'
import type { StoredTopic } from './memory.ts'
import { readProposals } from './review.ts'
import { indexLineOf } from './save.ts'
import { readTrash } from './trash.ts'
import { cleanLines, truncateEntrypointContent } from './truncate.ts'

/** How index and topic files differ. */
interface Differences {
  unlisted: StoredTopic[]
  dead: IndexEntry[]
  repeated: IndexEntry[]
}

/** All that is wrong in a memory folder: in the index, the topic files, the trash and the proposals. */
export async function verifyFolder(dir: string): Promise<Damage[]> {
  const { topics, damage } = await scanFolder(dir)
  const trash = await readTrash(dir)
  const proposals = await readProposals(dir)
  return [
    ...(await verifyIndex(dir, topics)),
    ...damage,
    ...topics.flatMap((topic) => toMemory(topic).damage),
    ...trash.damage,
    ...proposals.damage,
  ]
}

async function verifyIndex(dir: string, topics: readonly StoredTopic[]): Promise<Damage[]> {
  const path = join(dir, INDEX_FILE)
  let bytes: Buffer | undefined
  try {
    bytes = await readIndex(dir)
  } catch (error) {
    return [{ kind: 'index-unreadable', path, message: messageOf(error) }]
  }
  if (bytes === undefined) {
    const message = `There is no index for ${topics.length} topic files`
    return topics.length === 0 ? [] : [{ kind: 'index-missing', path, message }]
  }
  const raw = decode(bytes)
  const { unlisted, dead, repeated } = await compare(dir, raw, topics)
  const { warning } = truncateEntrypointContent(raw)
  return [
    ...unlisted.map((topic) => ({
      kind: 'topic-without-line',
      path: topic.path,
      message: `The index has no line for ${JSON.stringify(topic.file)}: the model does not know of it`,
    })),
    ...dead.map(({ file, line }) => ({
      kind: 'line-without-topic',
      path,
      line,
      message: `The index names ${JSON.stringify(file)}, which is not there`,
    })),
    ...repeated.map(({ file, line }) => ({
      kind: 'repeated-line',
      path,
      line,
      message: `The index names ${JSON.stringify(file)} a second time`,
    })),
    ...cleanLines(raw)
      .filter(({ text }) => text.length > LONG_INDEX_LINE)
      .map(({ text, line }) => ({
        kind: 'long-line',
        path,
        line,
        message: `The line has ${text.length} characters; the detail belongs into a topic file`,
      })),
    ...(warning === undefined ? [] : [{ kind: 'index-too-long', path, message: warning.replace(/^> /, '') }]),
  ]
}

async function compare(dir: string, raw: string, topics: readonly StoredTopic[]): Promise<Differences> {
  const entries = parseIndex(raw)
  const listed = new Set(entries.map(({ file }) => file))
  const present = new Set(topics.map(({ file }) => file))
  const first = new Map(entries.toReversed().map((entry) => [entry.file, entry.line]))
  const dead: IndexEntry[] = []
  for (const entry of entries) {
    // It may name something that is there and no topic, such as a daily log or the team's index.
    if (!present.has(entry.file) && !(await canBeThere(join(dir, entry.file)))) dead.push(entry)
  }
  return {
    unlisted: topics.filter(({ file }) => !listed.has(file)),
    dead,
    repeated: entries.filter(
      ({ file, line }) => first.get(file) !== line && !dead.some((entry) => entry.line === line),
    ),
  }
}

/** Errors that prove that a path leads to no file; any other, such as EACCES, proves nothing. */
const NOWHERE = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']

async function canBeThere(path: string): Promise<boolean> {
  try {
    await files.lstat(path)
    return true
  } catch (error) {
    return !NOWHERE.includes(fileErrno(error) ?? '')
  }
}

/** What would make the index agree with the topic files, and one sentence for each change. */
export async function planRepair(dir: string): Promise<{ changes: FileChange[]; sentences: string[] }> {
  const { topics } = await scanFolder(dir)
  const before = await readIndex(dir)
  if (before === undefined && topics.length === 0) return { changes: [], sentences: [] }
  const raw = decode(before ?? new Uint8Array())
  const lines = raw.replace(/^\uFEFF/, '').split('\n')
  const { unlisted, dead, repeated } = await compare(dir, raw, topics)
  const takenOut = [...dead, ...repeated].filter((entry) => isOurs(lines[entry.line - 1] ?? '', entry))
  const kept = removeIndexLines(
    before ?? new Uint8Array(),
    takenOut.map(({ line }) => line),
  )
  const after = unlisted.reduce<Buffer>((index, topic) => appendIndexLine(index, indexLineOf(topic)), kept)
  return {
    changes: [{ path: await resolveInside(dir, INDEX_FILE), before, after }],
    sentences: [
      ...takenOut
        .toSorted((a, b) => a.line - b.line)
        .map(({ line }) => `take out line ${line} of ${INDEX_FILE}: ${(lines[line - 1] ?? '').trim()}`),
      ...unlisted.map((topic) => `add to ${INDEX_FILE}: ${indexLineOf(topic)}`),
    ],
  }
}

/** Whether a line is as we write it; any other holds words that somebody chose. */
function isOurs(text: string, { title, file, hook }: IndexEntry): boolean {
  return text.replace(/\r$/, '') === formatIndexLine(title, file, hook)
}
