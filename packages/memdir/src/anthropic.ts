export { memoryToolHandlers } from './anthropic/memory-tool.ts'
export type { MemoryToolHandlers } from './anthropic/memory-tool.ts'
