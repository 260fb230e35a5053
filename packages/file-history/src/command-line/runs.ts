import { join } from 'node:path'
import { isLociError, writeFileAtomic } from '@loci/disk'
import { readJsonLines } from '../json-lines.ts'
import type { Snapshot } from '../snapshot.ts'

/** What `list` tells of a run beside its snapshot. Only `file-history` itself uses it: losing it costs that. */
export interface Run {
  /** Of the snapshot made before the command. */
  id: string
  command: readonly string[]
  exitCode: number
}

/**
 * Notes a run that has ended in `runs.jsonl` of the history, which only the owner may read: arguments may be secret.
 * Only the runs of `listed` snapshots stay. Where it cannot, it does not. The history is open for writing.
 */
export async function noteRun(dir: string, run: Run, listed: readonly Snapshot[]): Promise<void> {
  try {
    const runs = (await readRuns(dir)).set(run.id, run)
    const kept = listed.flatMap(({ messageId }) => runs.get(messageId) ?? [])
    await writeFileAtomic(runsFile(dir), jsonLines(kept), { mode: 0o600 })
  } catch (error) {
    if (!isLociError(error)) throw error
  }
}

function jsonLines(runs: readonly Run[]): string {
  return runs.map(({ id, command, exitCode }) => `${JSON.stringify({ id, command, exitCode })}\n`).join('')
}

/** The runs that were noted, by id. What cannot be read is not there. */
export async function readRuns(dir: string): Promise<Map<string, Run>> {
  const runs = new Map<string, Run>()
  try {
    const { lines } = await readJsonLines(runsFile(dir))
    for (const { value } of lines) {
      const { id, command, exitCode } = value
      if (typeof id !== 'string' || typeof exitCode !== 'number' || !isWords(command)) continue
      runs.set(id, { id, command, exitCode })
    }
  } catch (error) {
    if (!isLociError(error)) throw error
  }
  return runs
}

function isWords(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string')
}

function runsFile(dir: string): string {
  return join(dir, 'runs.jsonl')
}
