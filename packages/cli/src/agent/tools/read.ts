import { join, parse } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { z } from 'zod'
import { fileTarget } from './file-target.ts'
import { checkRegular, readText } from './file-text.ts'
import { defineTool, done, filePath } from './tool.ts'
import type { Tool } from './tool.ts'

const MAX_LINES = 2000

export const readTool: Tool = defineTool({
  name: 'Read',
  description: `Reads a text file. Returns its text as it is; of a long one ${MAX_LINES} lines, and a last line "[cut: …]" that says so.`,
  schema: z.strictObject({
    file_path: filePath,
    offset: z.int().min(1).optional().describe('First line to read, from 1'),
    limit: z.int().min(1).optional().describe('How many lines to read'),
  }),
  isReadOnly: true,
  async plan({ file_path, offset = 1, limit = MAX_LINES }, { root, asideDir }) {
    const target = await fileTarget(root, (await ownCopy(file_path, asideDir)) ?? file_path)
    checkRegular(target)
    return {
      access: { kind: 'read', path: target.path },
      summary: target.name,
      async run() {
        const { text } = await readText(target)
        if (text === '') return done('(the file is empty)')
        return done(cutLines(text, offset, limit))
      },
    }
  },
})

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
