import * as fs from 'node:fs/promises'
import { backupFileName, linkBackups, verifyFileHistory } from '@loci/file-history'
import type { FileHistory, LedgerRecord } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asUpdates, ledgerOf, parseRecords } from './ledgers.ts'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

// Public bug reports, each by its id: the right outcome, and the other members of its kind.

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'a0', 'ignored.log': 'i0', '.gitignore': '*.log\n' })
  history = await work.open()
})
afterEach(async () => {
  await history.close()
  await work.dispose()
})

async function turn(id: string, edits: Record<string, string | null>): Promise<void> {
  await history.makeSnapshot(id)
  for (const [name, text] of Object.entries(edits)) await edit(work, history, name, text, `${id}-answer`)
}

describe('F01: a turn’s snapshot has the files first edited after it was written', () => {
  const records = async (): Promise<LedgerRecord[]> =>
    parseRecords(await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8'))
  const readers: Record<string, () => Promise<FileHistory>> = {
    'in the running process': async () => history,
    'after a reload': async () => {
      await history.close()
      return work.open()
    },
    'for a reader beside it': () => work.open({ mode: 'read' }),
    'in the older form of the ledger': async () => {
      await history.close()
      return work.open({ ledger: ledgerOf(asUpdates(await records())) })
    },
    'where the file’s line comes before that of its snapshot': async () => {
      await history.close()
      const [first, ...rest] = await records()
      expect(rest[0]?.type).toBe('file-history-delta')
      return work.open({
        ledger: ledgerOf([...rest.slice(0, 3), ...(first ? [first] : []), ...rest.slice(3)]),
      })
    },
    'in a fork': async () => {
      await history.close()
      await linkBackups({ fromDir: work.dir, toDir: work.beside('fork') })
      return work.open({ dir: work.beside('fork') })
    },
  }

  test.each(Object.keys(readers))(
    '%s: the very first message too, and diff lists exactly these files',
    async (how) => {
      const names = ['a.txt', 'ignored.log', 'new.txt']
      await turn('m1', { 'a.txt': 'a1', 'ignored.log': 'i1', 'new.txt': 'n1' })
      await turn('m2', { 'a.txt': 'a2', 'ignored.log': 'i2', 'new.txt': 'n2' })
      const reader = await readers[how]?.()
      if (reader === undefined) throw new Error('no reader')
      for (const id of ['m1', 'm2']) {
        expect((await reader.diff(id)).map(({ path }) => path)).toEqual(names.map(work.path))
        const plan = await reader.planRewind(id)
        expect(plan.changes.map(({ path }) => path)).toEqual(names.map(work.path))
        expect(plan).toMatchObject({ conflicts: [], skipped: [] })
        const states = id === 'm1' ? ['a0', 'i0', null] : ['a1', 'i1', 'n1']
        for (const [index, name] of names.entries()) {
          const bytes = await reader.readFileAt(id, name)
          expect(bytes && Buffer.from(bytes).toString()).toBe(states[index])
        }
      }
      if (how === 'for a reader beside it') return reader.close()
      await reader.rewind('m2')
      expect(await Promise.all(names.map((name) => work.read(name)))).toEqual(['a1', 'i1', 'n1'])
      await reader.rewind('m1')
      expect(await Promise.all(names.map((name) => work.read(name)))).toEqual(['a0', 'i0', null])
      await reader.close()
    },
  )
})

describe('F02: a file first edited after the target has its state from before that edit', () => {
  // What is done to it in turn 5, by whom it was there before, and how it is at each earlier turn.
  test.each([
    ['there from the beginning', 'b0', 'b1', 'b0'],
    ['made by the user by hand in between', 'hand', 'agent', 'hand'],
    ['created by the agent', null, 'c1', null],
    ['deleted by the agent', 'd0', null, 'd0'],
    ['empty before', '', 'e1', ''],
  ])('%s', async (how, before, after, expected) => {
    const isMadeByHand = how.startsWith('made')
    if (before !== null && !isMadeByHand) await work.write('f', before)
    for (const id of ['m1', 'm2']) await turn(id, { 'a.txt': id })
    if (before !== null && isMadeByHand) await work.write('f', before)
    for (const id of ['m3', 'm4']) await turn(id, { 'a.txt': id })
    await turn('m5', { f: after })
    await turn('m6', { f: 'later' })
    for (const isReopened of [false, true]) {
      if (isReopened) {
        await history.close()
        history = await work.open()
      }
      for (const id of isReopened ? ['m4'] : ['m1', 'm2', 'm5']) {
        expect(await history.rewind(id)).toMatchObject({ conflicts: [], skipped: [] })
        expect(await work.read('f'), id).toBe(expected)
        await history.rewind('m6')
        expect(await work.read('f')).toBe(after)
      }
    }
  })

  test('by a command, the same', async () => {
    await work.write('user.txt', 'u0')
    for (const id of ['m1', 'm2', 'm3']) await turn(id, { 'a.txt': id })
    await history.trackCommand('m3', async () => {
      await work.write('user.txt', 'u1')
      await work.write('made.txt', 'by the command')
    })
    await history.rewind('m1')
    expect([await work.read('user.txt'), await work.read('made.txt')]).toEqual(['u0', null])
  })
})

describe('F05: after a restart, a fork or a copy every turn can be rewound', () => {
  const ways: Record<string, () => Promise<string>> = {
    reload: async () => work.dir,
    fork: async () => {
      await linkBackups({ fromDir: work.dir, toDir: work.beside('fork') })
      return work.beside('fork')
    },
    'fork of the fork': async () => {
      await linkBackups({ fromDir: work.dir, toDir: work.beside('fork') })
      await linkBackups({ fromDir: work.beside('fork'), toDir: work.beside('fork2') })
      await fs.rm(work.beside('fork'), { recursive: true })
      return work.beside('fork2')
    },
    'a copy of the folder': async () => {
      await fs.cp(work.dir, work.beside('copy'), { recursive: true })
      return work.beside('copy')
    },
  }
  test.each(Object.keys(ways))('%s', async (how) => {
    await turn('m1', { 'a.txt': 'a1' })
    await turn('m2', { 'a.txt': 'a2', 'new.txt': 'n2' })
    await turn('m3', { 'new.txt': null })
    await history.close()
    const dir = (await ways[how]?.()) ?? ''
    // Ids are those of the messages, in whatever process: nothing renumbers them.
    for (const id of ['m3', 'm2', 'm1']) {
      history = await work.open({ dir })
      expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m1', 'm2', 'm3'])
      expect(await history.rewind(id)).toMatchObject({ skipped: [], conflicts: [] })
      const expected = { m1: ['a0', null], m2: ['a1', null], m3: ['a2', 'n2'] }[id]
      expect([await work.read('a.txt'), await work.read('new.txt')]).toEqual(expected)
      await history.close()
    }
    expect(await verifyFileHistory({ dir, root: work.root })).toEqual([])
  })

  test('where one cannot, the list says so beforehand, and why', async () => {
    await history.close()
    history = await work.open({ maxSnapshots: 2 })
    for (const id of ['m1', 'm2', 'm3']) await turn(id, { 'a.txt': id })
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m2', 'm3'])
    expect(await failure(history.planRewind('m1'))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
    expect(await failure(history.planRewind('m9'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  })
})

describe('F10: absence is a state like others', () => {
  test.each(['the tool', 'a command', 'the user'])('deleted by %s, and created again', async (who) => {
    await turn('m1', { x: 'x1' })
    await history.makeSnapshot('m2')
    if (who === 'the tool') await edit(work, history, 'x', null)
    else if (who === 'a command') await history.trackCommand('m2', () => work.remove('x'))
    else await work.remove('x')
    if (who === 'the user') {
      // Nobody's doing until a snapshot sees it: named, not undone unasked.
      expect((await history.planRewind('m2')).conflicts).toEqual([
        { path: work.path('x'), reason: expect.stringContaining('deleted') },
      ])
    }
    await turn('m3', { x: 'other bytes' })
    await history.makeSnapshot('m4')
    const states = { m1: null, m2: 'x1', m3: null, m4: 'other bytes' }
    for (const id of ['m1', 'm2', 'm3', 'm4', 'm2', 'm1', 'm4', 'm3'] as const) {
      expect(await history.rewind(id)).toMatchObject({ conflicts: [], skipped: [] })
      expect(await work.read('x'), id).toBe(states[id])
    }
  })
})

describe('F15: without a UI and before any snapshot', () => {
  test('an edit makes the first snapshot, and the files of parallel workers belong to one message', async () => {
    const names = ['a.txt', 'ignored.log', ...Array.from({ length: 20 }, (_, number) => `w${number}`)]
    await Promise.all(
      names.map((name, number) => edit(work, history, name, 'edited', `worker-${number % 2}`)),
    )
    const [first, ...rest] = history.snapshots()
    expect(rest).toEqual([])
    expect(Object.keys(first?.trackedFileBackups ?? {}).toSorted()).toEqual(names.toSorted())
    const result = await history.rewind(first?.messageId ?? '')
    expect([...result.restored, ...result.deleted].toSorted()).toEqual(names.map(work.path).toSorted())
    expect(await work.read('a.txt')).toBe('a0')
    expect(await work.read('w7')).toBeNull()
  })

  test('in a turn, the user’s message has the files of every worker, whatever ids they give', async () => {
    await history.makeSnapshot('prompt')
    await Promise.all(
      ['a.txt', 'ignored.log', 'n'].map((name, number) => edit(work, history, name, 'x', `sub-${number}`)),
    )
    await history.trackCommand('sub-9', () => work.write('made', 'm'))
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['prompt'])
    await history.rewind('prompt')
    expect(await Promise.all(['a.txt', 'ignored.log', 'n', 'made'].map((name) => work.read(name)))).toEqual([
      'a0',
      'i0',
      null,
      null,
    ])
  })

  test('what cannot be tracked is an error, never silence', async () => {
    await fs.symlink('a.txt', work.path('link'))
    await fs.mkdir(work.path('folder'))
    await history.close()
    history = await work.open({ maxFileBytes: 1 })
    for (const [name, code] of [
      ['link', 'PATH_LINK'],
      ['folder', 'PATH_INVALID'],
      ['a.txt', 'FILE_TOO_LARGE'],
      [work.inDir('edits.jsonl'), 'PATH_INVALID'],
    ] as const) {
      expect(await failure(history.trackEdit(name, 'm'))).toMatchObject({ code })
    }
    await history.close()
    expect(await failure(history.trackEdit('a.txt', 'm'))).toMatchObject({ code: 'HISTORY_LOCKED' })
    const reader = await work.open({ mode: 'read' })
    expect(await failure(reader.trackEdit('a.txt', 'm'))).toMatchObject({ code: 'HISTORY_LOCKED' })
    await reader.close()
  })
})

describe('F16: one file is one entry, however it is spelled', () => {
  test('the oldest state comes back, and its backup has the name of the one canonical path', async () => {
    await work.write('d/x', 'x')
    await fs.symlink('d', work.path('to-d'))
    await fs.symlink('..', work.path('d/up'))
    await work.write('d/f', 'f0')
    await history.makeSnapshot('m1')
    const spellings = [
      'd/f',
      './d/f',
      'd/../d/f',
      'd//f',
      work.path('d/f'),
      'to-d/f',
      'd/up/d/f',
      '../project/d/f',
    ]
    for (const [number, spelling] of spellings.entries()) {
      await history.trackEdit(spelling, 'm1')
      await work.write('d/f', `f${number + 1}`)
      await history.recordEdit(spellings.at(-1 - number) ?? '', 'm1')
    }
    expect(Object.keys(history.snapshots()[0]?.trackedFileBackups ?? {})).toEqual(['d/f'])
    expect(history.snapshots()[0]?.trackedFileBackups['d/f']?.backupFileName).toBe(
      backupFileName(work.path('d/f'), 1),
    )
    for (const path of spellings) {
      expect((await history.planRewind('m1', { paths: [path] })).changes).toHaveLength(1)
      expect(Buffer.from((await history.readFileAt('m1', path)) ?? [])).toEqual(Buffer.from('f0'))
    }
    await history.rewind('m1')
    expect(await work.read('d/f')).toBe('f0')
  })

  test('also when all of them come at once, and through a root that is a link', async () => {
    await history.close()
    await fs.symlink(work.root, work.beside('link'))
    history = await work.open({ root: work.beside('link') })
    await history.makeSnapshot('m1')
    await Promise.all(
      ['a.txt', work.path('a.txt'), './a.txt', `${work.beside('link')}/a.txt`].map((path) =>
        history.trackEdit(path, 'm1'),
      ),
    )
    await work.write('a.txt', 'a1')
    expect(Object.keys(history.snapshots()[0]?.trackedFileBackups ?? {})).toEqual(['a.txt'])
    expect(await fs.readdir(work.dir)).toContain(backupFileName(work.path('a.txt'), 1))
    await history.rewind('m1')
    expect(await work.read('a.txt')).toBe('a0')
  })
})
