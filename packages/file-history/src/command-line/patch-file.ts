import { createHash } from 'node:crypto'
import { relative } from 'node:path'
import { files, isLociError } from '@loci/disk'
import { MAX_TEXT_BYTES } from '../describe-change.ts'
import type { FileChange } from '../describe-change.ts'
import type { FileHistory } from '../file-history.ts'
import { gitDiff, isToldInLines } from './git-diff.ts'
import { isBelow } from './render.ts'

/** The part of a patch that is about one file, or why the patch is without it. */
export type FilePatch = { text: string } | { problem: string }

/** The change of a file since the snapshot `messageId`, as `git apply` takes it below the root. */
export async function patchFile(
  history: FileHistory,
  messageId: string,
  root: string,
  change: FileChange,
): Promise<FilePatch> {
  const name = relative(root, change.path)
  // Every name that git would take means a file of the tree.
  if (!isBelow(name)) return { problem: 'it is outside of the root' }
  if (isToldInLines(change)) return { text: gitDiff(change, name) }
  try {
    const before = change.before === null ? null : await history.readFileAt(messageId, change.path)
    const after = change.after === null ? null : await readBounded(change.path)
    if (after === 'too large' || (before !== null && before.length > MAX_TEXT_BYTES)) {
      return { problem: `it has more than ${MAX_TEXT_BYTES >> 20} MiB` }
    }
    if (sha256(before) !== change.before || sha256(after) !== change.after) {
      return { problem: 'it changes while it is looked at' }
    }
    return { text: gitDiff(change, name, { before, after }) }
  } catch (error) {
    if (!isLociError(error)) throw error
    return { problem: error.message }
  }
}

async function readBounded(path: string): Promise<Uint8Array | 'too large'> {
  const stats = await files.stat(path)
  return stats.size > BigInt(MAX_TEXT_BYTES) ? 'too large' : files.readFile(path)
}

function sha256(bytes: Uint8Array | null): string | null {
  return bytes && createHash('sha256').update(bytes).digest('hex')
}
