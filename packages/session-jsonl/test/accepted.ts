import type { ContentBlock, ModelMessage } from '@loci/session-jsonl'
import { expect } from 'vitest'

/** Fails unless the Messages API would take these messages as they are. */
export function assertAccepted(messages: readonly ModelMessage[]): void {
  let open: string[] = []
  const seen = new Set<string>()
  for (const [index, { role, content }] of messages.entries()) {
    expect(role).toBe(index % 2 === 0 ? 'user' : 'assistant')
    const blocks: ContentBlock[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    expect(blocks.length).toBeGreaterThan(0)
    for (const part of blocks) if (part.type === 'text') expect(part.text.trim()).not.toBe('')
    const results = blocks.flatMap((part) => (part.type === 'tool_result' ? [part.tool_use_id] : []))
    expect(results.toSorted()).toEqual(open.toSorted())
    expect(blocks.slice(0, results.length).every(({ type }) => type === 'tool_result')).toBe(true)
    open = blocks.flatMap((part) => (part.type === 'tool_use' ? [part.id] : []))
    for (const id of open) {
      expect(seen.has(id)).toBe(false)
      seen.add(id)
    }
    if (role === 'user') expect(open).toEqual([])
    else expect(['thinking', 'redacted_thinking']).not.toContain(blocks.at(-1)?.type)
  }
  expect(/[\uD800-\uDFFF]/u.test(JSON.stringify(messages))).toBe(false)
  expect(open).toEqual([])
}
