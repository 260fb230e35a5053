import type { PermissionMode } from '@loci/app-state'
import { parseChoice } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import type { ConfigHome } from '../config-home.ts'
import type { SessionPlace } from '../find-session.ts'
import type { AgentEvent } from './agent-event.ts'
import type { Approve } from './answer-calls.ts'
import { openModelClient } from './model-client.ts'
import type { ModelClient } from './model-client.ts'
import { openAgent } from './open-agent.ts'
import type { Agent } from './open-agent.ts'
import { startSession } from './start-session.ts'
import type { Start } from './start-session.ts'
import type { Wait } from './stream-answer.ts'
import type { ProcessGroups } from './tools/run-shell.ts'

/** What a conversation needs from outside, beside what commands need. */
export interface ConversationContext extends CommandContext {
  version: string
  now: () => Date
  wait: Wait
  groups: ProcessGroups | undefined
  /** Aborted when the run is interrupted. */
  signal: AbortSignal
  print: (text: string) => void
  warn: (text: string) => void
}

/** The model of `--model`, `--offline` and the environment. */
export function chooseModel({ env, options }: CommandContext): ModelClient {
  return openModelClient({ env, model: options.model, offline: options.offline === true })
}

/** @throws {UsageError} for a mode that does not exist */
export function choosePermissionMode({ options }: CommandContext): PermissionMode {
  return parseChoice('permission-mode', options['permission-mode'], [
    'default',
    'acceptEdits',
    'plan',
    'bypassPermissions',
  ])
}

/** An agent, and where the session is that it talks in. */
export interface StartedAgent {
  agent: Agent
  home: ConfigHome
  place: SessionPlace
  /** What to know about it, a sentence each. */
  notices: string[]
}

/** An agent in the session that `start` says. */
export async function startAgent(
  context: ConversationContext,
  start: Start,
  how: {
    model: ModelClient
    permissionMode: PermissionMode
    approve: Approve | undefined
    emit: (event: AgentEvent) => void
  },
): Promise<StartedAgent> {
  const { env, options, cwd, version, now, wait, groups } = context
  const write = options.write === true
  const started = await startSession({ start, home: context.home, env, write, cwd, version, now })
  const { session, home, projectDir, root, notices } = started
  const bare = options.bare === true
  const agent = await openAgent(session, { ...how, home, env, projectDir, root, bare, now, wait, groups })
  if (agent.history === null)
    notices.push('File history is switched off: what is changed or deleted cannot be brought back.')
  const place = { sessionId: session.id, path: session.path, projectDir, cwd: root }
  return { agent, home, place, notices }
}
