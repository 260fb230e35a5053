import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { FileHistory, FileHistoryOptions } from '../file-history.ts'
import type { CommandContext } from './command-context.ts'
import { parseCount } from './arguments.ts'
import { commandsCutOff } from './cut-off.ts'
import { findPlace, isHistory, preparePlace, RUN_PREFIX, withHistory } from './place.ts'
import type { Place } from './place.ts'
import { gitChange, readGitState } from './git-state.ts'
import { counted, leftLines, shown } from './render.ts'
import { reportError } from './report-error.ts'
import { noteRun } from './runs.ts'
import { GuardedCommand } from './start-command.ts'
import type { Ending } from './start-command.ts'
import { oneLine } from './visible.ts'
import { foldersBeyond, whyUncovered } from './why-uncovered.ts'

/** What `run --json` prints, on one line. Paths are absolute. */
interface RunReport {
  /** Of the snapshot made before the command. */
  id: string
  /** What `run` exits with. */
  exitCode: number
  changed: string[]
  /** Changed, but not covered: nothing brings these back. */
  untracked: string[]
  /** Whether the command failed and everything is as before: all of `changed` is back, and nothing else differs. */
  rewound: boolean
}

/**
 * `file-history run`: makes a snapshot, runs the command and records what it changed; with `--rewind-on-fail` puts that
 * back if it fails. All that is said goes to standard error. Standard output is the command's, or with `--json` holds
 * that and nothing else. A failure of the command is never replaced by one of ours.
 */
export async function runCommand(context: CommandContext): Promise<number> {
  const isJson = context.options.json === true
  const command = new GuardedCommand(context.words, context, isJson ? 'stderr' : 'stdout')
  context.onSignal((signal) => command.interrupt(signal))
  const limits = limitsOf(context)
  const place = await findPlace(context)
  await preparePlace(place)
  const work = async (history: FileHistory): Promise<number> => {
    const cutOff = await commandsCutOff(place)
    const id = `${RUN_PREFIX}${randomUUID().slice(0, 8)}`
    await history.makeSnapshot(id)
    if (cutOff.size > 0) warnOfCutOff(context, place, cutOff, await commandsCutOff(place))
    const git = place.gitDir === undefined ? undefined : await readGitState(place.gitDir)
    let ending: Ending | undefined
    let covered
    try {
      covered = await history.trackCommand(id, async () => (ending = await command.run()))
    } catch (error) {
      if (ending === undefined) throw error
      return sayNotRecorded(context, { id, ending, error })
    }
    if (git !== undefined && place.gitDir !== undefined) {
      const change = gitChange(git, await readGitState(place.gitDir))
      if (change !== undefined) say(context, change)
    }
    if (!(await isHistory(place.dir))) return sayRemoved(context, place, covered.result)
    const { exitCode } = covered.result
    await noteRun(place.dir, { id, command: context.words, exitCode }, history.snapshots())
    return finish(context, history, { ...covered, id, ending: covered.result, place, limits })
  }
  return withHistory(place, 'write', work, limits)
}

type Limits = Pick<FileHistoryOptions, 'maxFiles' | 'maxBytes'>

/** @throws {UsageError} when one is no whole number from 1 */
function limitsOf({ options }: CommandContext): Limits {
  const maxFiles = parseCount('--max-files', options['max-files'])
  const maxBytes = parseCount('--max-bytes', options['max-bytes'])
  return {
    ...(maxFiles === undefined ? {} : { maxFiles }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  }
}

/** The command has run, but nobody knows what it changed. The exit code. */
function sayNotRecorded(
  context: CommandContext,
  { id, ending, error }: { id: string; ending: Ending; error: unknown },
): number {
  sayEnding(context, ending)
  say(context, reportError(error).line)
  const advice = `file-history rewind ${id} puts back what can be, once that is set right`
  say(context, `${id}: what the command changed is not recorded; ${advice}`)
  return ending.exitCode || 125
}

/** The command took away what would take it back. The exit code. */
function sayRemoved(context: CommandContext, { dir }: Place, ending: Ending): number {
  sayEnding(context, ending)
  const advice = 'keep it where the command does not reach: --dir DIR'
  say(
    context,
    `the command removed the file history ${JSON.stringify(dir)}; nothing can be put back; ${advice}`,
  )
  return ending.exitCode || 125
}

async function finish(
  context: CommandContext,
  history: FileHistory,
  run: Pick<RunReport, 'id' | 'changed' | 'untracked'> & { ending: Ending; place: Place; limits: Limits },
): Promise<number> {
  const { id, ending, changed, untracked, place, limits } = run
  sayEnding(context, ending)
  const isBack = ending.failure !== undefined && context.options['rewind-on-fail'] === true
  const advice = isBack || changed.length === 0 ? '' : '; file-history rewind undoes it'
  say(context, `${id}: ${counted(changed.length, 'file')} changed${advice}`)
  sayEach(context, changed, (path) => `  changed ${shown(path, context.startDir)}`)
  const reasons = new Map<string, string>()
  // Each needs a look: not more of them than are said.
  for (const path of untracked.slice(0, MAX_NAMES)) reasons.set(path, await whyUncovered(place.root, path))
  sayEach(
    context,
    untracked,
    (path) => `  changed, but not covered: ${shown(path, context.startDir)}: ${reasons.get(path) ?? ''}`,
  )
  const rewound = isBack && (await putBack(context, history, { id, changed, untracked }))
  if (isBack) sayBeyond(context, await foldersBeyond(place, limits.maxFiles))
  const report: RunReport = { id, exitCode: ending.exitCode, changed, untracked, rewound }
  if (context.options.json === true) context.print(`${JSON.stringify(report)}\n`)
  return ending.exitCode
}

function sayBeyond(context: CommandContext, folders: readonly string[]): void {
  const [first, ...others] = folders.map((path) => shown(path, context.startDir))
  if (first === undefined) return
  const what = `${counted(folders.length, 'ignored folder')} not looked into, beyond --max-files`
  say(context, `${what}: ${first}${others.length > 0 ? ' …' : ''}; what changed there stays`)
}

/** Names of a kind that are said, at most; `--json` has them all. */
const MAX_NAMES = 20

function sayEach<T>(context: CommandContext, all: readonly T[], lineOf: (one: T) => string): void {
  for (const one of all.slice(0, MAX_NAMES)) say(context, lineOf(one))
  const more = all.length - MAX_NAMES
  if (more > 0) say(context, `  … and ${more} more`)
}

/** Puts back what can be and names the rest. Whether all is as it was. */
async function putBack(
  context: CommandContext,
  history: FileHistory,
  { id, changed, untracked }: Pick<RunReport, 'id' | 'changed' | 'untracked'>,
): Promise<boolean> {
  try {
    const result = await history.rewind(id, { onConflict: 'skip' })
    const back = new Set([...result.restored, ...result.deleted, ...result.unchanged])
    const count = changed.filter((path) => back.has(path)).length
    if (changed.length > 0) say(context, `put back: ${count} of ${counted(changed.length, 'file')}`)
    for (const line of leftLines(result, context.startDir)) say(context, `  not put back: ${line}`)
    sayEach(context, untracked, (path) => `  not put back: ${shown(path, context.startDir)} is not covered`)
    return count === changed.length && untracked.length + result.conflicts.length === 0
  } catch (error) {
    say(context, reportError(error).line)
    const advice =
      history.pendingRewind === null ? `rewind ${id} tries again` : 'resolve finish goes on with it'
    say(context, `not all is put back; file-history ${advice}`)
    return false
  }
}

/** Says what became of runs that were killed: `still`, of which nobody can tell any more what they changed. */
function warnOfCutOff(
  context: CommandContext,
  { dir }: Place,
  before: ReadonlyMap<string, string>,
  still: ReadonlyMap<string, string>,
): void {
  const base = shown(join(dir, 'base'), context.startDir)
  for (const [id, run] of before) {
    const what = still.has(id)
      ? `what it changed is not known; ${base} keeps the files as they were before it, until file-history gc`
      : `file-history rewind ${run} puts back what changed since it began`
    say(context, `${run} was cut off: ${what}`)
  }
}

function sayEnding(context: CommandContext, { failure }: Ending): void {
  if (failure !== undefined) say(context, failure)
}

function say(context: CommandContext, line: string): void {
  context.warn(line.startsWith('file-history: ') ? `${line}\n` : `file-history: ${oneLine(line)}\n`)
}
