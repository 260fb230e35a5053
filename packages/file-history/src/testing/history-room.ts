import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { files, isLociError, orAbsent } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import type { FileHistory } from '../file-history.ts'
import type { HistoryPlace, HistorySuiteOptions } from './history-suite.ts'

/** What one test works with: an open history and a project. */
export interface Room {
  /** The history as it was opened last. */
  readonly history: FileHistory
  readonly root: string
  readonly dir: string
  readonly cutNextRewind: (() => void) | undefined
  path: (name: string) => string
  /** Writes over the bytes of a file, or makes it. */
  write: (name: string, content: string | Uint8Array, mode?: number) => Promise<void>
  remove: (name: string) => Promise<void>
  link: (name: string, target: string) => Promise<void>
  /** Text of a file; `null`: absent. */
  read: (name: string) => Promise<string | null>
  /** Texts and link targets of the whole project, by name. Bytes that are no text are in base64. */
  texts: () => Promise<Record<string, string>>
  /** Permission bits. */
  mode: (name: string) => Promise<number>
  /** As a tool edits: announced, done, recorded. `null` deletes. */
  edit: (name: string, content: string | Uint8Array | null, messageId?: string) => Promise<void>
  /** Closes the history, unless it `died`, and opens it again. */
  reopen: (how?: 'died') => Promise<void>
  close: () => Promise<void>
}

/** Makes the room of a test. */
export async function openRoom(
  createHistory: HistorySuiteOptions['createHistory'],
  maxSnapshots: number | undefined,
): Promise<Room> {
  const work = await tree({ 'project/': '' })
  const root = work.path('project')
  const place: HistoryPlace = {
    root,
    dir: work.path('history'),
    ...(maxSnapshots === undefined ? {} : { maxSnapshots }),
  }
  const open = async (): Promise<{ history: FileHistory; cutNextRewind?: () => void }> => {
    const made = await createHistory(place)
    return 'history' in made ? made : { history: made }
  }
  let opened = await open().catch(async (error: unknown) => {
    await work.remove()
    throw error
  })
  const path = (name: string): string => `${root}/${name}`
  const room: Room = {
    get history() {
      return opened.history
    },
    get cutNextRewind() {
      return opened.cutNextRewind
    },
    root,
    dir: place.dir,
    path,
    async write(name, content, mode) {
      await files.mkdir(dirname(path(name)))
      const file = await files.open(path(name), 'w', 0o644)
      try {
        await file.writeAll(Buffer.from(content))
        if (mode !== undefined) await file.chmod(mode)
      } finally {
        await file.close()
      }
    },
    remove: (name) => files.removeTree(path(name)),
    async link(name, target) {
      const made = await tree({ link: { link: target } })
      await files.rename(made.path('link'), path(name))
      await made.remove()
    },
    read: async (name) => (await orAbsent(files.readFile(path(name))))?.toString('utf8') ?? null,
    async texts() {
      const found = Object.entries(await work.snapshot()).filter(([name]) => name.startsWith('project/'))
      return Object.fromEntries(
        found.map(([name, file]) => [
          name.slice('project/'.length),
          'link' in file ? `link to ${file.link}` : file.text,
        ]),
      )
    },
    mode: async (name) => Number((await files.stat(path(name))).mode & 0o7777n),
    async edit(name, content, messageId = 'edit') {
      await room.history.trackEdit(name, messageId)
      if (content === null) await room.remove(name)
      else await room.write(name, content)
      await room.history.recordEdit(name, messageId)
    },
    async reopen(how) {
      const closing = opened.history.close()
      await (how === 'died' ? closing.catch(() => undefined) : closing)
      opened = await open()
    },
    async close() {
      await opened.history.close().catch(() => undefined)
      await work.remove()
    },
  }
  return room
}

/** Fails unless the call is refused with one of the codes. @returns the error */
export async function assertRefused(call: Promise<unknown>, ...codes: string[]): Promise<Error> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Error, `the call must be refused with ${codes.join(' or ')}`)
  assert.ok(isLociError(error, ...codes), `${String(error)} must have the code ${codes.join(' or ')}`)
  assert.notEqual(error.message.trim(), '', 'an error must say what is wrong')
  return error
}

/** The paths of what is named, in order. */
export function pathsOf(named: readonly { path: string; reason?: string }[]): string[] {
  for (const { path, reason = 'x' } of named) assert.notEqual(reason.trim(), '', `no reason for ${path}`)
  return named.map(({ path }) => path)
}
