import { relative } from 'node:path'
import { z } from 'zod'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE, isTopicFile } from './file-name.ts'
import { linesFor } from './index-file.ts'
import { revisionOf } from './memory.ts'
import { isSideFile } from './side-files.ts'
import { fromJson, JSON_BYTES, toJson } from './json-bytes.ts'

/** Where a change of several files says what it is about to do. Scratch: there while a change is under way. */
export const INTENT_FILE = '.index'

/** One file of a change: the SHA-256 of its bytes as they were and as they shall be; `null`: not there. */
export interface IntentStep {
  /** Relative to the memory folder. */
  path: string
  before: string | null
  after: string | null
  /**
   * Of an index: the lines of one topic. The rest of it is not the change's business, so that what somebody else
   * wrote there meanwhile is no obstacle.
   */
  lines?: { before: Buffer[]; after: Buffer[] } | undefined
}

/** A change of several files, in the order in which they are written. Holds no bytes of a topic. */
export interface Intent {
  startedAt: string
  /** The topic that it is about, if it is about one alone. */
  file?: string | undefined
  steps: IntentStep[]
}

const LINES = z.array(JSON_BYTES).transform((lines) => lines.map(fromJson))

const SHAPE = z.object({
  startedAt: z.string(),
  file: z.string().refine(isTopicFile, 'it names no topic file').optional(),
  steps: z.array(
    z.object({
      path: z.string().refine(isOurs, 'it names a file that no change writes'),
      before: z.string().nullable(),
      after: z.string().nullable(),
      lines: z.object({ before: LINES, after: LINES }).optional(),
    }),
  ),
})

/** A record written by somebody else must not lead us to other files. */
function isOurs(path: string): boolean {
  return path === INDEX_FILE || isTopicFile(path) || isSideFile(path)
}

/** The record of changes that are about to be made in `dir`, a real path. */
export function formatIntent(dir: string, changes: readonly FileChange[], startedAt: string): string {
  const file = changes.find(({ linesOf }) => linesOf !== undefined)?.linesOf
  const steps = changes.map(({ path, before, after, linesOf }) => ({
    path: relative(dir, path),
    before: before === undefined ? null : revisionOf(before),
    after: after === undefined ? null : revisionOf(after),
    ...(linesOf === undefined
      ? {}
      : {
          lines: {
            before: linesFor(before, linesOf).map(toJson),
            after: linesFor(after, linesOf).map(toJson),
          },
        }),
  }))
  return `${JSON.stringify({ startedAt, ...(file === undefined ? {} : { file }), steps }, null, 2)}\n`
}

/** @throws {Error} when it is no such record */
export function parseIntent(text: string): Intent {
  const parsed = SHAPE.safeParse(JSON.parse(text))
  if (parsed.success) return parsed.data
  throw new Error(parsed.error.issues[0]?.message ?? 'not as expected')
}
