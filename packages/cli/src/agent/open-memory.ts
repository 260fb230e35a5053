import { join } from 'node:path'
import { LociError, errorMessage, isLociError, orAbsent, resolveInside } from '@loci/disk'
import { checkDraft, loadMemoryPrompt, saveMemory } from '@loci/memdir'
import type { MemoryDraft } from '@loci/memdir'
import { findMemory, withMemory } from '../compose.ts'
import type { MemoryPlace } from '../compose.ts'
import type { ConfigHome } from '../config-home.ts'
import { localDate } from '../local-date.ts'
import { secretWarnings } from '../secret-warnings.ts'
import type { AgentMemory, MemoryHits, MemoryScope, Saved } from './agent-memory.ts'
import { followLinks } from './tools/file-target.ts'

/** The memory of a project for an agent, as settings and environment have it. Makes nothing before the first save. */
export async function openMemory(options: {
  home: ConfigHome
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  bare: boolean
  sessionId: string
  now: () => Date
}): Promise<AgentMemory> {
  const { sessionId, now, ...place } = options
  const opened = await findMemory(place)
  const { enabled, rule, dirs, mode } = opened
  /** Revisions that this session saved, by file. */
  const ours = new Map<string, string>()
  const scopes: readonly MemoryScope[] = ['project', 'user']
  /** Asked again each time: it may have been switched off since. */
  const placeNow = async (): Promise<MemoryPlace> => (enabled ? findMemory(place) : opened)
  async function refuseOff(): Promise<void> {
    const asked = await placeNow()
    if (asked.enabled) return
    const message = `Memory is off: ${asked.rule}; nothing was read or saved`
    throw new LociError('MEMORY_DISABLED', message, { details: { rule: asked.rule } })
  }
  return {
    enabled,
    rule,
    isExtracting: async () => (await placeNow()).extraction,
    dirs: enabled ? await Promise.all(scopes.map((scope) => realOf(dirs[scope]))) : [],
    prompt: async () => loadMemoryPrompt({ dirs, enabled: (await placeNow()).enabled, mode }),
    async search(query) {
      await refuseOff()
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
    async read(scope, file) {
      await refuseOff()
      return withMemory({ dir: dirs[scope] }, (memory) => memory.read(file))
    },
    async save(scope, draft, { ifRevision, messageId, inBackground = false }) {
      await refuseOff()
      await options.home.claim()
      const made = await findMemory({ ...place, create: scope === 'project' })
      const dir = made.dirs[scope]
      const isForeign = draft.file !== undefined && ours.get(join(dir, draft.file)) !== ifRevision
      const review = inBackground && (made.review || isForeign)
      if (mode === 'daily-log' && draft.file === undefined && !review) {
        const log = await appendToLog(made.dirs.project, draft, now())
        return { ...log, scope: 'project', visible: true, proposed: false }
      }
      const {
        memory,
        visible,
        proposed,
        warnings = [],
      } = await withMemory({ dir, sessionId, messageId, review }, (memdir) =>
        memdir.save(draft, ifRevision === undefined ? {} : { ifRevision }),
      )
      if (!proposed) ours.set(join(dir, memory.file), memory.revision)
      return { scope, file: memory.file, visible, proposed, warnings }
    },
  }
}

/** One line for one memory, in the file that `dailyLogTemplate` names; its path, relative to the folder. */
async function appendToLog(
  dir: string,
  draft: MemoryDraft,
  now: Date,
): Promise<Pick<Saved, 'file' | 'warnings'>> {
  checkDraft(draft)
  const date = localDate(now)
  const file = `logs/${date.slice(0, 4)}/${date.slice(5, 7)}/${date}.md`
  const words = [draft.description, draft.body].map((text) => text.replace(/\s+/g, ' ').trim())
  // Often the one is the other with a full stop.
  const plain = words.map((text) => text.replace(/[.。]$/, ''))
  const said = plain[0] === plain[1] ? words.slice(1) : words
  const line = `- (${draft.type}) ${said.join(': ')}`
  // Where the folder is not there yet, no link is in it.
  const path = (await orAbsent(resolveInside(dir, file))) ?? join(dir, file)
  await saveMemory(line, { file: path })
  return { file, warnings: secretWarnings(line, file) }
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
