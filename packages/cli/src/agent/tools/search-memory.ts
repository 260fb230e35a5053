import { z } from 'zod'
import type { MemoryHits } from '../agent-memory.ts'
import { ageText } from './age-text.ts'
import { formatMemory } from './format-memory.ts'
import { missingFiles } from './named-files.ts'
import { defineTool, done, wholeText } from './tool.ts'
import type { Tool, ToolContext } from './tool.ts'

/** Of each scope, so that many weak hits of one do not hide a good one of the other. */
const MAX_HITS = 10

export const searchMemoryTool: Tool = defineTool({
  name: 'SearchMemory',
  description: `Searches the memories of this project and of all projects by words. Returns the best whole, up to ${MAX_HITS} of each scope: "FILE (SCOPE, TYPE): DESCRIPTION", "revision … (written …)", which files that it names are not there now, then the text; or "No memory fits.".`,
  schema: z.strictObject({ query: wholeText().min(1).describe('Words to look for') }),
  isReadOnly: true,
  async plan({ query }, context) {
    const { memory } = context
    return {
      access: { kind: 'recall' },
      summary: query,
      async run() {
        if (!memory.enabled) return done(`Memory is off: ${memory.rule}.`)
        const { hits, problems } = await memory.search(query)
        const scopes = [...new Set(hits.map(({ scope }) => scope))]
        const shown = scopes.flatMap((scope) => hits.filter((one) => one.scope === scope).slice(0, MAX_HITS))
        const texts = await Promise.all(shown.map((one) => textOf(one, context)))
        const more = hits.length - shown.length
        if (more > 0) texts.push(`[${more} more fit less well; more exact words would show them]`)
        const answer = texts.length > 0 ? texts : ['No memory fits.']
        return {
          text: [...answer, ...problems].join('\n\n'),
          isError: hits.length === 0 && problems.length > 0,
        }
      },
    }
  },
})

async function textOf(
  { scope, hit: { memory } }: MemoryHits['hits'][number],
  { root, now }: ToolContext,
): Promise<string> {
  // What holds in every project names files of others too.
  const missing = scope === 'project' ? await missingFiles(root, memory.body) : []
  return formatMemory(scope, memory, { written: ageText(memory.modifiedAtMs, now()), missing })
}
