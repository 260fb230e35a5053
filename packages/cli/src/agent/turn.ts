import { APIUserAbortError } from '@anthropic-ai/sdk'
import type Anthropic from '@anthropic-ai/sdk'
import type { TokenUsage } from '@loci/app-state'
import { LociError } from '@loci/disk'
import type { FileHistory } from '@loci/file-history'
import type { Entry, Session } from '@loci/session-jsonl'
import { cutText } from '../cut-text.ts'
import type { AgentEvent } from './agent-event.ts'
import type { CallRoom } from './answer-calls.ts'
import { planAttachments, renderAttachment } from './attachments.ts'
import type { Surroundings } from './attachments.ts'
import { answerBatch, batchesOf } from './call-batches.ts'
import type { CountUsage } from './count-usage.ts'
import { imageRoom } from './image-room.ts'
import { MAX_RESULT_UNITS, putAside } from './large-result.ts'
import { answerDraft, resultDraft } from './line-drafts.ts'
import { modelRequest } from './model-request.ts'
import { knownIds, sendableAnswer } from './sendable-answer.ts'
import { streamAnswer } from './stream-answer.ts'
import type { Wait } from './stream-answer.ts'
import { stopOf } from './stop-reason.ts'
import { failed } from './tools/tool.ts'
import type { ToolResult } from './tools/tool.ts'
import { NO_USAGE, addUsage } from './usage.ts'

/** Requests of one turn; a model that goes on calling tools is stopped there. */
const MAX_REQUESTS = 200

/** Everything a turn works with. */
export interface TurnRoom {
  session: Session
  history: FileHistory | null
  client: Anthropic
  model: string
  system: readonly string[]
  calls: CallRoom
  hasMemory: boolean
  surroundings: () => Promise<Surroundings>
  /** Makes room where the model's window is nearly full; whether it did. */
  compactIfFull: (signal: AbortSignal) => Promise<boolean>
  toolResultsDir: string
  permissionMode: string
  emit: (event: AgentEvent) => void
  count: CountUsage
  maxRetries: number
  wait: Wait
  createId: () => string
}

/** How a turn ended. */
export interface TurnResult {
  /** Of the prompt. */
  messageId: string
  /** The last text of the model. */
  text: string
  /** Requests that were answered. */
  numTurns: number
  usage: TokenUsage
  /** What went wrong, in a line. */
  error?: LociError
}

/**
 * One turn: from a prompt to the model's last answer, its tool calls done on the way.
 *
 * Order of writes: a compaction, if the conversation is too long for more; a snapshot of the files under the prompt's id; what the conversation lacks of date and memory; the
 * prompt; then each request, after everything that it sends is in the transcript; each answer and each result before
 * the next request; at the end the tip, also when the turn failed. Whatever a crash leaves of that is a conversation
 * that can be gone on with.
 *
 * @throws {LociError} when the transcript or the snapshot cannot be written; what the model or its server did
 * wrong is in `error`
 */
export async function runTurn(room: TurnRoom, prompt: string, signal: AbortSignal): Promise<TurnResult> {
  const turn = new Turn(room, signal)
  await turn.begin(prompt)
  try {
    await turn.converse()
  } catch (error) {
    const failure = failureOf(error, signal)
    if (failure === undefined) {
      // What went wrong first is what is told.
      await turn.end(prompt).catch(() => undefined)
      throw error
    }
    turn.result.error = withWayOut(failure, turn.result.messageId)
  }
  await turn.end(prompt)
  return turn.result
}

/** What the server refuses is refused again with every prompt that follows. */
function withWayOut(error: LociError, promptId: string): LociError {
  const status = error.details?.['status']
  if (error.code !== 'MODEL_REJECTED' || ![400, 413, 422].includes(Number(status))) return error
  return new LociError(error.code, `${error.message}; /rewind ${promptId} takes the prompt back`, {
    cause: error,
    details: { ...error.details },
  })
}

/** Why a turn came to nothing, when neither the disk nor a bug of ours is to blame. */
function failureOf(error: unknown, signal: AbortSignal): LociError | undefined {
  if (error instanceof LociError) return error.code.startsWith('MODEL_') ? error : undefined
  // A bug of ours does not become an interruption by coming after one.
  const isAbort = error === signal.reason || error instanceof APIUserAbortError
  return signal.aborted && isAbort ? new LociError('TURN_INTERRUPTED', 'Interrupted') : undefined
}

class Turn {
  readonly #room: TurnRoom
  readonly #signal: AbortSignal
  readonly result: TurnResult

  constructor(room: TurnRoom, signal: AbortSignal) {
    this.#room = room
    this.#signal = signal
    this.result = { messageId: room.createId(), text: '', numTurns: 0, usage: NO_USAGE }
  }

  async begin(prompt: string): Promise<void> {
    const { session, history, permissionMode, compactIfFull } = this.#room
    const { messageId } = this.result
    await compactIfFull(this.#signal)
    await history?.makeSnapshot(messageId)
    await this.#tellSurroundings()
    await session.append({
      type: 'user',
      uuid: messageId,
      promptId: messageId,
      permissionMode,
      message: { role: 'user', content: prompt },
    })
  }

  async converse(): Promise<void> {
    for (let request = 0; request < MAX_REQUESTS; request += 1) {
      if (request > 0 && (await this.#room.compactIfFull(this.#signal))) await this.#tellSurroundings()
      const { message, lastLine } = await this.#ask()
      const calls = message.content.filter((block) => block.type === 'tool_use')
      const text = textOf(message)
      if (text !== '') this.result.text = text
      const stop = stopOf(message, this.result.messageId)
      await this.#answer(calls, (id) => lastLine.get(id) ?? this.result.messageId, stop?.undone)
      if (stop?.error !== undefined) throw stop.error
      if (calls.length === 0) {
        const notice = stop?.notice ?? (text.trim() === '' ? 'The model answered nothing.' : undefined)
        if (notice !== undefined) this.#room.emit({ type: 'notice', text: notice })
        return
      }
      this.#signal.throwIfAborted()
    }
    throw new LociError(
      'MODEL_REJECTED',
      `The model made ${MAX_REQUESTS} requests without coming to an end; say whether to go on`,
    )
  }

  /** Adds what the conversation lacks of date and memory; sent with the next thing that the user's side says. */
  async #tellSurroundings(): Promise<void> {
    const { session, surroundings } = this.#room
    for (const draft of planAttachments(await session.chain(), await surroundings()))
      await session.append(draft)
  }

  /** Sends what the transcript holds, and writes what comes back into it. */
  async #ask(): Promise<{ message: Anthropic.Message; lastLine: ReadonlyMap<string, string> }> {
    const { session, client, model, system, calls, hasMemory, emit, maxRetries, wait } = this.#room
    const messages = await session.conversation({
      renderAttachment: (entry) => renderAttachment(entry, { hasMemory }),
    })
    const answer = await streamAnswer({
      client,
      request: modelRequest({ model, system, tools: calls.tools, messages }),
      signal: this.#signal,
      maxRetries,
      onText: (delta) => emit({ type: 'text', delta }),
      onRetry: (retry) => emit({ type: 'retry', ...retry }),
      wait,
    })
    if (!answer.isWhole) {
      await this.#keepPart(answer.message)
      throw this.#signal.reason
    }
    this.result.numTurns += 1
    const replacements = await session.records('content-replacement')
    const known = knownIds(await session.chain(), replacements)
    const message = sendableAnswer(answer.message, known, this.#room.createId)
    const entries = await this.#writeAnswer(message)
    await this.#count(message)
    emit({ type: 'written', entries })
    const lines = message.content.flatMap((block, index): [string, string][] => {
      const uuid = entries[index]?.uuid
      return block.type === 'tool_use' && uuid !== undefined ? [[block.id, uuid]] : []
    })
    return { message, lastLine: new Map(lines) }
  }

  /** One line for each block, as other clients write it. */
  async #writeAnswer(message: Anthropic.Message): Promise<Entry[]> {
    const { session } = this.#room
    const entries: Entry[] = []
    for (const index of message.content.keys())
      entries.push(await session.append(answerDraft(message, index, this.result.messageId)))
    return entries
  }

  /** Keeps what the user has seen of an answer that was interrupted: texts, never a part of a call. */
  async #keepPart(message: Anthropic.Message): Promise<void> {
    const { session, emit } = this.#room
    const entries: Entry[] = []
    for (const [index, block] of message.content.entries()) {
      if (block.type !== 'text' || block.text.trim() === '') continue
      entries.push(
        await session.append({
          ...answerDraft(
            { ...message, stop_reason: null, stop_sequence: null },
            index,
            this.result.messageId,
          ),
          interrupted: true,
        }),
      )
    }
    if (entries.length === 0) return
    this.result.text = textOf(message)
    await this.#count(message)
    emit({ type: 'written', entries })
  }

  async #count(message: Anthropic.Message): Promise<void> {
    this.result.usage = addUsage(this.result.usage, await this.#room.count(message.usage))
  }

  /** Does the calls of a message and writes their results in order, which the next request sends. */
  async #answer(
    blocks: readonly Anthropic.ToolUseBlock[],
    messageIdOf: (callId: string) => string,
    undone: string | undefined,
  ): Promise<void> {
    const { calls, session, emit } = this.#room
    for (const batch of batchesOf(blocks, calls.tools)) {
      const results =
        undone === undefined
          ? await answerBatch(calls, batch, { messageIdOf, signal: this.#signal })
          : batch.map((block) => ({ block, result: failed(undone) }))
      for (const { block, result: answer } of results) {
        const noRoom = answer.image && imageRoom(await session.chain(), answer.image.base64)
        const result = noRoom === undefined ? answer : failed(noRoom)
        const entry = await this.#writeResult(block, messageIdOf(block.id), result)
        const { text, isError } = result
        emit({ type: 'tool-result', id: block.id, name: block.name, text, isError })
        emit({ type: 'written', entries: [entry] })
      }
    }
  }

  async #writeResult(block: Anthropic.ToolUseBlock, messageId: string, result: ToolResult): Promise<Entry> {
    const { session, toolResultsDir } = this.#room
    const large =
      result.text.length > MAX_RESULT_UNITS
        ? await putAside(toolResultsDir, block.id, result.text)
        : undefined
    const call = { id: block.id, messageId, promptId: this.result.messageId }
    const entry = await session.append(resultDraft(call, result, large))
    if (large) {
      const replacement = { kind: 'tool-result', toolUseId: block.id, replacement: large.preview }
      await session.record({
        type: 'content-replacement',
        uuid: this.#room.createId(),
        timestamp: entry.timestamp,
        replacements: [replacement],
      })
    }
    return entry
  }

  /** Names the tip, without which other clients would go on with an older branch. */
  async end(prompt: string): Promise<void> {
    const { session } = this.#room
    if (session.tip !== null)
      await session.record({ type: 'last-prompt', lastPrompt: cutText(prompt, 200), leafUuid: session.tip })
  }
}

function textOf({ content }: Anthropic.Message): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
}
