import { isTopicFile } from './file-name.ts'
import { decode, linesFor } from './index-file.ts'
import { PROPOSAL_SHAPE, PROPOSALS_DIR } from './review.ts'
import { parseTopic } from './topic-file.ts'
import { TRASH_SHAPE, trashed } from './trash-file.ts'
import type { Trashed } from './trash-file.ts'

/** A file of a memory folder, by its path in that. */
export interface PlacedFile {
  path: string
  bytes: Buffer
}

/**
 * Whether what a file says stands elsewhere too, so that nothing is lost with it: a topic in another topic file or in
 * the trash, a trash entry in the topic and the index, a proposal in the topic that was made of it. Pure.
 *
 * @param staying the files that are there and stay
 */
export function isHeldElsewhere(
  { path, bytes }: PlacedFile,
  staying: readonly PlacedFile[],
  index: Uint8Array | undefined,
): boolean {
  const others = staying.filter((other) => other.path !== path)
  if (isTopicFile(path)) return others.some((other) => holdsTopic(other, { path, bytes }))
  const topics = others.filter((other) => isTopicFile(other.path))
  if (path.startsWith(`${PROPOSALS_DIR}/`)) return topics.some((topic) => isMadeOf(topic, bytes))
  const entry = trashedIn(bytes)
  if (entry === undefined) return false
  const stands = linesFor(index, entry.file)
  return (
    entry.lines.every((line) => stands.some((other) => other.equals(line))) &&
    (entry.bytes === undefined ||
      topics.some((topic) => topic.path === entry.file && entry.bytes?.equals(topic.bytes)))
  )
}

function holdsTopic(other: PlacedFile, topic: PlacedFile): boolean {
  if (isTopicFile(other.path)) return other.bytes.equals(topic.bytes)
  const entry = trashedIn(other.bytes)
  return entry?.file === topic.path && entry.bytes?.equals(topic.bytes) === true
}

function isMadeOf(topic: PlacedFile, proposal: Buffer): boolean {
  const parsed = PROPOSAL_SHAPE.safeParse(jsonIn(proposal))
  if (!parsed.success) return false
  const { name, body } = parseTopic(decode(topic.bytes))
  return name === parsed.data.draft.name && body === parsed.data.draft.body
}

function trashedIn(bytes: Buffer): Trashed | undefined {
  const parsed = TRASH_SHAPE.safeParse(jsonIn(bytes))
  return parsed.success ? trashed(parsed.data) : undefined
}

function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(decode(bytes))
  } catch {
    return undefined
  }
}
