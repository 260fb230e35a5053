import type { CommandShape } from './arguments.ts'
import type { RunCommand } from './command-context.ts'

/** One entry of the table: how it is called, what it does, and where it is, loaded only when it is run. */
export interface Command extends CommandShape {
  summary: string
  load: () => Promise<RunCommand>
}

export const commands: Readonly<Record<string, Command>> = {
  run: {
    summary: 'run a command and record what it changes',
    parameters: [],
    options: ['rewind-on-fail', 'max-files', 'max-bytes'],
    load: async () => (await import('./run.ts')).runCommand,
  },
  snapshot: {
    summary: 'record files as they are, all tracked ones too',
    parameters: ['[PATH…]'],
    options: [],
    load: async () => (await import('./snapshot.ts')).snapshotCommand,
  },
  list: {
    summary: 'the snapshots, oldest first',
    parameters: [],
    options: [],
    load: async () => (await import('./look.ts')).listCommand,
  },
  diff: {
    summary: 'what changed since a snapshot',
    parameters: ['[ID]'],
    options: ['exit-code'],
    load: async () => (await import('./diff.ts')).diffCommand,
  },
  rewind: {
    summary: 'put the files back as a snapshot has them',
    parameters: ['[ID]'],
    options: ['on-conflict'],
    load: async () => (await import('./rewind.ts')).rewindCommand,
  },
  undo: {
    summary: 'take a rewind back, or the last; again: redo it',
    parameters: ['[ID]'],
    options: ['on-conflict', 'list'],
    load: async () => (await import('./rewind.ts')).undoCommand,
  },
  resolve: {
    summary: 'end a rewind that was interrupted',
    parameters: ['finish|undo'],
    options: [],
    load: async () => (await import('./rewind.ts')).resolveCommand,
  },
  verify: {
    summary: 'what is damaged, or was not recorded',
    parameters: [],
    options: [],
    load: async () => (await import('./look.ts')).verifyCommand,
  },
  gc: {
    summary: 'remove what nothing needs; --dry-run shows it',
    parameters: [],
    options: ['dry-run'],
    load: async () => (await import('./upkeep.ts')).gcCommand,
  },
  unlock: {
    summary: 'release a history whose owner is gone for certain',
    parameters: [],
    options: [],
    load: async () => (await import('./upkeep.ts')).unlockCommand,
  },
}

/** The text of `--help`. Fits 80 columns. Pure. */
export function helpText(): string {
  const rows = Object.entries(commands).map(([name, { parameters, summary }]) => ({
    usage: name === 'run' ? 'run -- COMMAND…' : [name, ...parameters].join(' '),
    summary,
  }))
  const width = Math.max(...rows.map(({ usage }) => usage.length))
  const lines = rows.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`)
  return `Usage: file-history COMMAND [OPTIONS]\n\n${lines.join('\n')}\n\n${OPTION_TEXT}`
}

const OPTION_TEXT = `ID is the id of a snapshot; left out, the last run. Of undo: one of undo --list.

  --rewind-on-fail       run: put everything back if the command fails
  --max-files N          run: cover at most so many files, else 20000
  --max-bytes N          run: cover at most so many bytes, else 536870912; and
                         keep at most so many of old snapshots
  --exit-code            diff: exit with 1 if something differs
  --on-conflict CHOICE   rewind, undo: what to do with files that somebody
                         changed since: stop (not undo), skip, overwrite
  --list                 undo: the rewinds that can be taken back
  --dry-run              gc: only show it
  --json                 print the result as JSON; of run, all that COMMAND
                         prints goes to standard error then
  --dir DIR              where the history is kept; else in the git directory,
                         without git in .file-history/
  --root DIR             the files it is about; else the git work tree, without
                         git the current directory
  -h, --help             this text
  -V, --version          the version

Exit codes: 0 ok, 1 diff --exit-code found something, 2 usage, 3 something
waits for a decision (conflict, damage, interrupted rewind, a diff that is not
whole), 125 refused or failed, 128+n signal n. Of run: that of COMMAND, 126 it
cannot be started, 127 there is no such command, 128+n signal n, 125 it
succeeded but could not be recorded, or was not run since it could not be put
back.
`
