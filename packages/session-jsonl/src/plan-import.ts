import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { compareBytes } from '@loci/disk'
import { projectSlug, resolveProjectDir } from '@loci/disk/project'
import { openTranscript } from './read-transcript.ts'
import { readTranscriptInfo } from './session-info.ts'

/** What is to be done with one transcript of another place. */
export interface ImportPlan {
  sessionId: string
  /** The transcript to import. */
  from: string
  /** The transcript of ours: there already, or where it will be. */
  to: string
  step:
    | { kind: 'copy'; recordedRoot: string | undefined }
    /** Ours is the beginning of the source's, this long. */
    | { kind: 'extend'; ourSizeBytes: number }
    | { kind: 'nothing' }
    | { kind: 'skip'; reason: string }
}

/**
 * Looks at a transcript elsewhere and at those of ours with its id, and plans what importing it takes. Ours is the one of
 * that id wherever it lies, first in the folder of the directory that the session recorded. Reads only.
 *
 * @param options.ours the transcripts of ours that have the id
 * @throws {LociError} SESSION_NOT_FOUND; DISK_IO; PATH_INVALID for a folder whose owner cannot be read
 */
export async function planImport(options: {
  from: string
  projectsDir: string
  ours: readonly string[]
}): Promise<ImportPlan> {
  const { from, projectsDir, ours } = options
  const sessionId = basename(from, '.jsonl')
  const cwd = readTranscriptInfo(from)?.info.cwd
  const recordedRoot = cwd !== undefined && isAbsolute(cwd) ? cwd : undefined
  const folder =
    recordedRoot === undefined
      ? join(projectsDir, folderName(dirname(resolve(from))))
      : await resolveProjectDir({ projectsDir, root: recordedRoot })
  const target = join(folder, `${sessionId}.jsonl`)
  const looked = [...ours].toSorted((a, b) => Number(b === target) - Number(a === target))
  const plan = (to: string, step: ImportPlan['step']): ImportPlan => ({ sessionId, from, to, step })
  let shorter: ImportPlan | undefined
  for (const to of looked) {
    const { relation, ourSizeBytes } = await relate(to, from)
    if (relation === 'same' || relation === 'longer') return plan(to, { kind: 'nothing' })
    if (relation === 'shorter') shorter ??= plan(to, { kind: 'extend', ourSizeBytes })
  }
  if (shorter !== undefined) return shorter
  const [diverged] = looked
  if (diverged === undefined) return plan(target, { kind: 'copy', recordedRoot })
  return plan(diverged, { kind: 'skip', reason: 'both went on by themselves; ours stays as it is' })
}

/** That of the source; a root directory has none. */
function folderName(folder: string): string {
  return basename(folder) === '' ? projectSlug(folder) : basename(folder)
}

async function relate(
  ours: string,
  theirs: string,
): Promise<{ relation: Awaited<ReturnType<typeof compareBytes>>; ourSizeBytes: number }> {
  const source = await openTranscript(theirs)
  try {
    const own = await openTranscript(ours)
    try {
      // Before the look: what is appended meanwhile makes it another size than the one that is extended.
      const ourSizeBytes = Number((await own.stat()).size)
      return { relation: await compareBytes(own, source), ourSizeBytes }
    } finally {
      await own.close()
    }
  } finally {
    await source.close()
  }
}
