export { createStore, type Store, type StoreOptions } from './store.ts'
export { subscribeTo } from './subscribe-to.ts'
export {
  type AppState,
  type DeepReadonly,
  getDefaultAppState,
  type McpClient,
  type McpClientStatus,
  type PermissionDenial,
  type PermissionMode,
  type TaskState,
  type TokenUsage,
} from './app-state.ts'
export { type AppStateChange, type AppStateEffects, onChangeAppState } from './on-change.ts'
export {
  selectApprovedTools,
  selectCompanionPetAt,
  selectCompanionReaction,
  selectCwd,
  selectIsCompacting,
  selectMainLoopModel,
  selectMcpClients,
  selectMcpClientStatus,
  selectPermissionDenials,
  selectPermissionMode,
  selectRunningTaskIds,
  selectSessionId,
  selectStatusLineText,
  selectTasks,
  selectTotalTokens,
  selectTotalUsage,
} from './selectors.ts'
