import { files } from '@loci/disk'
import type { FileState } from './compare.ts'
import { describeChange, MAX_TEXT_BYTES } from './describe-change.ts'
import type { FileChange, Side } from './describe-change.ts'
import { readSmall, SMALL_BYTES } from './read-small.ts'

/** A state and the file that holds it; `null`: absence. */
export type Located = { state: FileState; file: string } | null

/** {@link describeChange} on files. */
export async function loadChange(options: {
  path: string
  name: string
  before: Located
  after: Located
  patch: boolean
}): Promise<FileChange | undefined> {
  const [before, after] = await Promise.all([loadSide(options.before), loadSide(options.after)])
  return describeChange({ ...options, before, after })
}

async function loadSide(side: Located): Promise<Side | null> {
  if (side === null) return null
  const { state, file } = side
  if (state.sizeBytes > MAX_TEXT_BYTES) return { state, bytes: undefined }
  const small = state.sizeBytes <= SMALL_BYTES ? readSmall(file, 'one') : undefined
  return { state, bytes: small ? Buffer.from(small.bytes) : await files.readFile(file) }
}
