import type { AppState } from './app-state.ts'

// One for each field, so that it can be handed to `subscribeTo` and `useAppState` by name, and a few that derive. What
// derives an object remembers it for as long as its source is the same: equal in, same out.

/** How much the agent may do without asking. */
export const selectPermissionMode = (state: AppState): AppState['permissionMode'] => state.permissionMode

/** Tool calls that were not allowed, oldest first. */
export const selectPermissionDenials = (state: AppState): AppState['permissionDenials'] =>
  state.permissionDenials

/** What may be done without asking again: names of tools, and rules. */
export const selectApprovedTools = (state: AppState): AppState['approvedTools'] => state.approvedTools

/** The servers whose tools the agent may use. */
export const selectMcpClients = (state: AppState): AppState['mcpClients'] => state.mcpClients

/** How each server is doing, by its name. */
export const selectMcpClientStatus = (state: AppState): AppState['mcpClientStatus'] => state.mcpClientStatus

/** Work beside the conversation, by task id. */
export const selectTasks = (state: AppState): AppState['tasks'] => state.tasks

/** Whether the conversation is being compacted. */
export const selectIsCompacting = (state: AppState): boolean => state.isCompacting

/** What the status line says, or `null`. */
export const selectStatusLineText = (state: AppState): string | null => state.statusLineText

/** The model of the main conversation, or `null` for the program's default. */
export const selectMainLoopModel = (state: AppState): string | null => state.mainLoopModel

/** What the companion says or does, or `null`. */
export const selectCompanionReaction = (state: AppState): string | null => state.companionReaction

/** When the companion was last petted, in milliseconds since the epoch, or `null`. */
export const selectCompanionPetAt = (state: AppState): number | null => state.companionPetAt

/** The session that is open, or `null`. */
export const selectSessionId = (state: AppState): string | null => state.sessionId

/** The working directory, or `null`. */
export const selectCwd = (state: AppState): string | null => state.cwd

/** Tokens of all requests of the session, by kind. */
export const selectTotalUsage = (state: AppState): AppState['totalUsage'] => state.totalUsage

/** How many tokens all requests of the session took, cached ones included. */
export const selectTotalTokens = ({ totalUsage }: AppState): number =>
  totalUsage.inputTokens +
  totalUsage.outputTokens +
  totalUsage.cacheCreationInputTokens +
  totalUsage.cacheReadInputTokens

const runningTaskIds = new WeakMap<AppState['tasks'], readonly string[]>()

/** Ids of the tasks that are running; the same array for as long as `tasks` is the same. */
export const selectRunningTaskIds = ({ tasks }: AppState): readonly string[] => {
  let ids = runningTaskIds.get(tasks)
  if (!ids) {
    ids = Object.keys(tasks).filter((id) => tasks[id]?.status === 'running')
    runningTaskIds.set(tasks, ids)
  }
  return ids
}
