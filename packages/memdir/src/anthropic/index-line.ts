import { isUtf8 } from 'node:buffer'
import { LociError } from '@loci/disk'
import {
  appendIndexLine,
  decode,
  entriesFor,
  findEntry,
  formatIndexLine,
  indexLineAt,
  parseIndex,
  replaceIndexLine,
  retargetLine,
} from '../index-file.ts'
import type { IndexEntry } from '../index-file.ts'
import { toMemory } from '../memory.ts'
import type { Memory, StoredTopic } from '../memory.ts'

/**
 * The index after a topic was made, rewritten or renamed: each of its lines says of the topic as it is now what it
 * said of it as it was. Words that somebody chose for the line stay. A topic without a line gets one.
 *
 * @throws {LociError} MEMORY_INVALID when a line that must change is not UTF-8
 */
export function followTopic(index: Buffer, old: StoredTopic | undefined, next: StoredTopic): Buffer {
  const memory = toMemory(next).memory
  if (findEntry(index, (old ?? next).file) === undefined) return appendIndexLine(index, lineOf(memory))
  if (old === undefined) return index
  const was = toMemory(old).memory
  return entriesFor(index, old.file).reduce<Buffer>((rest, entry) => {
    const bytes = indexLineAt(rest, entry.line)
    const text = followLine(decode(bytes), entry, [was, memory])
    if (text === decode(bytes)) return rest
    if (isUtf8(bytes)) return replaceIndexLine(rest, entry.line, text)
    throw new LociError(
      'MEMORY_INVALID',
      `Line ${entry.line} of the index is not UTF-8; mend it by hand, then try again`,
    )
  }, index)
}

function followLine(text: string, entry: IndexEntry, [was, memory]: readonly [Memory, Memory]): string {
  const [usual] = parseIndex(lineOf(was))
  const title = entry.title === usual?.title ? memory.name : entry.title
  const hook = entry.hook === usual?.hook ? hookOf(memory) : entry.hook
  const line = formatIndexLine(title, memory.file, hook)
  const [said] = parseIndex(line)
  const says = said?.title === entry.title && said.hook === entry.hook
  // Words of somebody's own that a line of ours has no room for stay in theirs.
  const cuts = hook === entry.hook && said?.hook !== hook
  if (!says && !cuts) return line
  return memory.file === was.file ? text : retargetLine(text, memory.file)
}

function lineOf(memory: Memory): string {
  return formatIndexLine(memory.name, memory.file, hookOf(memory))
}

/** The description, else the first line that says something. */
function hookOf({ description, body }: Memory): string {
  if (description.trim() !== '') return description
  const line = body.split('\n').find((one) => /[\p{L}\p{N}]/u.test(one)) ?? ''
  return line.replace(/^[\s#>*+-]+/, '')
}
