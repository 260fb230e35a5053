import * as fs from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LociError } from '@loci/disk'
import type { FileHistory, RewindResult } from '@loci/file-history'
import type { HistoryAbility, HistoryPlace } from '@loci/file-history/testing'

type Change = (history: FileHistory, place: HistoryPlace) => FileHistory | Promise<FileHistory>

/** A history that passes every call on, but for what `other` does instead. */
export function forwarding(history: FileHistory, other: Partial<FileHistory> = {}): FileHistory {
  const all: FileHistory = {
    pendingRewind: null,
    trackEdit: (path, messageId) => history.trackEdit(path, messageId),
    recordEdit: (path, messageId) => history.recordEdit(path, messageId),
    makeSnapshot: (messageId) => history.makeSnapshot(messageId),
    snapshots: () => history.snapshots(),
    trackCommand: (messageId, run) => history.trackCommand(messageId, run),
    planRewind: (messageId, options) => history.planRewind(messageId, options),
    rewind: (target, options) => history.rewind(target, options),
    rewinds: () => history.rewinds(),
    undoRewind: (options) => history.undoRewind(options),
    resolveRewind: (how) => history.resolveRewind(how),
    diff: (from, to, options) => history.diff(from, to, options),
    readFileAt: (messageId, path) => history.readFileAt(messageId, path),
    usage: () => history.usage(),
    gc: (options) => history.gc(options),
    close: () => history.close(),
    ...other,
  }
  if ('pendingRewind' in other) return all
  return Object.defineProperty(all, 'pendingRewind', { get: () => history.pendingRewind })
}

/** Does something to the project after each rewind. */
function afterRewind(action: (result: RewindResult, place: HistoryPlace) => Promise<void>): Change {
  return (history, place) =>
    forwarding(history, {
      async rewind(target, options) {
        const result = await history.rewind(target, options)
        await action(result, place)
        return result
      },
    })
}

/** Answers something else than a rewind did. */
function otherResult(change: (result: RewindResult) => Partial<RewindResult>): Change {
  return (history) =>
    forwarding(history, {
      async rewind(target, options) {
        const result = await history.rewind(target, options)
        return { ...result, ...change(result) }
      },
    })
}

const idOf = (target: string | { messageId: string }): string =>
  typeof target === 'string' ? target : target.messageId

/** Each with the test of the suite that must find it, by a part of its name. */
export const BROKEN: readonly [fault: string, found: string, change: Change][] = [
  [
    'takes everything for text',
    'bytes come back, whatever they are',
    afterRewind(async ({ restored }) => {
      for (const path of restored) await fs.writeFile(path, await fs.readFile(path, 'utf8'))
    }),
  ],
  [
    'backs up when the edit is done',
    'what a file was before its first edit',
    (history) => {
      const announced = new Map<string, string>()
      return forwarding(history, {
        async trackEdit(path, messageId) {
          announced.set(path, messageId)
          return { backupFileName: null, version: 1, backupTime: '' }
        },
        async recordEdit(path, messageId) {
          await history.trackEdit(path, announced.get(path) ?? messageId)
          await history.recordEdit(path, messageId)
        },
      })
    },
  ],
  [
    'forgets the bits',
    'permission bits come back',
    afterRewind(async ({ restored }) => {
      for (const path of restored) await fs.chmod(path, 0o644)
    }),
  ],
  [
    'leaves what was made',
    'a file that was made is deleted',
    afterRewind(async ({ deleted }) => {
      for (const path of deleted) await fs.writeFile(path, '')
    }),
  ],
  [
    'removes directories that it emptied',
    'a file that was made is deleted',
    afterRewind(async ({ deleted }) => {
      for (const path of deleted) await fs.rmdir(dirname(path)).catch(() => undefined)
    }),
  ],
  [
    'knows a file only from the snapshot that it joined',
    'what a file was before its first edit',
    (history) =>
      forwarding(history, {
        rewind(target, options) {
          const snapshot = history.snapshots().findLast(({ messageId }) => messageId === idOf(target))
          return history.rewind(target, {
            ...options,
            paths: Object.keys(snapshot?.trackedFileBackups ?? {}),
          })
        },
      }),
  ],
  [
    'keeps the first snapshot of an id',
    'the last snapshot of an id counts',
    (history) =>
      forwarding(history, {
        makeSnapshot: async (id) =>
          history.snapshots().find(({ messageId }) => messageId === id) ?? history.makeSnapshot(id),
      }),
  ],
  [
    'drops the snapshots behind the one that it goes to',
    'each snapshot can be gone to, back and forth',
    (history) => {
      const gone = new Set<string>()
      return forwarding(history, {
        snapshots: () => history.snapshots().filter(({ messageId }) => !gone.has(messageId)),
        async rewind(target, options) {
          const ids = history.snapshots().map(({ messageId }) => messageId)
          for (const id of ids.slice(ids.indexOf(idOf(target)) + 1)) gone.add(id)
          return history.rewind(gone.has(idOf(target)) ? 'no such id' : target, options)
        },
      })
    },
  ],
  [
    'brings back more than it is asked for',
    'only the files and directories that are asked for',
    (history) => forwarding(history, { rewind: (target) => history.rewind(target) }),
  ],
  [
    'cleans up what it does not know',
    'a file that nobody tracked is never touched',
    afterRewind((_, { root }) => fs.rm(join(root, 'new.txt'), { force: true })),
  ],
  [
    'names files by their names',
    'a result names every tracked file once',
    otherResult(({ restored }) => ({ restored: restored.map((path) => basename(path)) })),
  ],
  [
    'does not tell what stood as it should',
    'a result names every tracked file once',
    otherResult(() => ({ unchanged: [] })),
  ],
  [
    'takes an unknown id for the newest snapshot',
    'an id that no snapshot has is refused',
    (history) =>
      forwarding(history, {
        rewind: (target, options) =>
          history
            .rewind(target, options)
            .catch(() => history.rewind(history.snapshots().at(-1)?.messageId ?? '')),
      }),
  ],
  [
    'takes the same length for the same file',
    'an edit of the same length',
    (history) =>
      forwarding(history, {
        async rewind(target, options) {
          const { changes } = await history.planRewind(idOf(target))
          const old = await Promise.all(changes.map(({ path }) => fs.readFile(path).catch(() => null)))
          const result = await history.rewind(target, options)
          for (const [n, { path }] of changes.entries()) {
            const now = await fs.readFile(path).catch(() => null)
            if (now !== null && now.length === old[n]?.length) await fs.writeFile(path, old[n])
          }
          return result
        },
      }),
  ],
  [
    'replaces the one name of a file that has two',
    'a file with several names',
    afterRewind(async ({ restored }) => {
      for (const path of restored) {
        await fs.copyFile(path, `${path}.new`)
        await fs.rename(`${path}.new`, path)
        await fs.writeFile(join(dirname(path), 'other-name.txt'), 'a longer text')
      }
    }),
  ],
  [
    'brings a file back as a link of its backup',
    'what is done to a file after it was brought back',
    (history, { dir }) =>
      forwarding(history, {
        async rewind(target, options) {
          const result = await history.rewind(target, options)
          for (const path of result.restored) {
            const names = (await fs.readdir(dir)).filter((name) => name.endsWith('@v1'))
            await fs.unlink(path)
            await fs.link(join(dir, names[0] ?? ''), path)
          }
          return result
        },
      }),
  ],
  [
    'overwrites the work of others',
    'a file that was changed after the agent stops',
    (history) =>
      forwarding(history, { rewind: (target) => history.rewind(target, { onConflict: 'overwrite' }) }),
  ],
  [
    'stops when half is done',
    'a file that was changed after the agent stops',
    (history) =>
      forwarding(history, {
        rewind: (target, options) =>
          history.rewind(target, options).catch(async (error: unknown) => {
            await history.rewind(target, { onConflict: 'skip' })
            throw error
          }),
      }),
  ],
  [
    'does not look at the bits for conflicts',
    'a file whose bits were changed after the agent',
    (history) =>
      forwarding(history, {
        rewind: (target, options) => history.rewind(target, { onConflict: 'overwrite', ...options }),
        planRewind: async (id, options) => ({ ...(await history.planRewind(id, options)), conflicts: [] }),
      }),
  ],
  [
    'brings a file back that somebody deleted',
    'a file that was deleted after the agent stops',
    (history) =>
      forwarding(history, {
        rewind: (target) => history.rewind(target, { onConflict: 'overwrite' }),
      }),
  ],
  [
    'deletes a file that somebody made',
    'a file that was made after the agent deleted it stops',
    (history) =>
      forwarding(history, { rewind: (target) => history.rewind(target, { onConflict: 'overwrite' }) }),
  ],
  [
    'skips conflicts without a word',
    'told to skip, conflicts are left and named',
    otherResult(() => ({ conflicts: [] })),
  ],
  [
    'skips conflicts also when it is told to overwrite',
    'told to overwrite, conflicts are brought back',
    (history) => forwarding(history, { rewind: (target) => history.rewind(target, { onConflict: 'skip' }) }),
  ],
  [
    'writes through links',
    'a link in the place of a file is not followed',
    afterRewind(async ({ skipped }) => {
      for (const { path } of skipped) await fs.writeFile(path, 'a1')
    }),
  ],
  [
    'says nothing of what it skipped',
    'a link in the place of a file is not followed',
    otherResult(() => ({ skipped: [] })),
  ],
  [
    'gives no reason',
    'a directory in the place of a file',
    otherResult(({ skipped }) => ({ skipped: skipped.map(({ path }) => ({ path, reason: '' })) })),
  ],
  [
    'tracks the target of a link',
    'links and directories are refused by trackEdit',
    (history, { root }) =>
      forwarding(history, {
        trackEdit: async (path, messageId) =>
          history.trackEdit(await fs.realpath(join(root, path)).catch(() => path), messageId),
      }),
  ],
  [
    'loses what a rewind deleted',
    'an undo brings back what the rewind overwrote',
    (history) =>
      forwarding(history, {
        async undoRewind(options) {
          const result = await history.undoRewind(options)
          await fs.rm(result.restored.at(-1) ?? '', { force: true })
          return result
        },
      }),
  ],
  [
    'forgets the bits in an undo',
    'an undo brings permission bits back',
    (history) =>
      forwarding(history, {
        async undoRewind(options) {
          const result = await history.undoRewind(options)
          for (const path of result.restored) await fs.chmod(path, 0o644)
          return result
        },
      }),
  ],
  [
    'undoes once',
    'an undo can be undone',
    (history) => {
      let undone = 0
      return forwarding(history, {
        async undoRewind(options) {
          undone += 1
          if (undone > 1) throw new LociError('SNAPSHOT_NOT_FOUND', 'undone already')
          return history.undoRewind(options)
        },
      })
    },
  ],
  [
    'overwrites in an undo what was changed since',
    'an undo leaves and names what was changed since',
    (history) => forwarding(history, { undoRewind: () => history.undoRewind({ onConflict: 'overwrite' }) }),
  ],
  [
    'knows the newest rewind only',
    'what older rewinds overwrote',
    (history) => forwarding(history, { rewinds: () => history.rewinds().slice(0, 1) }),
  ],
  [
    'cleans up what an undo needs',
    'what was kept for an undo outlives gc',
    (history, { dir }) =>
      forwarding(history, {
        async gc(options) {
          await fs.rm(join(dir, 'undo'), { recursive: true, force: true })
          return history.gc(options)
        },
      }),
  ],
  [
    'lists snapshots newest first',
    'snapshots are listed oldest first',
    (history) => forwarding(history, { snapshots: () => history.snapshots().toReversed() }),
  ],
  [
    'leaves deletions out of a diff',
    'a diff tells each kind of change',
    (history) =>
      forwarding(history, {
        diff: async (...args) => (await history.diff(...args)).filter(({ kind }) => kind !== 'delete'),
      }),
  ],
  [
    'leaves bits out of a diff',
    'a diff tells of bits that changed alone',
    (history) =>
      forwarding(history, {
        diff: async (...args) => (await history.diff(...args)).filter(({ kind }) => kind !== 'mode'),
      }),
  ],
  [
    'reads what is there now',
    'the bytes of a file are had as of each snapshot',
    (history, { root }) =>
      forwarding(history, {
        async readFileAt(id, path) {
          await history.readFileAt(id, path)
          return fs.readFile(join(root, path))
        },
      }),
  ],
  [
    'does not plan deletions',
    'a rewind does what its plan says',
    (history) =>
      forwarding(history, {
        async planRewind(id, options) {
          const plan = await history.planRewind(id, options)
          return { ...plan, changes: plan.changes.filter(({ kind }) => kind !== 'delete') }
        },
      }),
  ],
  [
    'does not keep to its plan',
    'a file that is no longer as its plan says',
    (history) => forwarding(history, { rewind: (target, options) => history.rewind(idOf(target), options) }),
  ],
  [
    'removes backups that are needed',
    'gc removes nothing that a snapshot needs',
    (history, { dir }) =>
      forwarding(history, {
        async gc(options) {
          const result = await history.gc(options)
          if (options?.dryRun === true) return result
          for (const name of await fs.readdir(dir)) if (name.endsWith('@v1')) await fs.unlink(join(dir, name))
          return result
        },
      }),
  ],
  [
    'removes in a dry run',
    'gc removes nothing that a snapshot needs',
    (history) =>
      forwarding(history, { gc: async () => ({ ...(await history.gc()), removed: ['something'] }) }),
  ],
  [
    'does not see what a command deleted',
    'what a command changes, makes and deletes is told',
    (history) =>
      forwarding(history, {
        async trackCommand(id, run) {
          const outcome = await history.trackCommand(id, run)
          return { ...outcome, changed: outcome.changed.filter((path) => !path.endsWith('gone.txt')) }
        },
      }),
  ],
  [
    'swallows the error of a command',
    'a command that fails passes its error on',
    (history) =>
      forwarding(history, {
        trackCommand: (id, run) =>
          history
            .trackCommand(id, run)
            .catch(() => ({ result: undefined as never, changed: [], untracked: [] })),
      }),
  ],
  [
    'covers nothing of a command that fails',
    'a command that fails passes its error on',
    (history) =>
      forwarding(history, {
        trackCommand: async (_, run) => ({ result: await run(), changed: [], untracked: [] }),
      }),
  ],
  [
    'does not say what it cannot bring back',
    'what a command did and nobody can bring back',
    (history) =>
      forwarding(history, {
        trackCommand: async (id, run) => ({ ...(await history.trackCommand(id, run)), untracked: [] }),
      }),
  ],
  [
    'backs up each time it is told',
    'many announcements of one file at once',
    (history) => {
      let calls = 0
      return forwarding(history, {
        async trackEdit(path, messageId) {
          const backupFileName = `copy-${(calls += 1)}`
          return { ...(await history.trackEdit(path, messageId)), backupFileName }
        },
      })
    },
  ],
  [
    'loses one of two snapshots that are made at once',
    'edits and snapshots at once: none is lost',
    (history) => {
      let making: ReturnType<FileHistory['makeSnapshot']> | undefined
      return forwarding(history, {
        makeSnapshot(id) {
          making ??= history.makeSnapshot(id).finally(() => (making = undefined))
          return making
        },
      })
    },
  ],
  [
    'calls an evicted snapshot unknown',
    'the oldest snapshots make room',
    (history) =>
      forwarding(history, {
        rewind: (target, options) =>
          history.rewind(target, options).catch((error: unknown) => {
            if (!(error instanceof Error)) throw error
            throw Object.assign(new Error(error.message), { code: 'SNAPSHOT_NOT_FOUND' })
          }),
      }),
  ],
  [
    'forgets when it is closed',
    'opened again, it has the same snapshots',
    (history, { dir }) =>
      forwarding(history, {
        async close() {
          await history.close()
          await fs.rm(dir, { recursive: true, force: true })
        },
      }),
  ],
  [
    'goes on when it is closed',
    'closed, it refuses',
    (history) => forwarding(history, { close: async () => undefined }),
  ],
  [
    'hides an interrupted rewind',
    'an interrupted rewind is told',
    (history) => forwarding(history, { pendingRewind: null }),
  ],
  [
    'undoes an interrupted rewind as if it were whole',
    'what an interrupted rewind overwrote can be undone once',
    (history) =>
      forwarding(history, {
        undoRewind: (options) =>
          history.pendingRewind ? history.resolveRewind('undo') : history.undoRewind(options),
      }),
  ],
  [
    'finishes an interrupted rewind when it is opened',
    'an interrupted rewind can be taken back',
    async (history) => {
      if (history.pendingRewind) await history.resolveRewind('finish')
      return history
    },
  ],
  [
    'finishes what it is told to undo',
    'an interrupted rewind can be taken back',
    (history) => forwarding(history, { resolveRewind: () => history.resolveRewind('finish') }),
  ],
]

const refuse = (): Promise<never> => Promise.reject(new Error('this history cannot do that'))

/** Histories that cannot do something: what they lack, and the test that finds it where it is not declared. */
export const LAME: readonly [lacks: HistoryAbility, change: Change, found: string][] = [
  [
    'modes',
    afterRewind(async ({ restored }) => {
      for (const path of restored) await fs.chmod(path, 0o644)
    }),
    'permission bits come back',
  ],
  [
    'undo',
    (history) =>
      forwarding(history, {
        rewind: async (target, options) => ({ ...(await history.rewind(target, options)), undoable: false }),
        undoRewind: refuse,
      }),
    'an undo can be undone',
  ],
  ['commands', (history) => forwarding(history, { trackCommand: refuse }), 'the second command is seen'],
  [
    'reopening',
    (history, { dir }) =>
      forwarding(history, {
        async close() {
          await history.close()
          await fs.rm(dir, { recursive: true, force: true })
        },
      }),
    'opened again, it has the same snapshots',
  ],
  [
    'interruption',
    async (history) => {
      if (history.pendingRewind) await history.resolveRewind('undo')
      return history
    },
    'an interrupted rewind is told',
  ],
]
