import { isLociError } from '@loci/disk'
import { z } from 'zod'
import type { AgentMemory, MemoryScope, Saved } from '../agent-memory.ts'
import { formatMemory } from './format-memory.ts'
import { defineTool, done, failed, wholeText } from './tool.ts'
import type { Tool } from './tool.ts'

export const saveMemoryTool: Tool = defineTool({
  name: 'SaveMemory',
  description:
    'Saves one memory: its topic file and its line in the index, as one act. To change an existing memory give its file and the revision that SearchMemory showed. Returns the name of the topic file; if the memory is not as that revision had it, what it is now, and nothing is saved.',
  schema: z.strictObject({
    name: wholeText().min(1).describe('Short title'),
    description: wholeText().min(1).describe('One line by which you would recognise that it matters'),
    type: z.enum(['user', 'feedback', 'project', 'reference']),
    body: wholeText().min(1).describe('The fact; for feedback and project also why, and when it applies'),
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
        const options = { messageId, ...(revision === undefined ? {} : { ifRevision: revision }) }
        const target = { ...draft, ...(file === undefined ? {} : { file }) }
        let saved: Saved
        try {
          saved = await memory.save(scope, target, options)
        } catch (error) {
          if (file === undefined || !isLociError(error, 'MEMORY_CONFLICT')) throw error
          return failed(`Nothing was saved: ${error.message}${await stateOf(memory, scope, file)}`)
        }
        const where = saved.scope === 'user' ? 'the memory for all projects' : 'the memory of this project'
        const warnings = saved.warnings.map((warning) => ` ${warning}.`).join('')
        if (saved.proposed)
          return done(`Proposed ${saved.file} for ${where}; a person decides about it.${warnings}`)
        const hidden = saved.visible
          ? ''
          : ' The index is over its limit and its line is not shown to later sessions: shorten the index.'
        return done(`Saved ${saved.file} in ${where}.${hidden}${warnings}`, {
          file: saved.file,
          scope: saved.scope,
        })
      },
    }
  },
})

/** What the model has to know to decide anew. */
async function stateOf(memory: AgentMemory, scope: MemoryScope, file: string): Promise<string> {
  const found = await memory.read(scope, file)
  return found === undefined ? '' : `\nIt is now:\n${formatMemory(scope, found)}`
}
