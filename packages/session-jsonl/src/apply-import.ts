import { dirname } from 'node:path'
import { applyCarry, createFileAtomic, files, LociError, OPEN_APPEND, planCarry } from '@loci/disk'
import type { CarryRule, OpenFile } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { withLease } from './append-log.ts'
import { ARCHIVED_FILE } from './archived.ts'
import type { ImportPlan } from './plan-import.ts'
import { openTranscript } from './read-transcript.ts'
import { sideDirectory } from './session-path.ts'

/** Files of the session that lie elsewhere, carried before its transcript appears; gives those that stay as they were. */
export type CarryAlongside = (plan: ImportPlan) => Promise<readonly string[]>

/**
 * Does what was planned for a session that is to be copied or extended: first everything that lies beside the transcript,
 * then the transcript itself. Cut off anywhere, a session is not there yet, or there with all it had, or extended
 * by a part that is still the beginning of the source's; planning and applying again ends it.
 *
 * @returns the files of ours that differ and stay; `undefined` if ours is no longer what it was when it was planned
 * @throws {LociError} SESSION_LOCKED when ours is to be extended and open; DISK_FULL, DISK_IO
 */
export async function applyImport(
  plan: ImportPlan,
  alongside: CarryAlongside,
): Promise<readonly string[] | undefined> {
  const { step, to, sessionId } = plan
  if (step.kind === 'copy') {
    const { recordedRoot } = step
    if (recordedRoot === undefined) await files.mkdir(dirname(to), 0o755)
    else {
      const projectsDir = dirname(dirname(to))
      const folder = await resolveProjectDir({ projectsDir, root: recordedRoot, create: true })
      if (folder !== dirname(to)) return undefined
    }
    return copy(plan, alongside)
  }
  if (step.kind !== 'extend') return []
  return withLease(to, sessionId, () => extend(plan, step.ourSizeBytes, alongside))
}

async function copy(plan: ImportPlan, alongside: CarryAlongside): Promise<readonly string[] | undefined> {
  const source = await openTranscript(plan.from)
  try {
    // As it is now: what its owner appends while it is copied is for the next time.
    const { size, mtimeNs } = await source.stat()
    const kept = await carryBeside(plan, alongside)
    const write = async (file: OpenFile): Promise<void> => {
      await writeRange(file, source, 0, Number(size))
      await file.setModified(Number(mtimeNs) / 1e9)
    }
    return (await createFileAtomic(plan.to, write, { mode: 0o600 })) ? kept : undefined
  } finally {
    await source.close()
  }
}

async function extend(
  plan: ImportPlan,
  ourSizeBytes: number,
  alongside: CarryAlongside,
): Promise<readonly string[] | undefined> {
  const source = await openTranscript(plan.from)
  try {
    const { size } = await source.stat()
    const file = await files.open(plan.to, OPEN_APPEND)
    try {
      const isAsPlanned = Number((await file.stat()).size) === ourSizeBytes && Number(size) > ourSizeBytes
      if (!isAsPlanned) return undefined
      const kept = await carryBeside(plan, alongside)
      await writeRange(file, source, ourSizeBytes, Number(size))
      return kept
    } finally {
      await file.close()
    }
  } finally {
    await source.close()
  }
}

async function carryBeside(plan: ImportPlan, alongside: CarryAlongside): Promise<readonly string[]> {
  const { from, to, sessionId, step } = plan
  const elsewhere = await alongside(plan)
  const carry = await planCarry({
    from: sideDirectory(dirname(from), sessionId),
    to: sideDirectory(dirname(to), sessionId),
    ruleFor: (name) => sideRule(name, step.kind === 'extend'),
  })
  await applyCarry(carry)
  return [...elsewhere, ...carry.kept]
}

/** Pure. */
function sideRule(name: string, isExtended: boolean): CarryRule {
  // Whether a session is archived, each home decides for itself.
  if (name === ARCHIVED_FILE) return isExtended ? 'never' : 'once'
  if (!name.startsWith('subagents/')) return 'once'
  if (name.endsWith('.jsonl')) return 'grow'
  return name.endsWith('.meta.json') ? 'follow' : 'once'
}

const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a

/** Copies bytes of `source` to the end of `file`, as far as can be in writes that end with a line. */
async function writeRange(file: OpenFile, source: OpenFile, from: number, end: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, end - from))
  for (let at = from; at < end;) {
    const length = await source.readFull(buffer.subarray(0, Math.min(buffer.length, end - at)), at)
    if (length === 0) throw becameShorter(source.path)
    const newline = at + length < end ? buffer.lastIndexOf(NEWLINE, length - 1) : -1
    const taken = newline === -1 ? length : newline + 1
    await file.writeAll(buffer.subarray(0, taken))
    at += taken
  }
}

function becameShorter(path: string): LociError {
  const message = `${JSON.stringify(path)} became shorter while it was read; try again`
  return new LociError('DISK_IO', message, { details: { path, operation: 'read' } })
}
