import { z } from 'zod'
import { changeFile } from './change-file.ts'
import { fileTarget } from './file-target.ts'
import { checkRegular } from './file-text.ts'
import { previewOf } from './preview.ts'
import { defineTool, done, filePath, wholeText } from './tool.ts'
import type { Tool } from './tool.ts'

export const writeTool: Tool = defineTool({
  name: 'Write',
  description:
    'Writes a whole file, and makes its directories. An existing file is replaced and keeps its mode; read it first: one that changed since then is left alone. To change a part, use Edit. Returns "Created NAME." or "Replaced NAME.".',
  schema: z.strictObject({
    file_path: filePath,
    content: wholeText().describe('All that the file will hold'),
  }),
  async plan({ file_path, content }, context, call) {
    const target = await fileTarget(context.root, file_path)
    if (target.found !== null) checkRegular(target)
    const over = target.found?.kind === 'file' ? target.found.stamp : null
    return {
      access: { kind: 'edit', path: target.path, asked: target.asked },
      summary: `${over === null ? 'create' : 'replace'} ${target.name} (${Buffer.byteLength(content)} bytes)`,
      preview: previewOf({ added: content }),
      async run() {
        await changeFile({ target, text: content, over }, context, call)
        return done(`${over === null ? 'Created' : 'Replaced'} ${target.name}.`, {
          type: over === null ? 'create' : 'update',
          filePath: target.path,
        })
      },
    }
  },
})
