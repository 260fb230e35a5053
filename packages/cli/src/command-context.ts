import type { Options } from './arguments.ts'
import type { ConfigHome } from './config-home.ts'

/** What a command is given: everything from outside, so that only `bin.ts` touches the process. */
export interface CommandContext {
  home: ConfigHome
  /** Absolute. */
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  options: Options
  /** The words after the command's own. */
  parameters: readonly string[]
  /** All of standard input. */
  readInput: () => Promise<string>
  /** Shows a line now, for commands that take their time. */
  say: (line: string) => void
  /** Tells a person who waits at a terminal how far it is; to nobody else. */
  showProgress: (line: string) => void
}

/** What a command answers. */
export interface CommandResult {
  /** The package's return value, printed unchanged with `--json`. */
  value: unknown
  /** With `--json` the items of `value`, which is a list, are printed one a line. */
  isLines?: true
  /** The same for people. */
  text: string
  /** A text that goes into a file: printed piece by piece as it is, in place of `text`. */
  pieces?: AsyncIterable<string>
  /** 3 when the value lists damage, a conflict or a pending rewind; default 0. */
  exitCode?: 0 | 3
}
