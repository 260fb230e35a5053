import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { showEverySecond } from '../src/doctor/progress.ts'
import { sizeText } from '../src/doctor/render.ts'
import { SESSION, doctorRoom } from './doctor-room.ts'
import type { DoctorRoom } from './doctor-room.ts'

// How the doctor reads, and what it counts.

let room: DoctorRoom
beforeEach(async () => {
  room = await doctorRoom()
})
afterEach(async () => {
  setFaultHook(undefined)
  await room.work.remove()
})

test('what is behind a link is not walked: it may be all of a disk', async () => {
  await mkdir(room.work.path('outside/deep'), { recursive: true })
  await writeFile(room.work.path('outside/deep/file'), 'outside')
  await symlink(room.work.path('outside'), room.home('projects/-link'))
  await rm(join(room.projectDir, SESSION), { recursive: true })
  await symlink(room.work.path('outside'), join(room.projectDir, SESSION))
  const looked: string[] = []
  setFaultHook((_, path) => void looked.push(path))
  for (const argv of [[], ['--all']]) expect((await room.examine(...argv)).code).toBe(0)
  expect(looked.filter((path) => path.includes('deep'))).toEqual([])
})

test('the backups that a fork shares count once', async () => {
  expect((await room.run('sessions', 'fork', SESSION)).code).toBe(0)
  const { backups } = (await room.examine('--all')).usage
  const sizes = new Map<number, { size: number; isShared: boolean }>()
  let names = 0
  for (const entry of await readdir(room.home('file-history'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.includes('.lock.')) continue
    const { ino, size, nlink } = await stat(join(entry.parentPath, entry.name))
    sizes.set(ino, { size, isShared: nlink > 1 })
    names += 1
  }
  const sum = (all: { size: number }[]): number => all.reduce((total, { size }) => total + size, 0)
  const shared = [...sizes.values()].filter(({ isShared }) => isShared)
  expect(shared.length).toBeGreaterThan(0)
  expect(backups).toEqual({ files: names, sizeBytes: sum([...sizes.values()]), sharedBytes: sum(shared) })
})

test('each folder is read a few times, however many sessions it holds', async () => {
  const count = async (): Promise<number> => {
    let readings = 0
    setFaultHook((operation, path) => {
      if (operation === 'readdir' && (path === room.projectDir || path.endsWith('file-history')))
        readings += 1
      return undefined
    })
    for (const argv of [[], ['--all']]) expect((await room.examine(...argv)).code).toBe(3)
    setFaultHook(undefined)
    return readings
  }
  const text = await readFile(room.transcript, 'utf8')
  const copy = (n: number): Promise<void> => {
    const id = `44444444-4444-4444-8444-${String(n).padStart(12, '0')}`
    return writeFile(join(room.projectDir, `${id}.jsonl`), text.replaceAll(SESSION, id))
  }
  await copy(0)
  const few = await count()
  for (let n = 1; n < 40; n += 1) await copy(n)
  expect(await count()).toBe(few)
})

test('progress is shown once it takes a second, and then once a second', () => {
  let nowMs = 0
  const shown: string[] = []
  const tell = showEverySecond(
    (line) => void shown.push(line),
    () => nowMs,
  )
  for (const [at, line] of [
    [0, 'a'],
    [999, 'b'],
    [1000, 'c'],
    [1500, 'd'],
    [2100, 'e'],
  ] as const) {
    nowMs = at
    tell(line)
  }
  expect(shown).toEqual(['c', 'e'])
})

test('sizes for people', () => {
  expect([0, 1023, 1024, 1536, 5 * 1024 ** 3].map(sizeText)).toEqual([
    '0 B',
    '1023 B',
    '1.0 KB',
    '1.5 KB',
    '5.0 GB',
  ])
})
