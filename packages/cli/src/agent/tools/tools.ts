import { bashOutputTool } from './bash-output.ts'
import { bashTool } from './bash.ts'
import { editTool } from './edit.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { killShellTool } from './kill-shell.ts'
import { readTool } from './read.ts'
import { saveMemoryTool } from './save-memory.ts'
import { searchMemoryTool } from './search-memory.ts'
import { todoWriteTool } from './todo-write.ts'
import type { Tool } from './tool.ts'
import { writeTool } from './write.ts'

/** The tools of an agent, always in this order: they are the beginning of each request. */
export function toolsFor(options: { hasMemory: boolean }): readonly Tool[] {
  const tools = [
    readTool,
    writeTool,
    editTool,
    globTool,
    grepTool,
    bashTool,
    bashOutputTool,
    killShellTool,
    todoWriteTool,
  ]
  return options.hasMemory ? [...tools, saveMemoryTool, searchMemoryTool] : tools
}
