import { join } from 'node:path'
import { appendRecords, files, isLociError } from '@loci/disk'
import { readJsonLines } from '../json-lines.ts'

/** What `list` tells of a run beside its snapshot. Only `file-history` itself uses it: losing it costs that. */
export interface Run {
  /** Of the snapshot made before the command. */
  id: string
  command: readonly string[]
  exitCode: number
}

/** Notes a run that has ended in `runs.jsonl` of the history, which only the owner may read. Where it cannot, it does not. */
export async function noteRun(dir: string, run: Run): Promise<void> {
  try {
    const file = await files.open(runsFile(dir), 'a+', 0o600)
    try {
      await appendRecords(file, Buffer.from(`${JSON.stringify(run)}\n`))
    } finally {
      await file.close()
    }
  } catch (error) {
    if (!isLociError(error)) throw error
  }
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
