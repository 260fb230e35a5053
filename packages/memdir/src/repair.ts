import { isUtf8 } from 'node:buffer'
import { dirname, join } from 'node:path'
import { resolveInside } from '@loci/disk'
import type { FileChange } from './apply-changes.ts'
import { compareFolder, findRenamed } from './differences.ts'
import { INDEX_FILE } from './file-name.ts'
import { readIndex, scanHeads } from './folder.ts'
import type { Folder } from './folder.ts'
import { lineOfHead } from './index-change.ts'
import {
  appendIndexLine,
  decode,
  indexLineAt,
  removeIndexLines,
  replaceIndexLine,
  retargetLine,
} from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import type { TopicHead } from './topic-head.ts'
import { planTrash } from './trash-file.ts'

/**
 * What makes the index agree with the topic files as far as that takes no words away, and one sentence for each
 * change of a line. What it takes out goes to the trash first. `pending` is what another change will have done by then.
 */
export async function planRepair(
  folder: Folder,
  pending: readonly FileChange[] = [],
): Promise<{ changes: FileChange[]; sentences: string[] }> {
  const { dir } = folder
  const path = await resolveInside(dir, INDEX_FILE)
  const goes = new Set(pending.filter(({ after }) => after === undefined).map((change) => change.path))
  const topics = (await scanHeads(dir)).heads.filter(({ file }) => !goes.has(join(dirname(path), file)))
  const planned = pending.find((change) => change.path === path)?.after
  const before = planned === undefined ? await readIndex(dir) : Buffer.from(planned)
  if (before === undefined && topics.length === 0) return { changes: [], sentences: [] }
  const index = before ?? Buffer.alloc(0)
  const differences = await compareFolder(dir, decode(index), topics)
  const renamed = findRenamed(differences)
  const rewritten = differences.dead.flatMap(({ file, line }) => {
    const topic = renamed.get(file)
    const bytes = indexLineAt(index, line)
    return topic !== undefined && isUtf8(bytes)
      ? [{ line, topic, text: retargetLine(decode(bytes), topic.file) }]
      : []
  })
  const added = differences.unlisted
    .filter((topic) => !rewritten.some((one) => one.topic === topic))
    .map(lineOfHead)
  const renewed = rewritten.reduce<Buffer>(
    (rest, { line, text }) => replaceIndexLine(rest, line, text),
    index,
  )
  // With the new names: two lines for a file that was renamed are two for the one that it is now.
  const { repeated } = await compareFolder(dir, decode(renewed), topics)
  const takenOut = findRedundant(renewed, repeated, topics)
  const kept = removeIndexLines(
    renewed,
    takenOut.map(({ line }) => line),
  )
  return {
    changes: [
      ...(await trashLines(folder, renewed, takenOut)),
      {
        path,
        before,
        after: added.reduce<Buffer>(appendIndexLine, kept),
      },
    ],
    sentences: [
      ...rewritten
        .filter(({ line }) => takenOut.every((entry) => entry.line !== line))
        .map(({ line, text }) => `write line ${line} of ${INDEX_FILE} as: ${text}`),
      ...takenOut.map(
        ({ line }) => `take out line ${line} of ${INDEX_FILE}: ${decode(indexLineAt(renewed, line)).trim()}`,
      ),
      ...added.map((line) => `add to ${INDEX_FILE}: ${line}`),
    ],
  }
}

/** Of the repeated lines those that say nothing of their own: as made from the topic, or there before. */
function findRedundant(
  index: Buffer,
  repeated: readonly IndexEntry[],
  topics: readonly TopicHead[],
): IndexEntry[] {
  const lines = decode(index)
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
  const made = new Set(topics.map(lineOfHead))
  return repeated.filter(({ line }) => {
    const text = lines[line - 1] ?? ''
    return isUtf8(indexLineAt(index, line)) && (made.has(text) || lines.indexOf(text) < line - 1)
  })
}

/** One entry for each file, since an entry is restored for one file. */
async function trashLines(
  folder: Folder,
  index: Buffer,
  takenOut: readonly IndexEntry[],
): Promise<FileChange[]> {
  const changes: FileChange[] = []
  for (const file of new Set(takenOut.map((entry) => entry.file))) {
    const lines = takenOut.filter((entry) => entry.file === file).map(({ line }) => indexLineAt(index, line))
    changes.push(await planTrash(folder, { file, lines }))
  }
  return changes
}
