import { readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import type { PermissionMode } from '@loci/app-state'
import { createMessagesApi } from '@loci/cli/testing'
import type { Answerer, Fault, MessagesRequest, ModelAnswer, SeenRequest } from '@loci/cli/testing'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import type { RecordDraft, Session } from '@loci/session-jsonl'
import type { AgentEvent } from '../src/agent/agent-event.ts'
import { openAgent } from '../src/agent/open-agent.ts'
import type { Agent } from '../src/agent/open-agent.ts'
import { startSession } from '../src/agent/start-session.ts'
import type { Start } from '../src/agent/start-session.ts'
import type { TurnResult } from '../src/agent/turn.ts'
import { openConfigHome } from '../src/config-home.ts'
import { groups } from './agent-tools-room.ts'

/** What the stand-in does with one request. */
export type Step = ModelAnswer | Fault | Answerer

export interface TurnWorld {
  readonly work: Tree
  /** The project. */
  readonly root: string
  /** What the stand-in saw. */
  readonly requests: SeenRequest[]
  readonly events: AgentEvent[]
  /** Waits before retries, in milliseconds; none is waited for. */
  readonly waits: number[]
  /** The next answers, one a request; after them "ok". */
  readonly script: Step[]
  /** The local time; a test may set it. */
  clock: Date
  env: Record<string, string>
  permissionMode: PermissionMode
  /** Whether the background looks for what to remember; else the script is for the turns alone. */
  extraction: boolean
  /** A client of another server, instead of the stand-in in this process. */
  client: Anthropic | undefined
  model: string
  open(start?: Start): Promise<Agent>
  close(): Promise<void>
}

export const say = (text: string): ModelAnswer => ({ content: [{ type: 'text', text }] })
export const call = (name: string, input: unknown, id?: string): ModelAnswer => ({
  content: [{ type: 'tool_use', name, input, ...(id === undefined ? {} : { id }) }],
})
export const fault = (status: number, errorType: string, headers: Record<string, string> = {}): Fault => ({
  status,
  errorType,
  message: `it is ${errorType}`,
  headers,
})

export async function turnWorld(project: Record<string, TreeFile> = {}): Promise<TurnWorld> {
  const named = Object.entries(project).map(([name, file]): [string, TreeFile] => [`project/${name}`, file])
  const work = await tree({ 'project/': '', ...Object.fromEntries(named) })
  const script: Step[] = []
  const requests: SeenRequest[] = []
  const events: AgentEvent[] = []
  const waits: number[] = []
  const api = createMessagesApi({
    answer: (request) => {
      const step = script.shift() ?? say('ok')
      return typeof step === 'function' ? step(request) : step
    },
    onRequest: (seen) => void requests.push(seen),
  })
  const agents: Agent[] = []
  const world: TurnWorld = {
    work,
    root: work.path('project'),
    requests,
    events,
    waits,
    script,
    clock: new Date(2026, 10, 30, 12),
    env: { PATH: process.env['PATH'] ?? '', LOCI_MAX_RETRIES: '2' },
    permissionMode: 'bypassPermissions',
    extraction: false,
    client: undefined,
    model: 'claude-sonnet-5-5',
    async open(start = { kind: 'new' }) {
      const home = await openConfigHome({ dir: work.path('home'), write: false })
      if (!world.extraction) {
        await home.claim()
        await writeFile(work.path('home/settings.json'), '{"memoryExtraction":false}')
      }
      const now = (): Date => world.clock
      const place = { home, env: {}, write: false, cwd: world.root, version: 'test', now }
      const started = await startSession({ ...place, start })
      const client =
        world.client ??
        new Anthropic({ apiKey: 'test', fetch: api.fetch, baseURL: 'http://stand-in.invalid', maxRetries: 0 })
      const agent = await openAgent(started.session, {
        home: started.home,
        env: world.env,
        projectDir: started.projectDir,
        root: started.root,
        model: { client, model: world.model, isOffline: false },
        permissionMode: world.permissionMode,
        bare: false,
        approve: undefined,
        emit: (event) => void events.push(event),
        now,
        wait: async (ms, signal) => {
          waits.push(ms)
          signal.throwIfAborted()
        },
        groups,
      })
      agents.push(agent)
      return agent
    },
    async close() {
      for (const agent of agents) await agent.close().catch(() => undefined)
      await work.remove()
    },
  }
  return world
}

/** A turn that nobody interrupts. */
export function prompt(agent: Agent, text: string): Promise<TurnResult> {
  return agent.prompt(text, new AbortController().signal)
}

/** Where a session is, for going on with it. */
export function resume(session: Pick<Session, 'id' | 'path'>, cwd: string): Start {
  return {
    kind: 'resume',
    place: { path: session.path, projectDir: dirname(session.path), sessionId: session.id, cwd },
  }
}

/** The lines of a transcript as they are in the file. */
export async function linesOf(path: string): Promise<RecordDraft[]> {
  const text = await readFile(path, 'utf8')
  return text.split('\n').flatMap((line): RecordDraft[] => (line === '' ? [] : [JSON.parse(line)]))
}

/** Blocks of a request's messages in the order of the prompt, without marks; a plain string is one text block. */
export function blocksIn(seen: SeenRequest | undefined): Record<string, unknown>[] {
  if (seen?.status !== 200) throw new Error(`not accepted: ${seen?.status} ${seen?.error}`)
  const { messages } = seen.body as MessagesRequest
  return messages.flatMap(({ role, content }) =>
    (typeof content === 'string' ? [{ type: 'text', text: content }] : content).map((block) => {
      const { cache_control: _mark, ...bare }: Record<string, unknown> = { ...block }
      return { role, ...bare }
    }),
  )
}

/** The texts of a request. */
export function textsIn(seen: SeenRequest | undefined): string[] {
  return blocksIn(seen).flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []))
}
