import type { Memory } from '@loci/memdir'
import type { MemoryScope } from '../agent-memory.ts'

/** What is told of a memory beside what it says. */
interface MemoryState {
  /** How long ago, in words. */
  written: string
  /** Files that it names and that are gone. */
  missing: readonly string[]
}

/** A whole memory as the model sees it, with what it needs to change it. Pure. */
export function formatMemory(
  scope: MemoryScope,
  { file, type, description, revision, body }: Memory,
  state?: MemoryState,
): string {
  const missing = state?.missing ?? []
  return [
    `${file} (${scope}, ${type}): ${description}`,
    `revision ${revision}${state === undefined ? '' : ` (written ${state.written})`}`,
    ...(missing.length === 0
      ? []
      : [`${missing.join(', ')}, which it names, ${missing.length === 1 ? 'is' : 'are'} not there now`]),
    body.trim(),
  ].join('\n')
}
