import { z } from 'zod'
import { defineTool, done } from './tool.ts'
import type { Tool } from './tool.ts'

const MAX_HITS = 10

export const searchMemoryTool: Tool = defineTool({
  name: 'SearchMemory',
  description:
    'Searches the memories of this project and of all projects by words. Returns the best whole, with file, scope, type and revision.',
  schema: z.strictObject({ query: z.string().min(1).describe('Words to look for') }),
  async plan({ query }, { memory }) {
    return {
      access: { kind: 'recall' },
      summary: query,
      async run() {
        if (!memory.enabled) return done(`Memory is off: ${memory.rule}.`)
        const hits = (await memory.search(query)).slice(0, MAX_HITS)
        if (hits.length === 0) return done('No memory fits.')
        const texts = hits.map(({ scope, hit: { memory: found } }) =>
          [
            `${found.file} (${scope}, ${found.type}): ${found.description}`,
            `revision ${found.revision}`,
            found.body.trim(),
          ].join('\n'),
        )
        return done(texts.join('\n\n'))
      },
    }
  },
})
