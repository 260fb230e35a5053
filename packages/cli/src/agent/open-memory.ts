import { LociError, errorMessage, isLociError } from '@loci/disk'
import { loadMemoryPrompt } from '@loci/memdir'
import { findMemory, withMemory } from '../compose.ts'
import type { ConfigHome } from '../config-home.ts'
import type { AgentMemory, MemoryHits, MemoryScope } from './agent-memory.ts'
import { followLinks } from './tools/file-target.ts'

/** The memory of a project for an agent, as settings and environment have it. Makes nothing before the first save. */
export async function openMemory(options: {
  home: ConfigHome
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  bare: boolean
  sessionId: string
}): Promise<AgentMemory> {
  const { sessionId, ...place } = options
  const { enabled, rule, dirs } = await findMemory(place)
  const scopes: readonly MemoryScope[] = ['project', 'user']
  return {
    enabled,
    rule,
    dirs: enabled ? await Promise.all(scopes.map((scope) => realOf(dirs[scope]))) : [],
    prompt: () => loadMemoryPrompt({ dirs, enabled }),
    async search(query) {
      const found: MemoryHits = { hits: [], problems: [] }
      for (const scope of scopes) {
        try {
          const hits = await withMemory({ dir: dirs[scope] }, (memory) => memory.search(query))
          found.hits.push(...hits.map((hit) => ({ scope, hit })))
        } catch (error) {
          if (!isLociError(error)) throw error
          found.problems.push(`The memory of scope ${scope} could not be searched: ${errorMessage(error)}`)
        }
      }
      return found
    },
    read: (scope, file) => withMemory({ dir: dirs[scope] }, (memory) => memory.read(file)),
    async save(scope, draft, { ifRevision, messageId }) {
      if (!enabled) {
        throw new LociError('MEMORY_DISABLED', `Memory is off: ${rule}; nothing was saved`, {
          details: { rule },
        })
      }
      await options.home.claim()
      const made = await findMemory({ ...place, create: scope === 'project' })
      return withMemory({ dir: made.dirs[scope], sessionId, messageId }, (memory) =>
        memory.save(draft, ifRevision === undefined ? {} : { ifRevision }),
      )
    },
  }
}

/** What permissions compare with. A folder that is a link to nowhere has no other path than its own. */
async function realOf(dir: string): Promise<string> {
  try {
    return await followLinks(dir)
  } catch (error) {
    if (isLociError(error, 'PATH_LINK', 'PATH_INVALID')) return dir
    throw error
  }
}
