import { join } from 'node:path'
import type { Damage } from '@loci/disk'
import { compareFolder } from './differences.ts'
import { INDEX_FILE } from './file-name.ts'
import { planFinish } from './finish-change.ts'
import { messageOf, readIndex, scanFolder } from './folder.ts'
import { decode, LONG_INDEX_LINE } from './index-file.ts'
import { INTENT_FILE } from './intent.ts'
import { toMemory } from './memory.ts'
import type { StoredTopic } from './memory.ts'
import { PROPOSALS_DIR, readProposals } from './review.ts'
import { TRASH_DIR } from './trash-file.ts'
import { readTrash } from './trash.ts'
import { cleanLines, truncateEntrypointContent } from './truncate.ts'

/** All that is wrong in a memory folder: in the index, the topic files, the trash and the proposals. */
export async function verifyFolder(dir: string): Promise<Damage[]> {
  const { topics, damage } = await scanFolder(dir)
  const trash = await readTrash(dir).catch(unreadable(join(dir, TRASH_DIR)))
  const proposals = await readProposals(dir).catch(unreadable(join(dir, PROPOSALS_DIR)))
  const unfinished = await planFinish(dir).catch(unreadable(join(dir, INTENT_FILE)))
  return [
    ...(unfinished?.damage ?? []),
    ...(await verifyIndex(dir, topics)),
    ...damage,
    ...topics.flatMap((topic) => toMemory(topic).damage),
    ...trash.damage,
    ...proposals.damage,
  ]
}

function unreadable(path: string): (error: unknown) => { damage: Damage[] } {
  return (error) => ({ damage: [{ kind: 'unreadable', path, message: messageOf(error) }] })
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
  const { unlisted, dead, repeated } = await compareFolder(dir, raw, topics)
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
      message: `The index names ${JSON.stringify(file)}, which is not there: take the line out by hand, or bring the file back`,
    })),
    ...repeated.map(({ file, line }) => ({
      kind: 'repeated-line',
      path,
      line,
      message: `The index names ${JSON.stringify(file)} a second time: repair takes the line out if it says nothing of its own`,
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
