import { execFileSync } from 'node:child_process'
import { fileErrno, filesNow, isAbsent, isLociError, OPEN_PROMPTLY } from '@loci/disk'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'a.txt': '0123456789' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

function failure(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}

const readAll = (): string =>
  filesNow.look(work.path('a.txt'), 'r', (file) => {
    const buffer = Buffer.alloc(file.stat().size + 5)
    return buffer.toString('utf8', 0, file.readFull(buffer, 2))
  })

test('a look at a file reads from a position to its end, and each step is one operation of the port', () => {
  const seen: string[] = []
  setFaultHook((operation, path) => {
    expect(path).toBe(work.path('a.txt'))
    seen.push(operation)
    return undefined
  })
  expect(readAll()).toBe('23456789')
  expect(filesNow.stat(work.path('a.txt')).size).toBe(10)
  expect(seen).toEqual(['open', 'fstat', 'read', 'read', 'close', 'stat'])
})

test.each(['open', 'fstat', 'read', 'close'])(
  'a failing %s is a LociError, and the file is closed',
  (failing) => {
    const open: string[] = []
    setFaultHook((operation) => {
      open.push(operation)
      return operation === failing ? Object.assign(new Error('injected'), { code: 'ENOSPC' }) : undefined
    })
    const error = failure(readAll)
    expect(isLociError(error, 'DISK_FULL')).toBe(true)
    expect(error).toMatchObject({
      details: { errno: 'ENOSPC', operation: failing, path: work.path('a.txt') },
    })
    expect(open.includes('close')).toBe(failing !== 'open')
  },
)

test('what a look throws passes through, after the file was closed', () => {
  let closed = 0
  setFaultHook((operation) => {
    if (operation === 'close') closed += 1
    return undefined
  })
  const thrown = new Error('mine')
  const look = (): never => {
    throw thrown
  }
  expect(failure(() => filesNow.look(work.path('a.txt'), 'r', look))).toBe(thrown)
  expect(closed).toBe(1)
})

test('what is not there is absent; what may not be read is not', () => {
  expect(isAbsent(failure(() => filesNow.stat(work.path('b.txt'))))).toBe(true)
  expect(isAbsent(failure(() => filesNow.look(work.path('b.txt'), 'r', () => 1)))).toBe(true)
  setFaultHook(() => Object.assign(new Error('injected'), { code: 'EACCES' }))
  expect(fileErrno(failure(() => filesNow.stat(work.path('a.txt'))))).toBe('EACCES')
})

test('a FIFO keeps nobody waiting', () => {
  execFileSync('mkfifo', [work.path('fifo')])
  expect(filesNow.look(work.path('fifo'), OPEN_PROMPTLY, (file) => file.stat().isFIFO())).toBe(true)
})
