import type { MessagesRequest } from '@loci/cli/testing'

const words = [
  'Hello',
  'four spaces',
  '四个空格',
  '😀',
  '𝒳',
  'a\nb',
  '"quoted"',
  ' x',
  '\u0000',
  'é',
  '\u2028',
]

/** A valid request of the Messages API that depends on nothing but the seed: turns with text, calls, results, thinking. */
export function validRequest(seed: number): MessagesRequest {
  const next = generator(seed)
  const below = (limit: number): number => Math.floor(next() * limit)
  const word = (): string => words[below(words.length)] ?? 'x'
  const text = (): { type: 'text'; text: string } => ({ type: 'text', text: `w${word()}${word()}.` })
  const messages: MessagesRequest['messages'] = []
  let calls = 0
  let open: string[] = []
  const turns = 1 + below(6)
  for (let turn = 0; turn < turns; turn++) {
    const results = open.map((id) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      ...(below(2) === 0 ? { content: word() } : { content: [text()], is_error: true }),
    }))
    const extra = results.length === 0 || below(3) === 0 ? [text()] : []
    messages.push({
      role: 'user',
      content: results.length === 0 && below(2) === 0 ? text().text : [...results, ...extra],
    })
    if (turn === turns - 1) break
    const inputs = Array.from({ length: below(3) }, () => ({ [word()]: [word(), below(9), null] }))
    open = inputs.map(() => `toolu_${++calls}`)
    const used = inputs.map((input, index) => ({
      type: 'tool_use' as const,
      id: open[index] ?? '',
      name: 'Read',
      input,
    }))
    const thought = below(2) === 0 ? [{ type: 'thinking' as const, thinking: word(), signature: 's' }] : []
    messages.push({ role: 'assistant', content: [...thought, text(), ...used] })
  }
  return {
    model: 'm',
    max_tokens: 1 + below(100),
    messages,
    ...(below(2) === 0
      ? { system: word() }
      : { system: [{ ...text(), cache_control: { type: 'ephemeral' } }] }),
    ...(below(2) === 0 ? { tools: [{ name: 'Read', input_schema: { type: 'object' } }] } : {}),
  }
}

/** Numbers from 0 to below 1, the same ones for the same seed. */
function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}
