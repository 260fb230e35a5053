import * as fs from 'node:fs/promises'
import { backupFileName } from '@loci/file-history'
import { expect, test } from 'vitest'
import { project } from './project.ts'

test('with the oldest snapshot go the backups that only it named, and none that another names', async () => {
  const work = await project({ 'a.txt': 'a0', 'b.txt': 'b0', 'c.txt': 'c0' })
  const history = await work.open({ maxSnapshots: 3 })
  await history.makeSnapshot('m0')
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await history.trackEdit(name, 'a')
  const isThere = async (name: string, version: number): Promise<boolean> =>
    (await fs.readdir(work.dir)).includes(backupFileName(work.path(name), version))
  for (let round = 1; round < 6; round += 1) {
    await work.write('a.txt', `a${round}`)
    if (round === 2) await work.write('c.txt', 'c1')
    await history.makeSnapshot(`m${round}`)
    const oldest = history.snapshots()[0]?.messageId
    expect(oldest).toBe(`m${Math.max(0, round - 2)}`)
    for (const { messageId } of history.snapshots()) {
      const number = Number(messageId.slice(1))
      expect(String(await history.readFileAt(messageId, 'a.txt'))).toBe(`a${number}`)
      expect(String(await history.readFileAt(messageId, 'b.txt'))).toBe('b0')
      expect(String(await history.readFileAt(messageId, 'c.txt'))).toBe(number < 2 ? 'c0' : 'c1')
    }
    // The first version of a.txt is of m0, that of c.txt of m0 and m1.
    expect(await isThere('a.txt', 1)).toBe(round < 3)
    expect(await isThere('c.txt', 1)).toBe(round < 4)
  }
  await history.close()
  await work.dispose()
})
