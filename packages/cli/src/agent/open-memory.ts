import { LociError } from '@loci/disk'
import { loadMemoryPrompt } from '@loci/memdir'
import type { SearchHit } from '@loci/memdir'
import { findMemory, withMemory } from '../compose.ts'
import type { ConfigHome } from '../config-home.ts'
import type { AgentMemory, MemoryScope } from './agent-memory.ts'

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
    dirs: enabled ? [dirs.project, dirs.user] : [],
    prompt: () => loadMemoryPrompt({ dirs, enabled }),
    async search(query) {
      const found: { scope: MemoryScope; hit: SearchHit }[] = []
      for (const scope of scopes) {
        const hits = await withMemory({ dir: dirs[scope] }, (memory) => memory.search(query))
        found.push(...hits.map((hit) => ({ scope, hit })))
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
      const made = await findMemory({ ...place, create: scope === 'project' })
      return withMemory({ dir: made.dirs[scope], sessionId, messageId }, (memory) =>
        memory.save(draft, ifRevision === undefined ? {} : { ifRevision }),
      )
    },
  }
}
