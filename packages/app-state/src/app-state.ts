/**
 * `T` with everything in it read-only, at every depth: objects, arrays and tuples, maps, sets. Functions and `unknown`
 * stay as they are. It is a promise of the compiler and costs nothing at run time.
 */
export type DeepReadonly<T> = unknown extends T
  ? T
  : T extends (...args: never[]) => unknown
    ? T
    : T extends ReadonlyMap<infer K, infer V>
      ? ReadonlyMap<DeepReadonly<K>, DeepReadonly<V>>
      : T extends ReadonlySet<infer M>
        ? ReadonlySet<DeepReadonly<M>>
        : T extends object
          ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
          : T

/** How much the agent may do without asking. */
export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'bypassPermissions'

/** A tool call that was not allowed. */
export interface PermissionDenial {
  toolName: string
  toolUseId: string
  toolInput: unknown
  /** A person said no; the same call is not asked about again. */
  byUser?: boolean
}

/** A server of the Model Context Protocol whose tools the agent may use. */
export interface McpClient {
  name: string
  /** Names of the tools that the server offers. */
  tools: string[]
}

export type McpClientStatus = 'pending' | 'connected' | 'needs-auth' | 'failed' | 'disabled'

/** Work that goes on beside the conversation: a subagent, a command in the background. */
export interface TaskState {
  /** What kind of task, for example `agent` or `shell`. */
  type: string
  description: string
  status: 'pending' | 'running' | 'completed' | 'failed' | 'cancelled'
  startedAtMs: number | null
  endedAtMs: number | null
}

/** Tokens counted by the model's API, and what they cost. */
export interface TokenUsage {
  inputTokens: number
  outputTokens: number
  cacheCreationInputTokens: number
  cacheReadInputTokens: number
  /** US dollars; `null`: the price of some of it is not known. */
  costUsd: number | null
}

/**
 * What is going on in a running agent at this moment; it ends with the process. Deeply read-only: it changes by
 * `setState(previous => ({ ...previous, cwd }))`. `null` means that there is none yet.
 */
export type AppState = DeepReadonly<{
  permissionMode: PermissionMode
  /** Oldest first. */
  permissionDenials: PermissionDenial[]
  /** What may be done without asking again: names of tools, and rules such as `Bash(npm test)`. */
  approvedTools: string[]

  mcpClients: McpClient[]
  /** By name of the client. */
  mcpClientStatus: Record<string, McpClientStatus>

  /** By task id. */
  tasks: Record<string, TaskState>

  isCompacting: boolean
  statusLineText: string | null
  /** The model of the main conversation, as the API calls it; `null`: the program's default. */
  mainLoopModel: string | null
  /** What the companion says or does at the moment. */
  companionReaction: string | null
  /** When the companion was last petted, in milliseconds since the epoch. */
  companionPetAt: number | null

  sessionId: string | null
  /** Absolute path. */
  cwd: string | null
  /** Of all requests of the session. */
  totalUsage: TokenUsage
}>

/**
 * The state of an agent that has not begun: nothing approved, nothing connected, nothing spent, permission mode
 * `default`. Each call makes new objects. A field in `overrides` replaces the whole default field; `undefined` leaves it.
 */
export function getDefaultAppState(
  overrides: { [Field in keyof AppState]?: AppState[Field] | undefined } = {},
): AppState {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined)
  return {
    permissionMode: 'default',
    permissionDenials: [],
    approvedTools: [],
    mcpClients: [],
    mcpClientStatus: {},
    tasks: {},
    isCompacting: false,
    statusLineText: null,
    mainLoopModel: null,
    companionReaction: null,
    companionPetAt: null,
    sessionId: null,
    cwd: null,
    totalUsage: {
      inputTokens: 0,
      outputTokens: 0,
      cacheCreationInputTokens: 0,
      cacheReadInputTokens: 0,
      costUsd: 0,
    },
    ...Object.fromEntries(given),
  }
}
