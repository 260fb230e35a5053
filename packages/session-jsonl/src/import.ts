import { basename, dirname, join } from 'node:path'
import { files, isLociError, LociError, orAbsent } from '@loci/disk'
import { applyImport } from './apply-import.ts'
import type { CarryAlongside } from './apply-import.ts'
import { findTranscripts } from './find-transcripts.ts'
import { planImport } from './plan-import.ts'
import type { ImportPlan } from './plan-import.ts'
import { sessionIdOf } from './session-path.ts'

/** What became of a session that was to be imported. */
export interface SessionImport {
  sessionId: string
  /** The transcript that was read. */
  from: string
  /** The transcript of ours; of a skipped one that of the source, where there is none of ours. */
  path: string
  outcome: 'imported' | 'extended' | 'unchanged' | 'skipped'
  /** Why it was skipped. */
  reason?: string
  /** Files beside it, absolute paths, that are not as the source has them: ours differ, and stay. */
  kept: readonly string[]
}

/**
 * The transcripts at a place, last written first: a config home (its `projects`), a folder of projects, a project's
 * folder, or one transcript. Those whose names are session ids, which are UUIDs; opens none.
 *
 * @throws {LociError} SESSION_NOT_FOUND when there is no such place, or it is a file that is no transcript; DISK_IO
 */
export async function findImportable(place: string): Promise<string[]> {
  const stats = await orAbsent(files.stat(place))
  if (stats?.isDirectory() === true) {
    const inner = join(place, 'projects')
    const isHome = (await orAbsent(files.stat(inner)))?.isDirectory() === true
    const names = isHome ? [] : (await files.readdir(place)).map(({ name }) => name)
    const isProject = names.some((name) => sessionIdOf(name) !== undefined)
    const found = await findTranscripts(isHome ? inner : isProject ? dirname(place) : place)
    return found.map(({ path }) => path).filter((path) => !isProject || dirname(path) === place)
  }
  if (stats?.isFile() === true && sessionIdOf(basename(place)) !== undefined) return [place]
  const what = stats === undefined ? 'does not exist' : 'is no transcript, whose name is a UUID and .jsonl'
  const message = `${JSON.stringify(place)} ${what}; give a config home, a folder of sessions or a transcript`
  throw new LociError('SESSION_NOT_FOUND', message, { details: { path: place } })
}

/**
 * Imports sessions of another place, one after another, each with the same id: the transcript byte for byte (0600), what
 * lies beside it, and nothing else, into the folder of the directory that it recorded. The source is only read, and may
 * be written to meanwhile; no file of it gets a second name.
 *
 * A session that is here already and is the beginning of the source's is extended, unless somebody has it open. One
 * that is as the source's, or goes on where that ends, stays as it is. One that went its own way is skipped, and so is
 * one that cannot be read; the others come all the same. So importing again changes nothing, and completes what was cut
 * off: a session appears whole or not at all, and one that is extended stays the beginning of the source's.
 *
 * @param options.transcripts as {@link findImportable} gives them
 * @param options.projectsDir where they go
 * @param options.alongside carries what the session has elsewhere, before its transcript appears
 * @throws {TypeError} with the first step, when `transcripts` is no array of paths or `projectsDir` is no path
 * @throws {LociError} DISK_FULL; DISK_IO when `projectsDir` cannot be listed
 */
export async function* importSessions(options: {
  transcripts: readonly string[]
  projectsDir: string
  alongside?: CarryAlongside | undefined
}): AsyncIterable<SessionImport> {
  const { transcripts, projectsDir, alongside = nothing } = options
  if (!Array.isArray(transcripts) || !transcripts.every((path) => typeof path === 'string'))
    throw new TypeError('transcripts must be an array of paths, as findImportable gives them')
  if (typeof projectsDir !== 'string' || projectsDir === '') throw new TypeError('projectsDir must be a path')
  if (typeof alongside !== 'function') throw new TypeError('alongside must be a function')
  const ours = new Map<string, string[]>()
  const remember = (path: string): void => {
    const id = basename(path, '.jsonl')
    ours.set(id, [...(ours.get(id) ?? []), path])
  }
  for (const { path } of await findTranscripts(projectsDir)) remember(path)
  for (const from of transcripts) {
    const own = ours.get(basename(from, '.jsonl')) ?? []
    const result = await importOne({ from, projectsDir, ours: own }, alongside)
    if (result.outcome === 'imported') remember(result.path)
    yield result
  }
}

const nothing: CarryAlongside = () => Promise.resolve([])

async function importOne(
  options: { from: string; projectsDir: string; ours: readonly string[] },
  alongside: CarryAlongside,
): Promise<SessionImport> {
  const { from } = options
  const sessionId = basename(from, '.jsonl')
  let path = from
  try {
    for (;;) {
      // Somebody may have made it since: that is looked at again after each attempt that found another state.
      const isKnown = options.ours.includes(path) || path === from
      const isThere = !isKnown && (await orAbsent(files.lstat(path))) !== undefined
      const plan = await planImport({ ...options, ours: isThere ? [...options.ours, path] : options.ours })
      path = plan.to
      const { step } = plan
      if (step.kind === 'skip') return { ...at(plan), outcome: 'skipped', reason: step.reason, kept: [] }
      if (step.kind === 'nothing') return { ...at(plan), outcome: 'unchanged', kept: [] }
      const kept = await applyImport(plan, alongside)
      const outcome = step.kind === 'copy' ? 'imported' : 'extended'
      if (kept !== undefined) return { ...at(plan), outcome, kept }
    }
  } catch (error) {
    // What fails for one may be that one's own; a full disk is everybody's.
    if (!isLociError(error) || error.code === 'DISK_FULL') throw error
    return { sessionId, from, path, outcome: 'skipped', reason: error.message, kept: [] }
  }
}

function at({ sessionId, from, to }: ImportPlan): Pick<SessionImport, 'sessionId' | 'from' | 'path'> {
  return { sessionId, from, path: to }
}
