import { z } from 'zod'
import { defineTool, done } from './tool.ts'
import type { Tool } from './tool.ts'

export const saveMemoryTool: Tool = defineTool({
  name: 'SaveMemory',
  description:
    'Saves one memory: its topic file and its line in the index, as one act. To change an existing memory give its file and the revision that SearchMemory showed.',
  schema: z.strictObject({
    name: z.string().min(1).describe('Short title'),
    description: z.string().min(1).describe('One line by which you would recognise that it matters'),
    type: z.enum(['user', 'feedback', 'project', 'reference']),
    body: z.string().min(1).describe('The fact; for feedback and project also why, and when it applies'),
    scope: z
      .enum(['project', 'user'])
      .describe('project: holds in this project. user: holds in every project'),
    file: z.string().optional().describe('An existing topic file to change'),
    revision: z.string().optional().describe('Of that file, as SearchMemory showed it'),
  }),
  async plan({ scope, file, revision, ...draft }, { memory }, { messageId }) {
    return {
      access: { kind: 'memory' },
      summary: `remember: ${draft.description}`,
      async run() {
        const saved = await memory.save(
          scope,
          { ...draft, ...(file === undefined ? {} : { file }) },
          { messageId, ...(revision === undefined ? {} : { ifRevision: revision }) },
        )
        const where = scope === 'user' ? 'the memory for all projects' : 'the memory of this project'
        if (saved.proposed)
          return done(`Proposed ${saved.memory.file} for ${where}; a person decides about it.`)
        const hidden = saved.visible
          ? ''
          : ' The index is over its limit and its line is not shown to later sessions: shorten the index.'
        return done(`Saved ${saved.memory.file} in ${where}.${hidden}`, { file: saved.memory.file, scope })
      },
    }
  },
})
