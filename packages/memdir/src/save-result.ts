import { secretWarnings } from './check-draft.ts'
import { isVisible, roomIn } from './index-change.ts'
import type { Memory, MemoryDraft } from './memory.ts'

export interface SaveResult {
  memory: Memory
  /** Whether the index line falls into the part of the index that is passed to the model. */
  visible: boolean
  /** Whether it waits for review; nothing but the proposal was written then. */
  proposed: boolean
  /** How much more of the index would be passed to the model now. */
  room: { lines: number; bytes: number }
  /**
   * What a person should know, a sentence each: what of the memory looks like a secret (where and by which rule,
   * never the value), and what of the index is not passed to the model.
   */
  warnings?: string[]
}

/** The result of a save of `draft` that left the index so. */
export function resultOf(
  draft: MemoryDraft,
  memory: Memory,
  index: Uint8Array = new Uint8Array(),
): SaveResult {
  const { warning, ...room } = roomIn(index)
  const cut = warning === undefined ? [] : [warning.replace(/^> /, '')]
  const warnings = [...secretWarnings(draft, memory.file), ...cut]
  return {
    memory,
    visible: isVisible(index, memory.file),
    proposed: false,
    room,
    ...(warnings.length === 0 ? {} : { warnings }),
  }
}
