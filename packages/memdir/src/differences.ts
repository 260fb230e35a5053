import { join } from 'node:path'
import { fileErrno, files } from '@loci/disk'
import { formatIndexLine, parseIndex } from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import type { TopicHead } from './topic-head.ts'

/** How index and topic files differ. */
export interface Differences<Topic extends { file: string }> {
  unlisted: Topic[]
  /** Entries whose file is not there. */
  dead: IndexEntry[]
  /** Entries for a file that an earlier one names. */
  repeated: IndexEntry[]
}

export async function compareFolder<Topic extends { file: string }>(
  dir: string,
  raw: string,
  topics: readonly Topic[],
): Promise<Differences<Topic>> {
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

/**
 * Topics that were renamed by hand, by the file name they had: a topic without a line, if one file alone that
 * is gone has an entry with its name, and that file has no other topic it could be.
 */
export function findRenamed({ unlisted, dead }: Differences<TopicHead>): Map<string, TopicHead> {
  const candidates = unlisted.map((topic) => {
    const title = titleOf(topic)
    return { topic, from: new Set(dead.filter((entry) => entry.title === title).map(({ file }) => file)) }
  })
  const renamed = new Map<string, TopicHead>()
  for (const { topic, from } of candidates) {
    const [file, ...others] = from
    if (file === undefined || others.length > 0) continue
    if (candidates.filter((candidate) => candidate.from.has(file)).length === 1) renamed.set(file, topic)
  }
  return renamed
}

/** The name of a topic as its index line shows it. */
function titleOf({ name }: TopicHead): string | undefined {
  return parseIndex(formatIndexLine(name, 'x.md', ''))[0]?.title
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
