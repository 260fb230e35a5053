import type Anthropic from '@anthropic-ai/sdk'
import { admitCall } from './answer-calls.ts'
import type { CallRoom } from './answer-calls.ts'
import { failed } from './tools/tool.ts'
import type { Tool, ToolResult } from './tools/tool.ts'

const MAX_AT_ONCE = 8

/** Calls in their order; those in a row that only read are one batch. Pure. */
export function batchesOf<Call extends { name: string }>(
  calls: readonly Call[],
  tools: readonly Pick<Tool, 'name' | 'isReadOnly'>[],
): Call[][] {
  const reading = new Set(tools.flatMap(({ name, isReadOnly }) => (isReadOnly === true ? [name] : [])))
  const batches: Call[][] = []
  let isOpen = false
  for (const call of calls) {
    const last = batches.at(-1)
    if (isOpen && reading.has(call.name) && last !== undefined && last.length < MAX_AT_ONCE) last.push(call)
    else batches.push([call])
    isOpen = reading.has(call.name)
  }
  return batches
}

/** A call and what came of it. */
export interface AnsweredCall {
  block: Anthropic.ToolUseBlock
  result: ToolResult
}

/** The results of calls in their order. What has to be asked is asked one after the other, then all are done at once. */
export async function answerBatch(
  room: CallRoom,
  batch: readonly Anthropic.ToolUseBlock[],
  turn: { messageIdOf: (callId: string) => string; signal: AbortSignal },
): Promise<AnsweredCall[]> {
  const { messageIdOf, signal } = turn
  const admitted: { block: Anthropic.ToolUseBlock; run: () => Promise<ToolResult> }[] = []
  for (const block of batch) {
    const call = { messageId: messageIdOf(block.id), signal }
    admitted.push({ block, run: signal.aborted ? notRun : await admitCall(room, block, call) })
  }
  const answers = await Promise.allSettled(
    admitted.map(async ({ block, run }) => ({ block, result: await (signal.aborted ? notRun() : run()) })),
  )
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason
    return answer.value
  })
}

async function notRun(): Promise<ToolResult> {
  return failed('Interrupted by the user before it ran.')
}
