import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import {
  fileErrno,
  files,
  filesNow,
  isAbsent,
  isLocalFileSystem,
  isLociError,
  OPEN_PROMPTLY,
} from '@loci/disk'
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

test('what stands under a name is told exactly, and no link is followed', () => {
  symlinkSync('a.txt', work.path('link'))
  const stats = filesNow.lstat(work.path('a.txt'))
  const { ino, ctimeNs, size } = lstatSync(work.path('a.txt'), { bigint: true })
  expect(stats).toMatchObject({ ino, ctimeNs, size })
  expect(filesNow.lstatRounded(work.path('a.txt'))).toMatchObject({
    ino: Number(ino),
    ctimeMs: Number(ctimeNs / 1_000_000_000n) * 1000 + Number(ctimeNs % 1_000_000_000n) / 1e6,
  })
  expect(filesNow.lstat(work.path('link')).isSymbolicLink()).toBe(true)
  expect(filesNow.lstatRounded(work.path('link')).isSymbolicLink()).toBe(true)
  expect(filesNow.realpath(work.path('link'))).toBe(realpathSync(work.path('a.txt')))
  expect(filesNow.look(work.path('a.txt'), 'r', (file) => file.statExactly())).toMatchObject({ ino, ctimeNs })
  expect(filesNow.names(work.path('.')).toSorted()).toEqual(['a.txt', 'link'])
})

test.each(['lstat', 'lstatRounded', 'realpath', 'statfs', 'names'] as const)(
  'a failing %s is a LociError',
  (name) => {
    const error = failure(() => filesNow[name](work.path('absent')))
    expect(isAbsent(error)).toBe(true)
    setFaultHook(() => Object.assign(new Error('injected'), { code: 'EIO' }))
    expect(fileErrno(failure(() => filesNow[name](work.path('a.txt'))))).toBe('EIO')
  },
)

test('a file system is local only where it is known to be', async () => {
  const { type } = await files.statfs(work.path('.'))
  expect(filesNow.statfs(work.path('.')).type).toBe(type)
  const [nfs, ext4] = [0x6969, 0xef53]
  expect(isLocalFileSystem(nfs)).toBe(false)
  expect(isLocalFileSystem(ext4)).toBe(process.platform === 'linux')
})

test('a new file has its bytes and bits, a short write is completed, and a name that is taken is kept', () => {
  let writes = 0
  setFaultHook((operation) =>
    operation === 'write' && (writes += 1) < 3 ? { shortWriteBytes: 1 } : undefined,
  )
  filesNow.writeNew(work.path('new'), Buffer.from('bytes'), 0o4751)
  expect(writes).toBe(3)
  expect(readFileSync(work.path('new'), 'utf8')).toBe('bytes')
  expect(lstatSync(work.path('new')).mode & 0o7777).toBe(0o4751)
  expect(fileErrno(failure(() => filesNow.writeNew(work.path('a.txt'), Buffer.from('x'), 0o600)))).toBe(
    'EEXIST',
  )
  expect(readFileSync(work.path('a.txt'), 'utf8')).toBe('0123456789')
})

test.each(['open', 'write', 'fchmod', 'close'])('a %s that fails while a file is made is told', (failing) => {
  setFaultHook((operation) =>
    operation === failing ? Object.assign(new Error('injected'), { code: 'ENOSPC' }) : undefined,
  )
  const error = failure(() => filesNow.writeNew(work.path('new'), Buffer.from('bytes'), 0o600))
  expect(isLociError(error, 'DISK_FULL')).toBe(true)
})
