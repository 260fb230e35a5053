import type { PermissionDenial } from '@loci/app-state'
import { errorMessage, isLociError } from '@loci/disk'
import type Anthropic from '@anthropic-ai/sdk'
import type { AgentEvent } from './agent-event.ts'
import { decide, nobodyToAsk } from './permissions.ts'
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
}) => Promise<Approval>

/** What calls are answered with. */
export interface CallRoom {
  tools: readonly Tool[]
  context: ToolContext
  /** As they are at this moment. */
  rules: () => PermissionRules
  approve: Approve | undefined
  emit: (event: AgentEvent) => void
  onAlways: (toolName: string) => void
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
    const prepared = await tool.prepare(input, room.context, call)
    if (typeof prepared === 'string') return answered(failed(prepared))
    room.emit({ type: 'tool', id: block.id, name, summary: prepared.summary })
    const refusal = await refusalOf(room, name, prepared)
    if (refusal === undefined)
      return () => prepared.run().catch((error: unknown) => failureOf(name, call, error))
    room.emit({ type: 'denial', id: block.id, name, reason: refusal })
    room.onDenial({ toolName: name, toolUseId: block.id, toolInput: input })
    return answered(failed(refusal))
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

async function refusalOf(
  room: CallRoom,
  toolName: string,
  { access, summary, preview = [] }: PreparedCall,
): Promise<string | undefined> {
  const rules = room.rules()
  const decision = decide(toolName, access, rules)
  if (decision.kind === 'allow') return undefined
  if (decision.kind === 'refuse') return decision.reason
  if (room.approve === undefined) return nobodyToAsk(toolName, access, rules.root)
  const approval = await room.approve({ toolName, summary, preview })
  if (approval === 'no') return `The user did not allow this call of ${toolName}.`
  if (approval === 'always') room.onAlways(toolName)
  return undefined
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}
