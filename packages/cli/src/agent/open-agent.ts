import { randomUUID } from 'node:crypto'
import { createStore, getDefaultAppState, onChangeAppState } from '@loci/app-state'
import type { AppState, PermissionMode, Store } from '@loci/app-state'
import { isFileHistoryEnabled } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import type { Session } from '@loci/session-jsonl'
import { openSessionHistory } from '../compose.ts'
import type { ConfigHome } from '../config-home.ts'
import { localDate } from '../local-date.ts'
import { readSettings } from '../settings.ts'
import type { AgentEvent } from './agent-event.ts'
import type { AgentMemory } from './agent-memory.ts'
import type { Approve, CallRoom } from './answer-calls.ts'
import { backgroundMemory } from './background-memory.ts'
import { compactConversation, compactIfFull } from './compact.ts'
import type { Compacted } from './compact.ts'
import { usageCounter } from './count-usage.ts'
import { toolResultsDir } from './large-result.ts'
import type { ModelClient } from './model-client.ts'
import { openMemory } from './open-memory.ts'
import { openPermissions } from './open-permissions.ts'
import type { Permissions } from './open-permissions.ts'
import { parseRule } from './permission-rule.ts'
import { decide } from './permissions.ts'
import { readInstructions } from './project-instructions.ts'
import type { Wait } from './stream-answer.ts'
import { systemPrompt } from './system-prompt.ts'
import { BackgroundShells } from './tools/background-shells.ts'
import { followLinks } from './tools/file-target.ts'
import type { ToolContext } from './tools/tool.ts'
import { toolsFor } from './tools/tools.ts'
import { runTurn } from './turn.ts'
import type { TurnResult } from './turn.ts'
import { addUsage, totalOf } from './usage.ts'
import type { ProcessGroups } from './tools/run-shell.ts'

/** What an agent is opened with. */
export interface AgentOptions {
  home: ConfigHome
  env: Readonly<Record<string, string | undefined>>
  /** The project's folder in the config home. */
  projectDir: string
  /** The project, a real path. */
  root: string
  model: ModelClient
  permissionMode: PermissionMode
  bare: boolean
  approve: Approve | undefined
  emit: (event: AgentEvent) => void
  now: () => Date
  wait: Wait
  groups: ProcessGroups | undefined
}

/** A conversation that can be gone on with: the session, its files, its memory and a model. */
export interface Agent {
  readonly session: Session
  /** `null`: file history is switched off. */
  readonly history: FileHistory | null
  readonly memory: AgentMemory
  readonly model: ModelClient
  readonly state: Store<AppState>
  /**
   * @throws {LociError} when the transcript or the snapshot cannot be written
   */
  prompt(text: string, signal: AbortSignal): Promise<TurnResult>
  /**
   * Lets a summary stand for the conversation; `wish`: what the user wants of it.
   *
   * @throws {LociError} as {@link compactConversation}
   */
  compact(wish: string, signal: AbortSignal): Promise<Compacted>
  close(): Promise<void>
}

/**
 * Puts an agent together around an open session, which it closes.
 *
 * @throws {LociError} HISTORY_LOCKED, CONFIG_INVALID, DISK_IO: the session is closed then
 */
export async function openAgent(session: Session, options: AgentOptions): Promise<Agent> {
  try {
    const { home, env, root, bare, model } = options
    const memory = await openMemory({ home, cwd: root, env, bare, sessionId: session.id, now: options.now })
    // Real paths, as tools name what they touch: a link to the config home hides nothing.
    const configDir = await followLinks(home.dir)
    const asideDir = await followLinks(toolResultsDir(options.projectDir, session.id))
    const permissions = await openPermissions({
      ...options,
      settings: await readSettings({ configDir: home.dir, cwd: root }),
      notify: (text) => options.emit({ type: 'notice', text }),
    })
    const state = createStore(
      getDefaultAppState({
        approvedTools: permissions.allowed,
        sessionId: session.id,
        cwd: root,
        mainLoopModel: model.model,
        permissionMode: options.permissionMode,
        totalUsage: totalOf((await session.records('cost-state')).at(-1)),
      }),
      {
        onChange: onChangeAppState({
          approvedTools: (rules, before) => permissions.store(rules.filter((rule) => !before.includes(rule))),
        }),
      },
    )
    const guidance = (await memory.prompt())?.system ?? null
    // Last: what fails after it would leave its lease behind.
    const history = await openHistory(session, options)
    const system = systemPrompt({ root, memory: guidance, hasHistory: history !== null })
    const calls = callRoom({ history, memory, state, permissions, configDir, asideDir, options })
    const count = usageCounter({
      session,
      model: model.model,
      onUsage: (usage) =>
        state.setState((before) => ({ ...before, totalUsage: addUsage(before.totalUsage, usage) })),
    })
    const asking = { client: model.client, model: model.model, system, count, maxRetries: retriesOf(env) }
    const fork = { ...asking, calls, wait: options.wait }
    const compacting = {
      session,
      fork,
      hasMemory: memory.enabled,
      emit: options.emit,
      onCompacting: (isCompacting: boolean) => state.setState((before) => ({ ...before, isCompacting })),
    }
    const background = (await memory.isExtracting())
      ? backgroundMemory({ session, fork, emit: options.emit })
      : undefined
    return {
      session,
      history,
      memory,
      model,
      state,
      async prompt(text, signal) {
        let wroteMemory = false
        const result = await runTurn(
          {
            ...options,
            ...asking,
            session,
            history,
            calls: noticingSaves(calls, () => (wroteMemory = true)),
            hasMemory: memory.enabled,
            surroundings: async () => ({
              date: localDate(options.now()),
              memory: (await memory.prompt())?.context ?? null,
              instructions: bare
                ? null
                : await readInstructions({
                    root,
                    configDir,
                    userHome: permissions.rules.userHome,
                    isDenied: (path) =>
                      decide('Read', { kind: 'read', path }, calls.rules()).kind === 'refuse',
                  }),
            }),
            compactIfFull: (during) => compactIfFull(compacting, () => wantsCompaction(options), during),
            toolResultsDir: toolResultsDir(options.projectDir, session.id),
            permissionMode: state.getState().permissionMode,
            createId: randomUUID,
          },
          text,
          signal,
        )
        await background?.turnEnded({ isWhole: result.error === undefined, wroteMemory })
        return result
      },
      async compact(wish, signal) {
        // What is still to be looked at would be closed, and count as taken back.
        await background?.idle(BACKGROUND_WAIT_MS)
        return compactConversation(compacting, { trigger: 'manual', wish }, signal)
      },
      async close() {
        await calls.context.shells.close()
        await background?.idle(BACKGROUND_WAIT_MS)
        try {
          await history?.close()
        } finally {
          await session.close()
        }
      },
    }
  } catch (error) {
    // What went wrong first is what is told.
    await session.close().catch(() => undefined)
    throw error
  }
}

async function openHistory(session: Session, { home, env, root }: AgentOptions): Promise<FileHistory | null> {
  const config = await readSettings({ configDir: home.dir, cwd: root })
  if (!isFileHistoryEnabled({ env, interactive: true, config })) return null
  const place = { sessionId: session.id, path: session.path, cwd: root }
  return openSessionHistory(home, place, { mode: 'write', record: (draft) => session.record(draft) })
}

async function wantsCompaction({ home, root }: AgentOptions): Promise<boolean> {
  return (await readSettings({ configDir: home.dir, cwd: root })).autoCompactEnabled !== false
}

/** Tells of each memory that a turn saves itself. */
function noticingSaves(calls: CallRoom, onSave: () => void): CallRoom {
  const { memory } = calls.context
  const save: AgentMemory['save'] = async (...words) => {
    const saved = await memory.save(...words)
    onSave()
    return saved
  }
  return { ...calls, context: { ...calls.context, memory: { ...memory, save } } }
}

function callRoom(room: {
  history: FileHistory | null
  memory: AgentMemory
  state: Store<AppState>
  permissions: Permissions
  configDir: string
  asideDir: string
  options: AgentOptions
}): CallRoom {
  const { history, memory, state, permissions, configDir, asideDir, options } = room
  const { root, env, approve, emit, groups, now } = options
  const updateTasks: ToolContext['updateTasks'] = (update) =>
    state.setState((before) => ({ ...before, tasks: update(before.tasks) }))
  return {
    tools: toolsFor({ hasMemory: memory.enabled }),
    context: {
      root,
      history,
      memory,
      asideDir,
      env,
      groups,
      now,
      seen: new Map(),
      shells: new BackgroundShells({ now, updateTasks, createId: randomUUID }),
      updateTasks,
    },
    rules: () => ({
      mode: state.getState().permissionMode,
      root,
      asideDir,
      memoryDirs: memory.dirs,
      configDir,
      ...permissions.rules,
      allow: state.getState().approvedTools.map(parseRule),
    }),
    approve,
    emit,
    async onAlways(rule) {
      state.setState((before) => ({ ...before, approvedTools: [...before.approvedTools, rule] }))
      await permissions.stored()
    },
    denials: () => state.getState().permissionDenials,
    onDenial: (denial) =>
      state.setState((before) => ({ ...before, permissionDenials: [...before.permissionDenials, denial] })),
  }
}

/** How long the exit waits for what the background still looks at. */
const BACKGROUND_WAIT_MS = 10_000

const DEFAULT_RETRIES = 6

function retriesOf(env: Readonly<Record<string, string | undefined>>): number {
  const wanted = env['LOCI_MAX_RETRIES'] ?? ''
  return /^\d{1,3}$/.test(wanted) ? Number(wanted) : DEFAULT_RETRIES
}
