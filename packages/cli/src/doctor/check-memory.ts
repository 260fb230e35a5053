import { join } from 'node:path'
import { withMemory } from '../compose.ts'
import { adviceOnMemory } from './advice.ts'
import type { Checkup } from './checkup.ts'
import { kindInMemory } from './usage.ts'

/** A memory folder, which need not exist. `where` is how a command is told of it. */
export async function checkMemory(checkup: Checkup, dir: string, where: string): Promise<void> {
  await checkup.checkLeases(
    dir,
    ({ lockFile }) => `empty ${JSON.stringify(lockFile)} if that process is gone for certain`,
  )
  checkup.checked.memories += 1
  const damage = await checkup.attempt(dir, () => withMemory({ dir }, (memory) => memory.verify()))
  checkup.add(damage ?? [], {
    place: dir,
    adviceOn: (kind) => adviceOnMemory(kind, where),
    isHint: (kind) => kind === 'unfinished-change' && checkup.isLive(join(dir, 'MEMORY.md')),
  })
  await checkup.measure(dir, kindInMemory)
}
