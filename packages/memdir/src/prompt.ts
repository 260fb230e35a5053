import { join } from 'node:path'
import type { MemoryDirs } from './dirs.ts'
import { INDEX_FILE } from './file-name.ts'
import { messageOf } from './folder.ts'
import { memoryGuidance } from './guidance.ts'
import { readEntrypoint } from './read-entrypoint.ts'
import type { EntrypointTruncation } from './truncate.ts'

/** The part of an index that was passed on. */
export interface LoadedIndex {
  file: string
  lines: number
  /** UTF-8 bytes. */
  bytes: number
  truncated: boolean
}

/** What memory adds to a request. */
export interface MemoryPrompt {
  /** For the system prompt: how to use memory. Depends on paths and mode alone. */
  system: string
  /**
   * The indexes as they are now; empty if they are. Append it once, at the start of a session, and send it from
   * the transcript ever after.
   */
  context: string
  loaded: LoadedIndex[]
}

/**
 * Composes what the model is told of memory: guidance and indexes, each index cut for itself. The same files
 * and options give the same bytes, whatever date, clock, file times or directory order. With `enabled: false`
 * it resolves to `null`, having looked at nothing.
 *
 * A file that is there and cannot be read, or is no regular file (a link, a directory, a FIFO), becomes a line that
 * says so; it is never passed off as empty.
 *
 * @param options.enabled what `isAutoMemoryEnabled` says
 * @param options.mode `'daily-log'`: new memories go to the log of the day instead of topic files
 * @param options.team whether the team's index is loaded too
 */
export async function loadMemoryPrompt(options: {
  dirs: MemoryDirs
  enabled: boolean
  mode?: 'index' | 'daily-log' | undefined
  team?: boolean | undefined
}): Promise<MemoryPrompt | null> {
  const { dirs, enabled, mode = 'index', team = false } = options
  if (!enabled) return null
  const sources = [
    { file: dirs.userFile, what: 'Notes for all projects' },
    { file: join(dirs.user, INDEX_FILE), what: 'Index of the memory for all projects' },
    { file: join(dirs.project, INDEX_FILE), what: 'Index of the memory of this project' },
    ...(team
      ? [{ file: join(dirs.team, INDEX_FILE), what: "Index of the team's memory of this project" }]
      : []),
  ]
  const parts = await Promise.all(sources.map(loadPart))
  return {
    system: memoryGuidance({ dirs, mode, team }),
    context: parts.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n\n'),
    loaded: parts.flatMap(({ loaded }) => (loaded === undefined ? [] : [loaded])),
  }
}

async function loadPart(source: {
  file: string
  what: string
}): Promise<{ text?: string; loaded?: LoadedIndex }> {
  const { file, what } = source
  const heading = `${what} (${file}):`
  let index: EntrypointTruncation | undefined
  try {
    index = await readEntrypoint(file)
  } catch (error) {
    return {
      text: `${heading}\n\n> It is there but could not be read, so what it holds is unknown. ${messageOf(error)}`,
    }
  }
  if (index === undefined || index.content === '') return {}
  const { content, warning, lineTruncated, byteTruncated } = index
  return {
    text: [heading, content, ...(warning === undefined ? [] : [warning])].join('\n\n'),
    loaded: {
      file,
      lines: content.split('\n').length,
      bytes: Buffer.byteLength(content),
      truncated: lineTruncated || byteTruncated,
    },
  }
}
