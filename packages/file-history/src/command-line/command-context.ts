import type { Invocation } from './arguments.ts'

/** Signals that end a program in good order. */
export type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

/** The process that a command line runs in. `bin.ts` gives the real one. */
export interface CommandLineWorld {
  argv: readonly string[]
  /** Throws where the directory is gone. */
  cwd: () => string
  version: () => string
  /** Writes to standard output. */
  print: (text: string) => void
  /** Writes to standard error. */
  warn: (text: string) => void
  /** Whether standard output is a terminal, which control characters could confuse. */
  isScreen: boolean
  /** Whether a terminal is there whose Ctrl-C reaches every program of the job, not only this one. */
  hasTerminal: boolean
  /** From now on signals are told to `listener`, and no longer end the process; `undefined`: they do again. */
  onSignal: (listener: ((signal: SignalName) => void) | undefined) => void
  /** Signals a process, or with a negative id a group; 0 only asks. Whether there was one to take it. */
  kill: (pid: number, signal: NodeJS.Signals | 0) => boolean
}

/** What a command works with. */
export interface CommandContext extends CommandLineWorld, Invocation {
  /** The directory that the program was started in: relative paths are taken from it. */
  startDir: string
}

/** What a command found: the value for `--json`, the text for people, the exit code. */
export interface CommandResult {
  value: unknown
  text: string
  /** Default 0. */
  exitCode?: number
}

/** A command. One that prints by itself resolves to its exit code. */
export type RunCommand = (context: CommandContext) => Promise<CommandResult | number>
