import { isLociError } from '@loci/disk'
import { backupFile, loadCheckpoints, makeCheckpoint, rewindToCheckpoint } from '@loci/file-history'
import type { CheckpointOptions, FileBackup } from '@loci/file-history'
import type { TreeFile } from '@loci/disk/testing'
import { project } from './project.ts'
import type { Project } from './project.ts'

/** A temporary project with an index beside it, and the four functions on both. */
export interface CheckpointProject extends Project {
  /** The index. */
  file: string
  make(messageId: string, ...names: string[]): Promise<void>
  rewind(messageId: string): Promise<void>
  backup(name: string, messageId?: string): Promise<FileBackup>
  /** Message ids of all checkpoints, oldest first. */
  ids(): Promise<string[]>
  /** What is wrong with the index: kinds. */
  damage(): Promise<string[]>
}

export async function checkpointProject(content: Record<string, TreeFile> = {}): Promise<CheckpointProject> {
  const work = await project(content)
  const file = work.beside('state/checkpoints.json')
  let seconds = 0
  const clock = (): Date => new Date(Date.UTC(2026, 0, 1) + 1000 * (seconds += 1))
  const options: CheckpointOptions = { file, clock }
  return {
    ...work,
    file,
    make: (messageId, ...names) =>
      makeCheckpoint(
        messageId,
        names.map((name) => work.path(name)),
        options,
      ),
    rewind: (messageId) => rewindToCheckpoint(messageId, options),
    backup: (name, messageId = 'm') => backupFile(work.path(name), messageId, options),
    ids: async () => (await loadCheckpoints(file)).checkpoints.map(({ messageId }) => messageId),
    damage: async () => (await loadCheckpoints(file)).damage.map(({ kind }) => kind),
  }
}

/** The files that a rewind could not bring back, each with its code. */
export function failedOf(error: unknown): string[] {
  const failed: unknown = isLociError(error) ? error.details?.['failed'] : undefined
  if (!Array.isArray(failed)) throw error
  return failed.map((one: { path: string; code: string }) => `${one.path} ${one.code}`)
}

/** That many checkpoints, as the index holds them. */
export function emptyCheckpoints(count: number): { messageId: string; timestamp: string; files: [] }[] {
  return Array.from({ length: count }, (_, n) => ({ messageId: `empty-${n}`, timestamp: '', files: [] }))
}
