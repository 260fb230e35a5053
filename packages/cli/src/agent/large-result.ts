import { join } from 'node:path'
import { files, writeFileAtomic } from '@loci/disk'
import { cutText } from '../cut-text.ts'

/** Characters (UTF-16 units) of a tool's result that are sent to the model as they are. */
export const MAX_RESULT_UNITS = 30_000
const PREVIEW_UNITS = 2000

/** What stands for a result that is too large, in every request from the first on. */
export interface LargeResult {
  /** File with the whole text. */
  path: string
  /** What the model sees. */
  preview: string
  sizeBytes: number
}

/** Where the results of a session are put aside. */
export function toolResultsDir(projectDir: string, sessionId: string): string {
  return join(projectDir, sessionId, 'tool-results')
}

/**
 * Puts the text of a large result into a new file of its own (0600), named for the call.
 *
 * @throws {LociError} DISK_FULL, DISK_IO
 */
export async function putAside(dir: string, toolUseId: string, text: string): Promise<LargeResult> {
  // The id is the model's; a name must be none of its making.
  const name = toolUseId.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 100) || 'result'
  await files.mkdir(dir)
  const path = await writeNew(join(dir, name), text)
  const sizeBytes = Buffer.byteLength(text)
  return { path, preview: previewOf(text, path, sizeBytes), sizeBytes }
}

/** Ids that differ may give one name: what is there is never overwritten, an earlier preview names it. */
async function writeNew(path: string, text: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? `${path}.txt` : `${path}-${count}.txt`
    if (await writeFileAtomic(free, text, { mode: 0o600, ifAbsent: true })) return free
  }
}

function previewOf(text: string, path: string, sizeBytes: number): string {
  const start = cutText(text, PREVIEW_UNITS)
  return [
    '<persisted-output>',
    `The output has ${sizeBytes} bytes, too many to show. All of it is in ${path}; Read shows parts of it.`,
    '',
    `It begins (${start.length} characters):`,
    start,
    '…',
    '</persisted-output>',
  ].join('\n')
}
