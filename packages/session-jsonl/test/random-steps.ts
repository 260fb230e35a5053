import * as fc from 'fast-check'

/** One tool call of a message. */
export interface Call {
  /** When it finishes, among those of its message. */
  order: number
  /** Whether its result is in the file before the lines of its message that follow. */
  early: boolean
  /** An attachment between call and result, or one that hangs off the result. */
  note: 'none' | 'before' | 'after'
  result: 'text' | 'blocks' | 'error'
  /** Whether its input looks like a line of a transcript. */
  decoy: boolean
}

/** Something that happens in a session. */
export type Step =
  | { do: 'turn'; said: string; rounds: Call[][]; thinking: boolean; notes: number; closes: boolean }
  | { do: 'interrupt'; said: string; calls: Call[]; finished: number }
  | { do: 'rewind'; at: number }
  | { do: 'begin again' }
  | { do: 'branch'; at: number }
  | { do: 'go back'; at: number }
  | { do: 'compact'; keep: number; form: 'messages' | 'segment' | 'none' }
  | { do: 'subagent'; at: number; length: number }
  | { do: 'replace'; at: number }
  | { do: 'record'; kind: number }
  | { do: 'progress'; inChain: boolean }

const at = fc.nat({ max: 60 })
const said = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('hello', 'go on', '') },
  fc.constantFrom('é\u2028\u2029\u0085', '😀', '\uD83D', '\\"', '}{', '{"type":"user","uuid":"x"}\n', '\0'),
  fc.string({ unit: 'binary', maxLength: 12 }),
)
const call: fc.Arbitrary<Call> = fc.record({
  order: fc.nat({ max: 4 }),
  early: fc.boolean(),
  note: fc.constantFrom('none' as const, 'none' as const, 'before' as const, 'after' as const),
  result: fc.constantFrom('text' as const, 'blocks' as const, 'error' as const),
  decoy: fc.boolean(),
})
const calls = fc.array(call, { minLength: 1, maxLength: 4 })

/** A step of a kind, as often as its weight says. */
function step<K extends Step['do']>(
  weight: number,
  kind: K,
  fields: { [F in Exclude<keyof Extract<Step, { do: K }>, 'do'>]: fc.Arbitrary<Extract<Step, { do: K }>[F]> },
): { weight: number; arbitrary: fc.Arbitrary<Step> } {
  const arbitrary = fc.record({ do: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Step>
  return { weight, arbitrary }
}

/** Any step; which of the lines so far one is about (`at`) is taken modulo their number. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  step(8, 'turn', {
    said,
    rounds: fc.array(calls, { maxLength: 2 }),
    thinking: fc.boolean(),
    notes: fc.nat({ max: 2 }),
    closes: fc.boolean(),
  }),
  step(2, 'interrupt', { said, calls, finished: fc.nat({ max: 3 }) }),
  step(2, 'rewind', { at }),
  step(1, 'begin again', {}),
  step(2, 'branch', { at }),
  step(1, 'go back', { at }),
  step(2, 'compact', {
    keep: fc.nat({ max: 6 }),
    form: fc.constantFrom('messages' as const, 'segment' as const, 'none' as const),
  }),
  step(1, 'subagent', { at, length: fc.integer({ min: 1, max: 3 }) }),
  step(1, 'replace', { at }),
  step(3, 'record', { kind: fc.nat({ max: 40 }) }),
  step(1, 'progress', { inChain: fc.boolean() }),
)

/** How a transcript begins, and what its lines look like. */
export const style = fc.record({
  origin: fc.constantFrom(
    'own' as const,
    'client' as const,
    'fork' as const,
    'client fork' as const,
    'SDK fork' as const,
  ),
  names: fc.constantFrom('uuid' as const, 'short' as const, 'odd' as const),
  keys: fc.constantFrom('ours' as const, 'client' as const, 'mixed' as const),
})
/** One of them. */
export type Style = typeof style extends fc.Arbitrary<infer T> ? T : never
