import { z } from 'zod'
import type { FileChange } from './apply-changes.ts'
import type { Folder } from './folder.ts'
import { fromJson, JSON_BYTES, toJson } from './json-bytes.ts'
import type { JsonBytes } from './json-bytes.ts'
import { SIDE_FILE_MODE, sideFilePath } from './side-files.ts'

/** Where removed and replaced things lie in a memory folder. */
export const TRASH_DIR = '.trash'

/** As stored in `.trash/<id>.json`: the topic's bytes, as text where they are, and index lines that named it. */
export interface StoredTrash {
  file: string
  removedAt: string
  lines?: JsonBytes[] | undefined
  text?: string | undefined
  base64?: string | undefined
}

export const TRASH_SHAPE: z.ZodType<StoredTrash> = z
  .looseObject({
    file: z.string(),
    removedAt: z.string(),
    lines: z.array(JSON_BYTES).optional(),
    text: z.string().optional(),
    base64: z.string().optional(),
  })
  .refine(
    ({ text, base64, lines = [] }) => text !== undefined || base64 !== undefined || lines.length > 0,
    'it holds neither a topic nor index lines',
  )

/** What goes to the trash: a topic file with its index lines, or index lines alone. */
export interface Trashed {
  file: string
  bytes?: Buffer
  /** Whole lines of the index, without line ends. */
  lines: readonly Buffer[]
}

/** The new trash entry. It comes before the change that takes away what it keeps. */
export async function planTrash(folder: Folder, { file, bytes, lines }: Trashed): Promise<FileChange> {
  const value: StoredTrash = {
    file,
    removedAt: folder.clock().toISOString(),
    ...(lines.length === 0 ? {} : { lines: lines.map(toJson) }),
    ...topicToJson(bytes),
  }
  const path = await sideFilePath(folder.dir, TRASH_DIR, folder.createId())
  const after = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return { path, before: undefined, after, mode: SIDE_FILE_MODE }
}

/** Undoes what {@link planTrash} stored. */
export function trashed({ file, text, base64, lines = [] }: StoredTrash): Trashed {
  const bytes = text !== undefined ? Buffer.from(text) : base64 && Buffer.from(base64, 'base64')
  return {
    file,
    lines: lines.map(fromJson),
    ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes) }),
  }
}

function topicToJson(bytes: Buffer | undefined): { text?: string; base64?: string } {
  if (bytes === undefined) return {}
  const json = toJson(bytes)
  return typeof json === 'string' ? { text: json } : json
}
