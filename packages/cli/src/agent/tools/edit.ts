import { z } from 'zod'
import { changeFile } from './change-file.ts'
import { fileTarget } from './file-target.ts'
import { readText } from './file-text.ts'
import { defineTool, done, failed } from './tool.ts'
import type { Tool } from './tool.ts'

export const editTool: Tool = defineTool({
  name: 'Edit',
  description:
    'Replaces a piece of a text file. old_string must be in it exactly once, white space included; with replace_all every occurrence is replaced.',
  schema: z.strictObject({
    file_path: z.string().min(1).describe('Path of the file, absolute or relative to the project'),
    old_string: z.string().min(1).describe('What to replace, exactly as it stands in the file'),
    new_string: z.string().describe('What to put there'),
    replace_all: z.boolean().optional().describe('Replace every occurrence'),
  }),
  async plan({ file_path, old_string, new_string, replace_all = false }, context, call) {
    const target = await fileTarget(context.root, file_path)
    return {
      access: { kind: 'edit', path: target.path },
      summary: `change ${target.name}`,
      async run() {
        const { text, hasByteOrderMark } = await readText(target.path, target.name)
        const parts = text.split(old_string)
        const count = parts.length - 1
        if (count === 0)
          return failed(`${target.name} does not hold that text; read it again. Nothing was changed.`)
        if (count > 1 && !replace_all) {
          return failed(
            `${target.name} holds that text ${count} times; give more of what is around it, or replace_all. Nothing was changed.`,
          )
        }
        if (new_string === old_string)
          return failed('old_string and new_string are the same. Nothing was changed.')
        const changed = parts.join(new_string)
        await changeFile(target, hasByteOrderMark ? `\uFEFF${changed}` : changed, context, call)
        return done(`Changed ${target.name} in ${count} ${count === 1 ? 'place' : 'places'}.`, {
          type: 'update',
          filePath: target.path,
        })
      },
    }
  },
})
