import { isAbsolute, relative, sep } from 'node:path'
import type { Damage } from '@loci/disk'
import type { PastRewind } from '../past-rewinds.ts'
import type { NamedFile, RewindPlan, RewindResult } from '../plan-rewind.ts'
import type { Snapshot } from '../snapshot.ts'
import type { Run } from './runs.ts'
import { oneLine } from './visible.ts'

/** Lines as text, each ended. Pure. */
export function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}

/** A path as seen from a directory, if it is below it; on one line. Pure. */
export function shown(path: string, from: string): string {
  const inside = relative(from, path)
  return oneLine(isBelow(inside) ? inside : path)
}

/** A line for each snapshot; of one that a run made also how it ended and what it ran, as far as known. Pure. */
export function snapshotLines(snapshots: readonly Snapshot[], runs?: ReadonlyMap<string, Run>): string[] {
  return snapshots.map(({ messageId, timestamp, trackedFileBackups }) => {
    const tracks = `tracks ${counted(Object.keys(trackedFileBackups).length, 'file')}`
    const run = runs?.get(messageId)
    const ran = run === undefined ? '' : `  exit code ${run.exitCode}: ${commandLine(run.command)}`
    return `${oneLine(messageId)}  ${timestamp}  ${tracks}${ran}`
  })
}

/** Characters of a command that are shown. */
const COMMAND_LENGTH = 60

function commandLine(words: readonly string[]): string {
  const quoted = words.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : `'${word}'`)).join(' ')
  const line = oneLine(quoted)
  return line.length > COMMAND_LENGTH ? `${line.slice(0, COMMAND_LENGTH)}…` : line
}

/** A line for each rewind. Pure. */
export function pastRewindLines(rewinds: readonly PastRewind[]): string[] {
  return rewinds.map(({ id, timestamp, kind, messageId, undone }) => {
    const what = `${kind === 'undo' ? 'undo of a rewind' : 'rewind'} to ${oneLine(messageId)}`
    return `${id}  ${timestamp}  ${what}${undone ? ', undone' : ''}`
  })
}

/** Whether a path that is relative to a directory stays below it. Pure. */
export function isBelow(inside: string): boolean {
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}

/** What a rewind or undo did, a line a file. Pure. */
export function rewindLines(result: RewindResult, from: string): string[] {
  const all = [
    ...result.restored.map((path) => `restored ${shown(path, from)}`),
    ...result.deleted.map((path) => `deleted ${shown(path, from)}`),
    ...leftLines(result, from),
  ]
  return all.length === 0 ? ['nothing to change'] : all
}

/** What was, or would be, left alone, and why, a line a file. Pure. */
export function leftLines({ conflicts, skipped }: Left, from: string): string[] {
  const line =
    (word: string) =>
    ({ path, reason }: NamedFile) =>
      `${word} ${shown(path, from)}: ${oneLine(reason.replace(SCRATCH, 'it'))}`
  return [...conflicts.map(line('conflict')), ...skipped.map(line('skipped'))]
}

/** The file in the making of the one that a line is about. */
const SCRATCH = /"[^"]*\/\.loci-[0-9a-f]{16}\.tmp"/u

type Left = Pick<RewindPlan, 'conflicts' | 'skipped'>

/** The exit code of a rewind: 3 if a file waits for somebody's decision. Pure. */
export function rewindExitCode({ conflicts, skipped }: Left): 0 | 3 {
  return conflicts.length + skipped.length > 0 ? 3 : 0
}

/** A line for each damage. Pure. */
export function damageLines(damage: readonly Damage[]): string[] {
  return damage.map(({ kind, path, line, message }) =>
    oneLine(`${kind}  ${path}${line === undefined ? '' : `:${line}`}  ${message}`),
  )
}

/** A number with its noun. Pure. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
