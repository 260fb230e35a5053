import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { AppState } from '@loci/app-state'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { expect, onTestFinished, vi } from 'vitest'
import type { AgentMemory } from '../src/agent/agent-memory.ts'
import { answerCall } from '../src/agent/answer-calls.ts'
import type { PermissionRules } from '../src/agent/permissions.ts'
import { BackgroundShells } from '../src/agent/tools/background-shells.ts'
import type { ProcessGroups } from '../src/agent/tools/run-shell.ts'
import { toolsFor } from '../src/agent/tools/tools.ts'
import type { PreparedCall, ToolCall, ToolContext, ToolResult } from '../src/agent/tools/tool.ts'

/** A project with tools that work on it. */
export interface ToolRoom {
  tree: Tree
  /** The project. */
  root: string
  home: string
  history: FileHistory
  context: ToolContext
  call: ToolCall
  tasks: () => AppState['tasks']
  /** What a call is answered with when everything is permitted. */
  use: (name: string, input: unknown) => Promise<ToolResult>
  /** A call that was planned, to be run later. */
  prepare: (name: string, input: unknown) => Promise<PreparedCall>
}

/** Id of the snapshot that the room begins with. */
export const FIRST = '00000000-0000-4000-8000-000000000001'

/** Permissions of somebody who has said nothing in advance. */
export const NO_RULES: Pick<PermissionRules, 'directories' | 'userHome' | 'allow' | 'ask' | 'deny'> = {
  directories: [],
  userHome: undefined,
  allow: [],
  ask: [],
  deny: [],
}

const NO_MEMORY: AgentMemory = {
  enabled: false,
  rule: 'none in this test',
  dirs: [],
  isExtracting: async () => false,
  prompt: async () => null,
  search: async () => ({ hits: [], problems: [] }),
  read: async () => undefined,
  save: () => Promise.reject(new TypeError('no memory here')),
}

/** A temporary project of `content`, with a file history that has its first snapshot, until the end of the test. */
export async function toolRoom(
  content: Record<string, TreeFile> = {},
  changes: Partial<ToolContext> & { rules?: Partial<PermissionRules>; signal?: AbortSignal } = {},
): Promise<ToolRoom> {
  const { rules, signal = new AbortController().signal, ...context } = changes
  const place = await tree({ 'home/': '', 'project/': '', 'outside/': '', ...content })
  const root = place.path('project')
  const home = place.path('home')
  const history = await openFileHistory({ dir: `${home}/file-history/session`, root })
  onTestFinished(async () => {
    await room.shells.close()
    await history.close()
    await place.remove()
  })
  await history.makeSnapshot(FIRST)
  let tasks: AppState['tasks'] = {}
  const updateTasks: ToolContext['updateTasks'] = (update) => {
    tasks = update(tasks)
  }
  const room = {
    root,
    history,
    memory: NO_MEMORY,
    asideDir: `${home}/tool-results`,
    env: { PATH: process.env['PATH'] },
    groups,
    now: () => new Date(),
    seen: new Map<string, string>(),
    shells: new BackgroundShells({ now: () => new Date(), updateTasks, createId: randomUUID }),
    updateTasks,
    ...context,
  }
  const call = { messageId: FIRST, signal }
  const tools = toolsFor({ hasMemory: true })
  return {
    tree: place,
    root,
    home,
    history,
    context: room,
    call,
    tasks: () => tasks,
    use: (name, input) =>
      answerCall(
        {
          tools,
          context: room,
          rules: () => ({
            mode: 'bypassPermissions',
            root,
            asideDir: `${home}/tool-results`,
            memoryDirs: [],
            configDir: home,
            ...NO_RULES,
            ...rules,
          }),
          approve: undefined,
          emit: () => undefined,
          onAlways: async () => undefined,
          denials: () => [],
          onDenial: () => undefined,
        },
        { type: 'tool_use', id: 'toolu_1', name, input, caller: { type: 'direct' } },
        call,
      ),
    async prepare(name, input) {
      const prepared = await tools.find((tool) => tool.name === name)?.prepare(input, room, call)
      if (prepared === undefined || typeof prepared === 'string') throw new TypeError(String(prepared))
      return prepared
    },
  }
}

/** Process groups, as in `bin.ts`. */
export const groups: ProcessGroups = {
  kill: (pid) => void signalGroup(pid, 'SIGKILL'),
  isRunning: (pid) => signalGroup(pid, 0),
}

function signalGroup(pid: number, name: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-pid, name)
  } catch {
    return false
  }
}

/** Waits until a process is gone, or is a zombie that nobody has looked at. */
export function gone(pid: number): Promise<void> {
  return vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 10_000 })
}

/** Whether a process does anything yet. */
export function isRunning(pid: number): boolean {
  try {
    // The state comes after the name, which is in brackets and may hold anything.
    const [, state] = /\) (\S)[^)]*$/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return state !== 'Z' && state !== 'X'
  } catch {
    return false
  }
}
