import { isDeepStrictEqual } from 'node:util'
import type { DeepReadonly, PermissionDenial } from '@loci/app-state'
import { errorMessage, isLociError } from '@loci/disk'
import type Anthropic from '@anthropic-ai/sdk'
import type { AgentEvent } from './agent-event.ts'
import { decide, nobodyToAsk, withheldFrom } from './permissions.ts'
import type { PermissionRules } from './permissions.ts'
import { failed } from './tools/tool.ts'
import type { PreparedCall, Tool, ToolCall, ToolContext, ToolResult } from './tools/tool.ts'

/** What a person says to a call. */
type Approval = 'once' | 'always' | 'no'

/** Asks the person; where nobody is there, it is absent. */
export type Approve = (request: {
  toolName: string
  summary: string
  preview: readonly string[]
  /** The rule that "always" stands for; `undefined`: it is no answer. */
  always: string | undefined
}) => Promise<Approval>

/** What calls are answered with. */
export interface CallRoom {
  tools: readonly Tool[]
  context: ToolContext
  /** As they are at this moment. */
  rules: () => PermissionRules
  approve: Approve | undefined
  emit: (event: AgentEvent) => void
  /** Stores a rule before the call runs, so that it is no change of the call's. */
  onAlways: (rule: string) => Promise<void>
  /** Calls that were not permitted in this session, and how they are added to. */
  denials: () => readonly DeepReadonly<PermissionDenial>[]
  onDenial: (denial: PermissionDenial) => void
}

/** The result of one call of the model: planned, permitted, done. */
export async function answerCall(
  room: CallRoom,
  block: Anthropic.ToolUseBlock,
  call: ToolCall,
): Promise<ToolResult> {
  return (await admitCall(room, block, call))()
}

/**
 * Plans a call of the model and asks for permission; what it returns does it. Whatever goes wrong is a result that says
 * so: the model is to know, and the conversation goes on.
 */
export async function admitCall(
  room: CallRoom,
  block: Anthropic.ToolUseBlock,
  call: ToolCall,
): Promise<() => Promise<ToolResult>> {
  const { name, input } = block
  const tool = room.tools.find((one) => one.name === name)
  if (tool === undefined) {
    const names = room.tools.map((one) => one.name).join(', ')
    return answered(failed(`There is no tool ${JSON.stringify(name)}; there are ${names}.`))
  }
  try {
    const onOutput = (text: string): void => room.emit({ type: 'tool-output', id: block.id, text })
    const withheld: ToolCall['withheld'] = (access) => withheldFrom(access, room.rules())
    const prepared = await tool.prepare(input, room.context, { ...call, onOutput, withheld })
    if (typeof prepared === 'string') return answered(failed(prepared))
    room.emit({ type: 'tool', id: block.id, name, summary: prepared.summary })
    const refusal = await refusalOf(room, block, prepared)
    if (refusal === undefined)
      return () => prepared.run().catch((error: unknown) => failureOf(name, call, error))
    const { reason, byUser } = refusal
    room.emit({ type: 'denial', id: block.id, name, reason })
    const denial = { toolName: name, toolUseId: block.id, toolInput: input }
    room.onDenial(byUser === true ? { ...denial, byUser } : denial)
    return answered(failed(reason))
  } catch (error) {
    return answered(failureOf(name, call, error))
  }
}

function answered(result: ToolResult): () => Promise<ToolResult> {
  return async () => result
}

/** A refusal of a package, a full disk, a command that cannot be started. A bug of ours is not passed off as one. */
function failureOf(toolName: string, { signal }: ToolCall, error: unknown): ToolResult {
  if (signal.aborted && error === signal.reason) return failed('Interrupted by the user.')
  if (!isLociError(error) && !isSystemError(error)) throw error
  return failed(`${toolName} failed: ${errorMessage(error)}`)
}

interface Refusal {
  reason: string
  /** A person said so. */
  byUser?: boolean
}

async function refusalOf(
  room: CallRoom,
  { name: toolName, input }: Anthropic.ToolUseBlock,
  { access, summary, preview = [] }: PreparedCall,
): Promise<Refusal | undefined> {
  const rules = room.rules()
  const decision = decide(toolName, access, rules)
  if (decision.kind === 'allow') return undefined
  if (decision.kind === 'refuse') return { reason: decision.reason }
  if (room.approve === undefined) return { reason: nobodyToAsk(toolName, access, rules, decision.rule) }
  const isKnown = room
    .denials()
    .some(
      (denial) => denial.byUser === true && denial.toolName === toolName && isSame(denial.toolInput, input),
    )
  if (isKnown)
    return {
      reason: `The user has not allowed this call of ${toolName} before, and is not asked again.`,
      byUser: true,
    }
  const { always } = decision
  const approval = await room.approve({ toolName, summary, preview, always })
  if (approval === 'no') return { reason: `The user did not allow this call of ${toolName}.`, byUser: true }
  if (approval === 'always' && always !== undefined) await room.onAlways(always)
  return undefined
}

/** Whether two inputs ask for the same thing: a command is that, whatever time it is given. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(untimed(one), untimed(other))
}

function untimed(input: unknown): unknown {
  return typeof input === 'object' && input !== null ? { ...input, timeout_ms: undefined } : input
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
