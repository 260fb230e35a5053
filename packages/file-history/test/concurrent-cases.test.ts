import { readFileSync, renameSync } from 'node:fs'
import { files } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

/** Too large to be read or copied in one go, so that it can be held. */
const large = (text: string): string => text.padEnd(300 << 10, '.')

let work: Project
let history: FileHistory
const { copyFile, open, unlink } = files
beforeEach(async () => {
  work = await project({ 'a.txt': large('a1'), 'b.txt': large('b1') })
})
afterEach(async () => {
  setFaultHook(undefined)
  Object.assign(files, { copyFile, open, unlink })
  await history.close()
  await work.dispose()
})

interface Held {
  /** It has come to that. */
  reached: Promise<void>
  release: () => void
}

function signal(): [Promise<void>, () => void] {
  let give = (): void => undefined
  const given = new Promise<void>((resolve) => (give = resolve))
  return [given, give]
}

/** Holds the next operation on a path that `isIt`, of copies those into the backup folder. */
function hold(name: 'copyFile' | 'open' | 'unlink', isIt: (path: string) => boolean): Held {
  const [reached, reach] = signal()
  const [released, release] = signal()
  const operation = files[name] as (...values: unknown[]) => Promise<unknown>
  let isHeld = false
  const held = async (...values: unknown[]): Promise<unknown> => {
    const [path, to] = values
    if (!isHeld && isIt(String(path)) && (name !== 'copyFile' || String(to).includes('/.stage-'))) {
      isHeld = true
      reach()
      await released
    }
    return operation.apply(files, values)
  }
  setFaultHook(undefined)
  Object.assign(files, { [name]: held })
  return { reached, release }
}

const isA = (path: string): boolean => path === work.path('a.txt')
const isB = (path: string): boolean => path === work.path('b.txt')

/** The first two letters of what a snapshot knows of a file. */
async function at(id: string, name: string): Promise<string> {
  const bytes = await history.readFileAt(id, name).catch(() => undefined)
  return bytes === undefined ? 'unknown' : Buffer.from(bytes ?? []).toString('utf8', 0, 2)
}

const ids = (): string[] => history.snapshots().map(({ messageId }) => messageId)

test('what a command has made of a file while an edit looks at it is not its state at the snapshot before', async () => {
  history = await work.open()
  await history.makeSnapshot('m')
  const copy = hold('copyFile', isA)
  const tracking = history.trackEdit('a.txt', 'e')
  await copy.reached
  await history.trackCommand('c', async () => {
    await work.write('a.txt', large('a2'))
    copy.release()
    await tracking
  })
  expect([await at('m', 'a.txt'), await at('e', 'a.txt')]).toEqual(['a1', 'a2'])
})

/** Holds the next edit after it has read its file, before it joins a snapshot. */
const holdRead = (): Held => hold('unlink', (path) => path.includes('/.stage-'))

test('a snapshot looks itself at a file whose first record is being made', async () => {
  history = await work.open()
  await history.makeSnapshot('m')
  await history.trackCommand('c', async () => {
    const read = holdRead()
    const tracking = history.trackEdit('a.txt', 'e')
    await read.reached
    await work.write('a.txt', large('a2'))
    const making = history.makeSnapshot('s')
    read.release()
    await Promise.all([tracking, making])
  })
  expect([await at('m', 'a.txt'), await at('s', 'a.txt')]).toEqual(['a1', 'a2'])
})

test('what a command made of a file for a while is not its state at the snapshot before', async () => {
  history = await work.open()
  await history.makeSnapshot('m')
  let read: Held | undefined
  let tracking: Promise<unknown> | undefined
  await history.trackCommand('c', async () => {
    await work.write('a.txt', large('a2'))
    read = holdRead()
    tracking = history.trackEdit('a.txt', 'e')
    await read.reached
    await work.write('a.txt', large('a1'))
  })
  read?.release()
  await tracking
  expect([await at('m', 'a.txt'), await at('e', 'a.txt')]).toEqual(['unknown', 'a1'])
})

test('nor is what a command made of a file that it cannot tell the state before of', async () => {
  history = await work.open({ maxFiles: 0 })
  await history.makeSnapshot('m')
  let read: Held | undefined
  let tracking: Promise<unknown> | undefined
  await history.trackCommand('c', async () => {
    await work.write('a.txt', large('a2'))
    read = holdRead()
    tracking = history.trackEdit('a.txt', 'e')
    await read.reached
  })
  read?.release()
  await tracking
  expect([await at('m', 'a.txt'), await at('e', 'a.txt')]).toEqual(['unknown', 'a2'])
})

test('an edit that waited while a command ended unrecorded joins no snapshot of before', async () => {
  history = await work.open({ maxSnapshots: 2 })
  await history.makeSnapshot('m')
  let look: Held | undefined
  let tracking: Promise<unknown> = Promise.resolve()
  const { untracked } = await history.trackCommand('c', async () => {
    await history.makeSnapshot('n')
    await history.makeSnapshot('o')
    await work.write('a.txt', large('a2'))
    look = hold('open', isA)
    const recording = history.recordEdit('a.txt', 'x')
    await look.reached
    tracking = Promise.all([recording, history.trackEdit('a.txt', 'e')])
  })
  look?.release()
  await tracking
  expect(untracked).toEqual([work.path('a.txt')])
  expect(ids()).toEqual(['o', 'e'])
  expect([await at('o', 'a.txt'), await at('e', 'a.txt')]).toEqual(['unknown', 'a2'])
})

test('nor does one that waited while recording the command failed', async () => {
  history = await work.open()
  await history.makeSnapshot('m')
  let look: Held | undefined
  let tracking: Promise<unknown> = Promise.resolve()
  const command = history.trackCommand('c', async () => {
    await work.write('a.txt', large('a2'))
    await work.write('b.txt', large('b2'))
    look = hold('open', isB)
    const recording = history.recordEdit('b.txt', 'x')
    await look.reached
    tracking = Promise.all([recording, history.trackEdit('b.txt', 'e')])
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
    setFaultHook((operation) => (operation === 'copy' ? full : undefined))
  })
  await expect(command).rejects.toMatchObject({ code: 'DISK_FULL' })
  setFaultHook(undefined)
  look?.release()
  await tracking
  expect([await at('m', 'b.txt'), await at('e', 'b.txt')]).toEqual(['unknown', 'b2'])
})

/** A history in which the next snapshot has something to copy, at which it can be held. */
async function openChanged(maxSnapshots: number): Promise<Held> {
  history = await work.open({ maxSnapshots })
  await history.makeSnapshot('m')
  await edit(work, history, 'b.txt', large('b1'), 'm')
  await work.write('b.txt', large('b2'))
  return hold('copyFile', isB)
}

test.each(['an edit', 'a command'])(
  'of a file that only an evicted snapshot held %s makes one',
  async (kind) => {
    const look = await openChanged(1)
    let making: Promise<unknown> = Promise.resolve()
    await history.trackCommand('c', async () => {
      making = history.makeSnapshot('n')
      await look.reached
      await work.write('a.txt', large('a2'))
    })
    expect(history.snapshots()[0]?.trackedFileBackups).toHaveProperty(['a.txt'])
    look.release()
    await making
    if (kind === 'an edit') await history.trackEdit('a.txt', 'e')
    else await history.trackCommand('e', () => work.write('a.txt', large('a3')))
    expect(ids()).toEqual(['e'])
    expect(await at('e', 'a.txt')).toBe('a2')
  },
)

test.each([
  ['a.txt', 'a1'],
  ['new.txt', ''],
])('%s, again as an evicted snapshot held it, was not so at those between', async (name, before) => {
  const look = await openChanged(2)
  let making: Promise<unknown> = Promise.resolve()
  await history.trackCommand('c', async () => {
    const first = history.makeSnapshot('n')
    await look.reached
    await work.write(name, large('a2'))
    making = Promise.all([first, history.makeSnapshot('o')])
  })
  look.release()
  await making
  if (before === '') await work.remove(name)
  else await work.write(name, large(before))
  await history.trackEdit(name, 'e')
  expect(ids()).toEqual(['o', 'e'])
  expect([await at('o', name), await at('e', name)]).toEqual(['unknown', before])
})

test.each([
  ['a.txt', 'a1', false],
  ['a.txt', 'a1', true],
  ['new.txt', '', true],
])(
  'nor %s, again as before a command that ran then (%s, opened again: %s)',
  async (name, before, isReopened) => {
    history = await work.open({ maxSnapshots: 2 })
    await history.makeSnapshot('m')
    await history.trackCommand('c', async () => {
      await work.write(name, large('a2'))
      await history.makeSnapshot('n')
    })
    if (before === '') await work.remove(name)
    else await work.write(name, large(before))
    if (isReopened) await history.close()
    if (isReopened) history = await work.open({ maxSnapshots: 3 })
    await history.makeSnapshot('e')
    expect([await at('n', name), await at('e', name)]).toEqual(['unknown', before])
    await history.makeSnapshot('f')
    expect(history.snapshots().at(-1)?.trackedFileBackups).toEqual(
      history.snapshots().at(-2)?.trackedFileBackups,
    )
  },
)

test('a name that a command took from another file, unrecorded, is no new one for a file moved there', async () => {
  await work.write('c.txt', large('c1'))
  history = await work.open({ maxFiles: 0 })
  await edit(work, history, 'a.txt', large('a2'), 'm')
  await history.makeSnapshot('n')
  const { untracked } = await history.trackCommand('c', () => work.remove('c.txt'))
  expect(untracked).toEqual([work.path('c.txt')])
  renameSync(work.path('a.txt'), work.path('c.txt'))
  await history.makeSnapshot('e')
  expect([await at('n', 'c.txt'), await at('e', 'a.txt')]).toEqual(['unknown', ''])
})

test('what a command changed joins no snapshot that is evicted meanwhile', async () => {
  const look = await openChanged(1)
  let making: Promise<unknown> = Promise.resolve()
  const copy = hold('copyFile', (path) => path.includes('/base/'))
  const command = history.trackCommand('c', async () => {
    making = history.makeSnapshot('n')
    await look.reached
    await work.write('a.txt', large('a2'))
  })
  await copy.reached
  look.release()
  await making
  copy.release()
  expect(await command).toMatchObject({ changed: [], untracked: [work.path('a.txt')] })
})

test('what a file was before a command is not what it was before another of which nothing was recorded', async () => {
  history = await work.open({ maxSnapshots: 3 })
  await history.makeSnapshot('m')
  await history.trackCommand('c', async () => {
    for (const id of ['n', 'o', 'p']) await history.makeSnapshot(id)
    await work.write('a.txt', large('a2'))
  })
  await history.trackCommand('d', async () => {
    await work.write('a.txt', large('a3'))
    await history.trackEdit('a.txt', 'e')
  })
  expect(ids()).toEqual(['p', 'd', 'e'])
  expect([await at('p', 'a.txt'), await at('d', 'a.txt'), await at('e', 'a.txt')]).toEqual([
    'unknown',
    'a2',
    'a3',
  ])
})

/** All that waits for no file operation is over then. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('trackEdit resolves after a snapshot that was called before has looked at the file', async () => {
  history = await work.open()
  await history.makeSnapshot('m')
  const read = holdRead()
  const tracking = history.trackEdit('a.txt', 'e')
  let isResolved = false
  void tracking.then(() => (isResolved = true))
  await read.reached
  const look = hold('open', isA)
  const making = history.makeSnapshot('s')
  read.release()
  await look.reached
  await turn()
  expect(isResolved).toBe(false)
  look.release()
  await Promise.all([tracking, making])
})

test('and after one that was called while it waited for that', async () => {
  history = await work.open()
  await history.makeSnapshot('m')
  const read = holdRead()
  const tracking = history.trackEdit('a.txt', 'e')
  let isResolved = false
  void tracking.then(() => (isResolved = true))
  await read.reached
  const first = hold('open', isA)
  const making = history.makeSnapshot('s')
  read.release()
  await first.reached
  await turn()
  const second = hold('open', isA)
  const next = history.makeSnapshot('t')
  first.release()
  await second.reached
  await turn()
  expect(isResolved).toBe(false)
  second.release()
  await Promise.all([tracking, making, next])
})

test('a command knows what files were at a snapshot that was called before it', async () => {
  const look = await openChanged(100)
  const making = history.makeSnapshot('n')
  await look.reached
  const command = history.trackCommand('c', () => work.write('a.txt', large('a2')))
  await turn()
  look.release()
  await Promise.all([making, command])
  expect([await at('n', 'a.txt'), await at('n', 'b.txt')]).toEqual(['a1', 'b2'])
})

test('and runs after one that was called while it looked at the tree has looked at its files', async () => {
  const look = await openChanged(100)
  const copy = hold('open', (path) => path.includes('/base/'))
  const command = history.trackCommand('c', () => work.write('b.txt', large('b3')))
  await copy.reached
  const making = history.makeSnapshot('n')
  await look.reached
  copy.release()
  while (!readFileSync(`${work.dir}/edits.jsonl`, 'utf8').includes('"command"')) await turn()
  for (let turns = 0; turns < 100; turns += 1) await turn()
  look.release()
  await Promise.all([making, command])
  expect(await at('n', 'b.txt')).toBe('b2')
})
