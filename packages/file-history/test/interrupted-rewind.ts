import * as fs from 'node:fs/promises'
import { verifyFileHistory } from '@loci/file-history'
import type { TreeSnapshot } from '@loci/disk/testing'
import { expect } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

/** A project whose rewind to `m1` is to be interrupted, over and over. */
export interface Interrupted {
  work: Project
  edited: TreeSnapshot
  rewound: TreeSnapshot
  /** Puts project and history back as they were before the rewind. */
  reset(): Promise<void>
  /** Checks what an interruption left, and resolves it. Resolves to whether a rewind was pending. */
  check(how: 'finish' | 'undo'): Promise<boolean>
  dispose(): Promise<void>
}

/** What an interruption may leave of the line that was being written. */
const TORN = new Set(['torn-line', 'bad-line'])
const TRACKED = ['a.sh', 'b.txt', 'd', 'd/deep/er', 'd/f', 'linked.txt', 'new/c.txt']
/** Those of which no write is in place: each is old or new. */
const WHOLE = [...TRACKED.filter((name) => name !== 'linked.txt'), 'keep.txt']

export async function interrupted(): Promise<Interrupted> {
  const work = await project({
    'a.sh': { text: 'a1', mode: 0o755 },
    'b.txt': 'b1',
    'd/f': 'f1',
    'd/deep/er': 'e1',
    'keep.txt': 'mine',
  })
  await work.write('linked.txt', 'l1')
  await fs.link(work.path('linked.txt'), work.path('other-name'))
  const history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.sh', 'a2 is longer')
  await edit(work, history, 'b.txt', null)
  await edit(work, history, 'linked.txt', 'linked 2')
  await edit(work, history, 'new/c.txt', 'c1')
  await history.makeSnapshot('m2')
  await history.trackCommand('m2', async () => {
    await work.remove('d')
    await work.write('d', 'a file of the directory')
  })
  const edited = await work.files()
  await history.rewind('m1')
  const rewound = await work.files()
  await history.undoRewind()
  expect(await work.files()).toEqual(edited)
  await history.close()
  const saved = `${work.dir}-saved`
  await fs.cp(work.dir, saved, { recursive: true })

  const reset = async (): Promise<void> => {
    await fs.rm(work.dir, { recursive: true })
    await fs.cp(saved, work.dir, { recursive: true })
    await work.remove('d').catch(() => undefined)
    for (const name of Object.keys(await work.files())) if (!(name in edited)) await work.remove(name)
    for (const [name, file] of Object.entries(edited)) {
      if ('text' in file && name !== 'other-name') await work.write(name, file.text, file.mode)
    }
    expect(await work.files()).toEqual(edited)
  }

  const check = async (how: 'finish' | 'undo'): Promise<boolean> => {
    const now = await work.files()
    const left = await work.open()
    expect(await work.files(), 'opening touches nothing').toEqual(now)
    for (const name of WHOLE) {
      expect([edited[name], rewound[name]], name).toContainEqual(now[name])
    }
    const { pendingRewind: pending } = left
    if (pending === null) {
      expect([edited, rewound]).toContainEqual(now)
      expect((await verifyFileHistory(work)).filter(({ kind }) => !TORN.has(kind))).toEqual([])
      await left.rewind('m1')
      expect(await work.files()).toEqual(rewound)
      await left.close()
      return false
    }
    expect(pending.messageId).toBe('m1')
    expect([...pending.done, ...pending.left].toSorted()).toEqual(TRACKED.map((name) => work.path(name)))
    const damage = await verifyFileHistory(work)
    expect(damage.filter(({ kind }) => !TORN.has(kind))).toMatchObject([{ kind: 'rewind-incomplete' }])
    const refusals = [
      left.rewind('m1'),
      left.makeSnapshot('m'),
      left.trackEdit('a.sh', 'm'),
      left.undoRewind(),
      left.trackCommand('m', async () => undefined),
    ]
    for (const refused of refusals)
      expect(await failure(refused)).toMatchObject({ code: 'REWIND_INCOMPLETE' })
    const result = await left.resolveRewind(how)
    expect(result).toMatchObject({ messageId: 'm1', skipped: [], conflicts: [] })
    const named = [...result.restored, ...result.deleted, ...result.unchanged]
    expect(named.toSorted()).toEqual(TRACKED.map((name) => work.path(name)))
    expect(left.pendingRewind).toBeNull()
    expect(await work.files()).toEqual(how === 'finish' ? rewound : edited)
    if (how === 'finish') {
      expect(await left.undoRewind()).toMatchObject({ conflicts: [], skipped: [] })
      expect(await work.files()).toEqual(edited)
    }
    await left.makeSnapshot('after')
    await left.close()
    return true
  }

  return {
    work,
    edited,
    rewound,
    reset,
    check,
    dispose: () => work.dispose(),
  }
}
