import type { Memory } from '@loci/memdir'
import type { MemoryScope } from '../agent-memory.ts'

/** A whole memory as the model sees it, with what it needs to change it. Pure. */
export function formatMemory(
  scope: MemoryScope,
  { file, type, description, revision, body }: Memory,
): string {
  return [`${file} (${scope}, ${type}): ${description}`, `revision ${revision}`, body.trim()].join('\n')
}
