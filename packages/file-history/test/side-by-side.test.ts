import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { linkBackups, verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { filesBelow } from './fault-scene.ts'
import { interleave } from './interleaving.ts'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

const isLong = process.env['LOCI_LONG'] === '1'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1', 'b.txt': 'b1' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.dispose()
})

describe('of those who open one history at once', () => {
  test('in one process, one has it at a time and the others are told; after each close another can', async () => {
    for (let round = 0; round < 5; round += 1) {
      const tries = await Promise.allSettled(Array.from({ length: 8 }, () => work.open()))
      const open = tries.filter((one) => one.status === 'fulfilled')
      expect(open).toHaveLength(1)
      for (const one of tries) {
        if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'HISTORY_LOCKED' })
      }
      const history = open[0]?.value
      // One that is closing still counts.
      const [, again] = await Promise.allSettled([history?.close(), work.open()])
      if (again.status === 'fulfilled') await again.value.close()
      else expect(isLociError(again.reason, 'HISTORY_LOCKED')).toBe(true)
    }
    expect(await verifyFileHistory(work)).toEqual([])
  })

  test('in several processes, opening while another closes: each gets it, one after the other, and nothing is lost', async () => {
    const count = isLong ? 30 : 4
    const script = fileURLToPath(new URL('open-and-close.mjs', import.meta.url))
    const children = ['x', 'y', 'z'].map((name) =>
      spawn(process.execPath, [script, work.dir, work.root, String(count), name], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    )
    await Promise.all(children.map((child) => once(child.stdout, 'data')))
    const ends = children.map((child) => once(child, 'exit'))
    for (const child of children) child.stdin.write('go\n')
    expect((await Promise.all(ends)).map(([code]) => code as unknown)).toEqual([0, 0, 0])
    const history = await work.open()
    const ids = history.snapshots().map(({ messageId }) => messageId)
    expect(ids).toHaveLength(3 * count)
    for (const name of ['x', 'y', 'z']) {
      expect(ids.filter((id) => id.startsWith(name))).toEqual(
        Array.from({ length: count }, (_, index) => `${name}-${index}`),
      )
    }
    await history.close()
    expect(await verifyFileHistory(work)).toEqual([])
    const locks = readdirSync(work.beside('.')).filter((name) => name.includes('.lock.'))
    expect(locks).toHaveLength(1)
  }, 60_000)
})

const text = async (history: FileHistory, id: string, name: string): Promise<string | null> => {
  const bytes = await history.readFileAt(id, name)
  return bytes && Buffer.from(bytes).toString()
}

/** Does all of it side by side, in an order that the seed decides. */
async function together(seed: number, actions: (() => Promise<void>)[]): Promise<void> {
  const turns = interleave(seed)
  try {
    const ends = await Promise.allSettled(actions.map((action) => action()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  } finally {
    await turns.stop()
  }
}

test('gc beside edits and snapshots of the same history, in any order, removes nothing that they need', async () => {
  for (let seed = 1; seed <= (isLong ? 300 : 12); seed += 1) {
    const dir = work.beside(`history-${seed}`)
    writeFileSync(work.path('a.txt'), 'a1')
    const history = await work.open({ dir, maxSnapshots: 3 })
    await history.makeSnapshot('m0')
    const edits = { isOver: false }
    await together(seed, [
      async () => {
        for (const turn of [1, 2, 3, 4]) {
          await history.trackEdit('a.txt', 'e')
          writeFileSync(work.path('a.txt'), `a of ${turn}`)
          await history.recordEdit('a.txt', 'e')
          await history.makeSnapshot(`m${turn}`)
        }
        edits.isOver = true
      },
      async () => {
        for (const name of ['b.txt', 'none.txt', 'c/none.txt']) await history.trackEdit(name, 'e')
      },
      async () => {
        while (!edits.isOver) await history.gc()
      },
    ])
    for (const { messageId } of history.snapshots()) {
      if (messageId !== 'm0')
        expect(await text(history, messageId, 'a.txt')).toBe(`a of ${messageId.slice(1)}`)
    }
    expect((await history.planRewind(history.snapshots()[0]?.messageId ?? '')).skipped).toEqual([])
    await history.close()
    expect(await verifyFileHistory({ dir, root: work.root })).toEqual([])
  }
})

describe('linkBackups of a history that is being written', () => {
  test('at any file operation of the fork: it has a beginning of the parent, whole, and the parent loses nothing', async () => {
    const turns = async (history: FileHistory, from: number): Promise<void> => {
      for (const turn of [from, from + 1, from + 2]) {
        await edit(work, history, 'a.txt', `a of ${turn}`)
        await history.makeSnapshot(`m${turn}`)
      }
    }
    for (let seed = 1; seed <= (isLong ? 200 : 8); seed += 1) {
      const [dir, fork] = [work.beside(`history-${seed}`), work.beside(`fork-${seed}`)]
      const history = await work.open({ dir, maxSnapshots: 4 })
      await history.trackEdit('a.txt', 'm0')
      await turns(history, 1)
      await together(seed, [
        () => turns(history, 4),
        async () => void (await linkBackups({ fromDir: dir, toDir: fork })),
      ])
      const parent = history.snapshots().map(({ messageId }) => messageId)
      await history.close()
      for (const side of [dir, fork]) {
        expect(await verifyFileHistory({ dir: side, root: work.root, maxSnapshots: 4 })).toEqual([])
      }
      const before = filesBelow(dir)
      const forked = await work.open({ dir: fork, maxSnapshots: 4 })
      const ids = forked.snapshots().map(({ messageId }) => messageId)
      expect(['m0', 'm1', 'm2', 'm3', ...parent]).toEqual(expect.arrayContaining(ids))
      for (const id of ids) {
        if (id !== 'm0') expect(await text(forked, id, 'a.txt')).toBe(`a of ${id.slice(1)}`)
      }
      await edit(work, forked, 'a.txt', 'of the fork')
      await forked.makeSnapshot('f1')
      await forked.gc()
      await forked.close()
      expect(filesBelow(dir)).toEqual(before)
    }
  })
})
