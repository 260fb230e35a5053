import type { ChangeQueue } from './change-queue.ts'
import type { Folder } from './folder.ts'
import type { Memdir } from './memdir.ts'

/** What a handle works with; the other doors of this package work with the same. */
export interface MemdirParts {
  folder: Folder
  queue: ChangeQueue
  review: boolean
}

const kept = new WeakMap<Memdir, MemdirParts>()

export function keepParts(memdir: Memdir, parts: MemdirParts): void {
  kept.set(memdir, parts)
}

/** @throws {TypeError} when the handle is none of `openMemdir` */
export function partsOf(memdir: Memdir): MemdirParts {
  const parts = kept.get(memdir)
  if (parts === undefined) throw new TypeError('memdir must be what openMemdir resolved to')
  return parts
}
