import { LociError, isLociError } from '@loci/disk'
import { UsageError, parseChoice } from '../arguments.ts'
import { oneLine, printable } from '../printable.ts'
import { reportError } from '../report-error.ts'
import type { AgentEvent } from './agent-event.ts'
import { chooseStart } from './choose-start.ts'
import { lookAtSession } from './look-at-session.ts'
import { chooseModel, choosePermissionMode, startAgent } from './start-agent.ts'
import type { ConversationContext } from './start-agent.ts'
import type { TurnResult } from './turn.ts'
import { NO_USAGE } from './usage.ts'

/**
 * `loci -p`: one turn, and out. Resolves to the exit code: 0, 1 when the turn failed, 130 when it was interrupted.
 * `text` prints the last answer, `json` one object, `stream-json` one object a line as things happen.
 *
 * @throws {UsageError} without a prompt
 */
export async function runPrint(
  context: ConversationContext,
  words: { prompt: string; input: string },
): Promise<number> {
  const { print, warn, signal } = context
  const format = parseChoice(
    'output-format',
    context.options['output-format'] ?? (context.options.json === true ? 'json' : undefined),
    ['text', 'json', 'stream-json'],
  )
  const prompt = [words.prompt, words.input.trimEnd()].filter((part) => part.trim() !== '').join('\n\n')
  if (prompt === '') throw new UsageError('-p needs a prompt: as a word, or on standard input')
  const printJson = (value: unknown): void => print(`${JSON.stringify(value)}\n`)
  const notify = (text: string): void =>
    format === 'stream-json' ? printJson({ type: 'notice', text }) : warn(`loci: ${oneLine(text)}\n`)
  const permissionMode = choosePermissionMode(context)
  const start = await chooseStart(context)
  const model = chooseModel(context)
  const emit = (event: AgentEvent): void => {
    if (format === 'stream-json') streamEvent(event, printJson)
    else if (event.type === 'retry') notify(`${event.reason}; trying again in ${event.waitMs} ms`)
    else if (event.type === 'notice') notify(event.text)
    else if (event.type === 'denial') notify(`${event.name} was refused: ${event.reason}`)
  }
  const { agent, notices } = await startAgent(context, start, {
    model,
    permissionMode,
    approve: undefined,
    emit,
  })
  try {
    if (start.kind !== 'new') notices.push(...(await lookAtSession(agent.session, agent.history)))
    for (const text of notices) notify(text)
    if (model.isOffline && format === 'text')
      notify(`${model.model} answers, the offline model: rule-based, not a real one`)
    const about = { sessionId: agent.session.id, model: model.model, offline: model.isOffline }
    if (format === 'stream-json')
      printJson({ type: 'init', ...about, permissionMode, cwd: agent.state.getState().cwd })
    const { messageId, text, numTurns, usage, error } = await agent.prompt(prompt, signal).catch(failedTurn)
    const result = error === undefined ? text : error.message
    if (format === 'text') print(error === undefined ? `${printable(result)}\n` : '')
    else {
      const isError = error !== undefined
      const { permissionDenials, totalUsage } = agent.state.getState()
      printJson({
        type: 'result',
        ...about,
        messageId,
        result,
        isError,
        numTurns,
        usage,
        totalUsage,
        permissionDenials,
      })
    }
    await agent.close()
    if (error === undefined) return 0
    const { line, exitCode } = reportError(error, 'onCommandLine')
    // Who interrupted it knows.
    if (exitCode !== 130) warn(`${line}\n`)
    return exitCode
  } catch (error) {
    // What went wrong first is what is told.
    await agent.close().catch(() => undefined)
    throw error
  }
}

/** A turn that came to nothing because it could not be written. A bug of ours is not passed off as one. */
function failedTurn(error: unknown): Omit<TurnResult, 'messageId'> & { messageId: null } {
  if (!isLociError(error)) throw error
  const { code, message, details } = error
  const failure = new LociError(code, message, { cause: error, ...(details ? { details } : {}) })
  return { messageId: null, text: '', numTurns: 0, usage: NO_USAGE, error: failure }
}

function streamEvent(event: AgentEvent, printJson: (value: unknown) => void): void {
  if (event.type === 'text') printJson({ type: 'text', delta: event.delta })
  else if (event.type === 'written') {
    for (const { type, uuid, message } of event.entries) printJson({ type, uuid, message })
  } else if (SHOWN.has(event.type)) printJson(event)
}

const SHOWN: ReadonlySet<AgentEvent['type']> = new Set(['retry', 'notice', 'denial', 'tool-output'])
