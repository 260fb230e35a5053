import { z } from 'zod'
import { changeFile } from './change-file.ts'
import { fileTarget } from './file-target.ts'
import { MAX_TEXT_BYTES, checkRegular, readText } from './file-text.ts'
import { previewOf } from './preview.ts'
import { defineTool, done, failed, filePath, wholeText } from './tool.ts'
import type { Tool } from './tool.ts'

export const editTool: Tool = defineTool({
  name: 'Edit',
  description:
    'Replaces a piece of a text file. old_string must be in it exactly once, white space included; with replace_all every occurrence is replaced. A file that changed since you read it is left alone. Returns in how many places, or why nothing was changed.',
  schema: z.strictObject({
    file_path: filePath,
    old_string: wholeText().min(1).describe('What to replace, exactly as it stands in the file'),
    new_string: wholeText().describe('What to put there'),
    replace_all: z.boolean().optional().describe('Replace every occurrence'),
  }),
  async plan({ file_path, old_string, new_string, replace_all = false }, context, call) {
    const target = await fileTarget(context.root, file_path)
    checkRegular(target)
    return {
      access: { kind: 'edit', path: target.path, asked: target.asked },
      summary: `change ${target.name}${replace_all ? ', everywhere' : ''}`,
      preview: previewOf({ removed: old_string, added: new_string }),
      async run() {
        const { text, hasByteOrderMark, stamp } = await readText(target)
        const count = countIn(text, old_string)
        if (count === 0)
          return failed(`${target.name} does not hold that text; read it again. Nothing was changed.`)
        if (count > 1 && !replace_all) {
          return failed(
            `${target.name} holds that text ${count} times; give more of what is around it, or replace_all. Nothing was changed.`,
          )
        }
        if (new_string === old_string)
          return failed('old_string and new_string are the same. Nothing was changed.')
        const parts = text.split(old_string)
        const places = parts.length - 1
        const growth = Buffer.byteLength(new_string) - Buffer.byteLength(old_string)
        if (Buffer.byteLength(text) + places * growth > MAX_TEXT_BYTES)
          return failed(`${target.name} would grow over ${MAX_TEXT_BYTES} bytes. Nothing was changed.`)
        const changed = parts.join(new_string)
        await changeFile(
          { target, text: hasByteOrderMark ? `\uFEFF${changed}` : changed, over: stamp },
          context,
          call,
        )
        return done(`Changed ${target.name} in ${places} ${places === 1 ? 'place' : 'places'}.`, {
          type: 'update',
          filePath: target.path,
        })
      },
    }
  },
})

/** Places where `piece` begins in `text`, also where they overlap: "aa" is twice in "aaa". Pure. */
export function countIn(text: string, piece: string): number {
  let count = 0
  for (let at = text.indexOf(piece); at >= 0; at = text.indexOf(piece, at + 1)) count += 1
  return count
}
