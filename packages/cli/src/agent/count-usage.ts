import type { TokenUsage } from '@loci/app-state'
import type { Session } from '@loci/session-jsonl'
import { costRecord, usageOf } from './usage.ts'
import type { AnswerUsage } from './usage.ts'

/** Adds what an answer took to the session's total. Resolves to what it took when that is written. */
export type CountUsage = (usage: AnswerUsage) => Promise<TokenUsage>

/** Counts the answers of a turn and of what runs beside it: one after the other, so that none is counted over. */
export function usageCounter(options: {
  session: Session
  model: string
  onUsage: (usage: TokenUsage) => void
}): CountUsage {
  const { session, model, onUsage } = options
  let earlier: Promise<unknown> = Promise.resolve()
  return (answer) => {
    const counted = earlier.then(async () => {
      const usage = usageOf(model, answer)
      const [last] = (await session.records('cost-state')).slice(-1)
      await session.record(costRecord(last, model, usage))
      onUsage(usage)
      return usage
    })
    earlier = counted.catch(() => undefined)
    return counted
  }
}
