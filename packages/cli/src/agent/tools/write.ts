import { files, orAbsent } from '@loci/disk'
import { z } from 'zod'
import { changeFile } from './change-file.ts'
import { fileTarget } from './file-target.ts'
import { defineTool, done } from './tool.ts'
import type { Tool } from './tool.ts'

export const writeTool: Tool = defineTool({
  name: 'Write',
  description:
    'Writes a whole file, and makes its directories. An existing file is replaced and keeps its mode; read it first. To change a part, use Edit.',
  schema: z.strictObject({
    file_path: z.string().min(1).describe('Path of the file, absolute or relative to the project'),
    content: z.string().describe('All that the file will hold'),
  }),
  async plan({ file_path, content }, context, call) {
    const target = await fileTarget(context.root, file_path)
    const isThere = (await orAbsent(files.stat(target.path))) !== undefined
    return {
      access: { kind: 'edit', path: target.path },
      summary: `${isThere ? 'replace' : 'create'} ${target.name} (${Buffer.byteLength(content)} bytes)`,
      async run() {
        await changeFile(target, content, context, call)
        return done(`${isThere ? 'Replaced' : 'Created'} ${target.name}.`, {
          type: isThere ? 'update' : 'create',
          filePath: target.path,
        })
      },
    }
  },
})
