import type { TaskState } from '@loci/app-state'
import { runShell } from './run-shell.ts'
import type { ShellCommand, ShellResult } from './run-shell.ts'
import type { ToolContext } from './tool.ts'

/** Characters of a command's output that are kept until they are read. */
const MAX_UNREAD_UNITS = 1 << 20
const MAX_RUNNING = 20

interface Shell {
  unread: string
  droppedUnits: number
  /** A string: why it was not started. `undefined`: it runs. */
  end: ShellResult | string | undefined
  abort: AbortController
  done: Promise<void>
}

/** What came of a command since it was last asked. */
export interface ShellReading {
  text: string
  /** Characters before `text` that were not kept. */
  droppedUnits: number
  /** `undefined`: it runs. */
  end: ShellResult | undefined
}

/** Commands that run while the conversation goes on. Each is a task of the state, by its id. */
export class BackgroundShells {
  readonly #shells = new Map<string, Shell>()
  readonly #options: Pick<ToolContext, 'now' | 'updateTasks'> & { createId: () => string }

  constructor(options: Pick<ToolContext, 'now' | 'updateTasks'> & { createId: () => string }) {
    this.#options = options
  }

  get ids(): string[] {
    return [...this.#shells.keys()]
  }

  /** Resolves when the command runs, to its id; to a string that says why it does not. */
  async start(
    command: Pick<ShellCommand, 'command' | 'cwd' | 'env' | 'timeoutMs' | 'groups'>,
  ): Promise<{ id: string } | string> {
    const running = [...this.#shells.values()].filter(({ end }) => end === undefined)
    if (running.length >= MAX_RUNNING) return `${MAX_RUNNING} commands run in the background; end one of them`
    const id = `bash-${this.#options.createId().slice(0, 8)}`
    const abort = new AbortController()
    const shell: Shell = { unread: '', droppedUnits: 0, end: undefined, abort, done: Promise.resolve() }
    this.#shells.set(id, shell)
    await new Promise<void>((resolve) => {
      const ran = runShell({
        ...command,
        signal: abort.signal,
        keepsOutput: false,
        onStart: resolve,
        onOutput: (text) => keep(shell, text),
      })
      shell.done = this.#follow(id, shell, ran).finally(resolve)
    })
    if (typeof shell.end === 'string') {
      this.#shells.delete(id)
      return shell.end
    }
    const task: TaskState = {
      type: 'shell',
      description: command.command,
      status: shell.end === undefined ? 'running' : statusOf(shell.end),
      startedAtMs: this.#nowMs(),
      endedAtMs: shell.end === undefined ? null : this.#nowMs(),
    }
    this.#options.updateTasks((tasks) => ({ ...tasks, [id]: task }))
    return { id }
  }

  /** What it printed since the last reading; `undefined`: there is none of this id. */
  read(id: string): ShellReading | undefined {
    const shell = this.#shells.get(id)
    if (shell === undefined) return undefined
    const { unread: text, droppedUnits, end } = shell
    shell.unread = ''
    shell.droppedUnits = 0
    return { text, droppedUnits, end: typeof end === 'string' ? undefined : end }
  }

  /** Ends a command with all that it started; whether it ran. `undefined`: there is none of this id. */
  async stop(id: string): Promise<boolean | undefined> {
    const shell = this.#shells.get(id)
    if (shell === undefined) return undefined
    const wasRunning = shell.end === undefined
    shell.abort.abort()
    await shell.done
    return wasRunning
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    await Promise.all(this.ids.map((id) => this.stop(id)))
  }

  async #follow(id: string, shell: Shell, ran: Promise<ShellResult | string>): Promise<void> {
    const end = await ran
    shell.end = end
    if (typeof end !== 'string') this.#note(id, { status: statusOf(end), endedAtMs: this.#nowMs() })
  }

  #nowMs(): number {
    return this.#options.now().getTime()
  }

  #note(id: string, change: Pick<TaskState, 'status' | 'endedAtMs'>): void {
    this.#options.updateTasks((tasks) => {
      const task = tasks[id]
      return task === undefined ? tasks : { ...tasks, [id]: { ...task, ...change } }
    })
  }
}

function keep(shell: Shell, text: string): void {
  const all = shell.unread + text
  shell.droppedUnits += Math.max(0, all.length - MAX_UNREAD_UNITS)
  shell.unread = all.slice(-MAX_UNREAD_UNITS)
}

function statusOf({ exitCode, ended }: ShellResult): TaskState['status'] {
  if (ended === 'interrupted') return 'cancelled'
  return exitCode === 0 && ended === null ? 'completed' : 'failed'
}
