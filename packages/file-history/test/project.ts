import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { openFileHistory } from '@loci/file-history'
import type { FileHistory, FileHistoryOptions } from '@loci/file-history'
import { tree } from '@loci/disk/testing'
import type { TreeFile, TreeSnapshot } from '@loci/disk/testing'

/** A temporary project with a backup folder beside it. The test's own work goes past the file port. */
export interface Project {
  /** The project directory. */
  root: string
  /** The backup folder. */
  dir: string
  readonly path: (name: string) => string
  inDir(name: string): string
  /** A path beside project and backup folder. */
  beside(name: string): string
  open(options?: Partial<FileHistoryOptions>): Promise<FileHistory>
  write(name: string, text: string | Uint8Array, mode?: number): Promise<void>
  remove(name: string): Promise<void>
  /** Text of a file, `null` if it is absent. */
  read(name: string): Promise<string | null>
  /** The project's files, links and modes. */
  files(): Promise<TreeSnapshot>
  /** Everything, the backup folder too. */
  all(): Promise<TreeSnapshot>
  dispose(): Promise<void>
}

/** A clock that goes on by one second with every look. */
function tickingClock(): () => Date {
  let seconds = 0
  return () => new Date(Date.UTC(2026, 0, 1) + 1000 * (seconds += 1))
}

export async function project(content: Record<string, TreeFile> = {}): Promise<Project> {
  const work = await tree({
    'project/': '',
    ...Object.fromEntries(Object.entries(content).map(([name, file]) => [`project/${name}`, file])),
  })
  const root = work.path('project')
  const dir = work.path('history')
  const path = (name: string): string => `${root}/${name}`
  const all = (): Promise<TreeSnapshot> => work.snapshot()
  const clock = tickingClock()
  return {
    root,
    dir,
    path,
    inDir: (name) => `${dir}/${name}`,
    beside: (name) => work.path(name),
    open: (options) => openFileHistory({ dir, root, clock, ...options }),
    async write(name, text, mode) {
      await fs.mkdir(dirname(path(name)), { recursive: true })
      await fs.writeFile(path(name), text)
      if (mode !== undefined) await fs.chmod(path(name), mode)
    },
    remove: (name) => fs.rm(path(name), { recursive: true }),
    read: (name) => fs.readFile(path(name), 'utf8').catch(() => null),
    async files() {
      const found = Object.entries(await all()).filter(([name]) => name.startsWith('project/'))
      return Object.fromEntries(found.map(([name, file]) => [name.slice('project/'.length), file]))
    },
    all,
    dispose: () => work.remove(),
  }
}

/** As a tool edits: tracked before, recorded after. */
export async function edit(
  work: Project,
  history: FileHistory,
  name: string,
  text: string | Uint8Array | null,
  messageId = 'a',
): Promise<void> {
  await history.trackEdit(name, messageId)
  if (text === null) await work.remove(name)
  else await work.write(name, text)
  await history.recordEdit(name, messageId)
}

/** What a promise is rejected with; `undefined` if it is fulfilled. */
export async function failure(action: Promise<unknown>): Promise<unknown> {
  return action.then(
    () => undefined,
    (error: unknown) => error,
  )
}
