import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { CommandContext, SignalName } from './command-context.ts'

/** How a command ended. */
export interface Ending {
  /** As a shell gives it: 127 no such command, 126 it cannot be started, 128+n signal n. */
  exitCode: number
  /** Why that is a failure, for people; absent: it is none. */
  failure?: string
}

/** Time that what was signalled has to end in good order, before it is killed. */
const GRACE_MS = 5000
const POLL_MS = 20

/**
 * A command with our standard input and outputs, and signals passed on to it. What it prints goes to `output` of ours:
 * standard error where standard output is for something else.
 *
 * Without a terminal it runs in a process group of its own, and a signal reaches all of the group: a child of it that
 * went on writing would spoil what is put back. With one it stays in our group, which has the keyboard: Ctrl-C
 * reaches all of that anyway.
 */
export class GuardedCommand {
  readonly #words: readonly string[]
  readonly #world: Pick<CommandContext, 'hasTerminal' | 'kill'>
  readonly #output: 'stdout' | 'stderr'
  #child: ChildProcess | undefined
  #signal: SignalName | undefined

  constructor(
    words: readonly string[],
    world: Pick<CommandContext, 'hasTerminal' | 'kill'>,
    output: 'stdout' | 'stderr' = 'stdout',
  ) {
    this.#words = words
    this.#world = world
    this.#output = output
  }

  /** Passes a signal on; before the start it keeps the command from being started. */
  interrupt(signal: SignalName): void {
    const isFirst = this.#signal === undefined
    this.#signal ??= signal
    // The terminal has told the command of the first Ctrl-C itself; a second one may end it less gently.
    if (this.#world.hasTerminal && signal === 'SIGINT' && isFirst) return
    if (this.#isRunning) this.#kill(signal)
  }

  get #isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  /** Runs it to its end. Never rejects. */
  async run(): Promise<Ending> {
    if (this.#signal !== undefined) return bySignal(this.#signal, 'before it was started')
    const ending = await this.#untilEnd()
    if (this.#signal === undefined) return ending
    await this.#untilGroupEnds()
    return ending.exitCode === 0 ? bySignal(this.#signal, 'while it ran') : ending
  }

  #untilEnd(): Promise<Ending> {
    const [command = '', ...parameters] = this.#words
    return new Promise((resolve) => {
      try {
        const child = spawn(command, parameters, {
          stdio: ['inherit', this.#output === 'stderr' ? 2 : 'inherit', 'inherit'],
          detached: !this.#world.hasTerminal,
        })
        this.#child = child
        child.once('error', (error) => resolve(notStarted(command, error)))
        child.once('exit', (code, signal) => resolve(endingOf(code, signal)))
      } catch (error) {
        resolve(notStarted(command, error))
      }
    })
  }

  /** Waits for the rest of the group, which got the same signal. */
  async #untilGroupEnds(): Promise<void> {
    if (this.#world.hasTerminal) return
    for (let waitedMs = 0; waitedMs < GRACE_MS && this.#kill(0); waitedMs += POLL_MS) await wait(POLL_MS)
    this.#kill('SIGKILL')
  }

  #kill(signal: NodeJS.Signals | 0): boolean {
    const pid = this.#child?.pid
    return pid !== undefined && this.#world.kill(this.#world.hasTerminal ? pid : -pid, signal)
  }
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  if (signal !== null) {
    return { exitCode: 128 + constants.signals[signal], failure: `the command was ended by ${signal}` }
  }
  return code === 0 || code === null
    ? { exitCode: 0 }
    : { exitCode: code, failure: `the command failed with exit code ${code}` }
}

function bySignal(signal: SignalName, when: string): Ending {
  return { exitCode: 128 + constants.signals[signal], failure: `${signal} came ${when}` }
}

function notStarted(command: string, error: unknown): Ending {
  const errno = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  const isMissing = errno === 'ENOENT' || errno === 'ENOTDIR'
  const advice = NOT_STARTED[errno]?.(command)
  const why = isMissing ? 'there is no such command' : `it cannot be started (${errno})`
  return {
    exitCode: isMissing ? 127 : 126,
    failure: `${JSON.stringify(command)}: ${why}${advice === undefined ? '' : `; ${advice}`}`,
  }
}

/** What helps, as far as that is known. */
const NOT_STARTED: Readonly<Record<string, (command: string) => string>> = {
  EACCES: (command) => `chmod +x ${command}, or run it with a shell: sh ${command}`,
  ENOEXEC: (command) => `it says not what runs it (#!/bin/sh); run it with a shell: sh ${command}`,
}
