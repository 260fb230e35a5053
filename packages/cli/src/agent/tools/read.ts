import { join, parse } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { z } from 'zod'
import { fileTarget } from './file-target.ts'
import type { FileTarget } from './file-target.ts'
import { checkRegular, readBytes, textOf } from './file-text.ts'
import { imageOf } from './image-type.ts'
import { defineTool, done, failed, filePath } from './tool.ts'
import type { Tool, ToolResult } from './tool.ts'

const MAX_LINES = 2000
/** Of an image, in base64; and of each of its sides. The API refuses more. */
const MAX_IMAGE_BYTES = Math.floor((5 << 20) / 4) * 3
const MAX_IMAGE_PIXELS = 8000

export const readTool: Tool = defineTool({
  name: 'Read',
  description: `Reads a text file, or an image (PNG, JPEG, GIF, WebP). Returns its text as it is; of a long one ${MAX_LINES} lines, and a last line "[cut: …]" that says so; of an image a line about it, and the image.`,
  schema: z.strictObject({
    file_path: filePath,
    offset: z.int().min(1).optional().describe('First line to read, from 1'),
    limit: z.int().min(1).optional().describe('How many lines to read'),
  }),
  isReadOnly: true,
  async plan({ file_path, offset = 1, limit = MAX_LINES }, { root, asideDir, seen }) {
    const target = await fileTarget(root, (await ownCopy(file_path, asideDir)) ?? file_path)
    checkRegular(target)
    return {
      access: { kind: 'read', path: target.path, asked: target.asked },
      summary: target.name,
      async run() {
        const read = await readBytes(target)
        const shown = imageResult(read.bytes, target)
        if (shown !== undefined) return shown
        const { text } = textOf(read, target)
        seen.set(target.path, read.stamp)
        return done(text === '' ? '(the file is empty)' : cutLines(text, offset, limit))
      },
    }
  },
})

/** What a file that is no text is answered with; `undefined`: it may be one. */
function imageResult(bytes: Buffer, { name, path }: FileTarget): ToolResult | undefined {
  if (bytes.subarray(0, 1024).includes('%PDF-') && bytes.includes(0))
    return failed(
      `${name} is a PDF, and those are not shown; with Bash a program may make text or images of it.`,
    )
  const image = imageOf(bytes)
  if (image === undefined) return undefined
  const { type, width, height, isWhole } = image
  const what = `${name}: ${type}, ${width} × ${height}, ${bytes.length} bytes`
  if (!isWhole) return failed(`${what}. It has no end, so it is not shown.`)
  if (bytes.length > MAX_IMAGE_BYTES || Math.max(width, height) > MAX_IMAGE_PIXELS)
    return failed(
      `${what}. Only images up to ${MAX_IMAGE_BYTES} bytes and ${MAX_IMAGE_PIXELS} pixels a side are shown; with Bash a program may make it smaller.`,
    )
  return {
    ...done(what, { type: 'image', filePath: path, width, height }),
    image: { mediaType: type, base64: bytes.toString('base64') },
  }
}

/**
 * A conversation that was copied names results that were put aside by the path that they had where it came from; with it
 * came copies, which stay when that is gone. Their names are unique.
 */
async function ownCopy(path: string, asideDir: string): Promise<string | undefined> {
  const { base, dir } = parse(path)
  if (parse(dir).base !== parse(asideDir).base) return undefined
  const copy = join(asideDir, base)
  return (await orAbsent(files.lstat(copy)))?.isFile() === true ? copy : undefined
}

/** Lines `offset` to `offset + limit - 1`; the text itself if that is all of it. Pure. */
export function cutLines(text: string, offset: number, limit: number): string {
  const all = text.split('\n')
  if (all.at(-1) === '') all.pop()
  if (offset === 1 && all.length <= limit) return text
  const shown = all.slice(offset - 1, offset - 1 + limit)
  if (shown.length === 0) return `[cut: the file has ${all.length} lines, none from ${offset} on]`
  const last = offset + shown.length - 1
  const more = last < all.length ? `; offset ${last + 1} goes on` : ''
  return `${shown.join('\n')}\n[cut: lines ${offset} to ${last} of ${all.length}${more}]`
}
