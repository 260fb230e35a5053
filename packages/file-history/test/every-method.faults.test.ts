import { rmSync, writeFileSync } from 'node:fs'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { unlockFileHistory, verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { damageOf, faultScene, observe, withFault } from './fault-scene.ts'
import type { Fault, FaultScene, FaultWay, Files } from './fault-scene.ts'

let scene: FaultScene
const rejections: unknown[] = []
const onRejection = (error: unknown): void => void rejections.push(error)
beforeAll(async () => {
  process.on('unhandledRejection', onRejection)
  scene = await faultScene()
})
afterEach(() => setFaultHook(undefined))
afterAll(async () => {
  process.off('unhandledRejection', onRejection)
  await scene.dispose()
  expect(rejections).toEqual([])
})

const isLong = process.env['LOCI_LONG'] === '1'
const WAYS: readonly FaultWay[] = ['ENOSPC', 'EIO', 'EACCES', 'torn', 'EROFS', 'EMFILE']

/** A public method, called on an open history. */
interface Method {
  call: (history: FileHistory) => Promise<unknown>
  /** The codes it may be rejected with. */
  codes: string[]
  /** Without a fault, before the call. */
  prepare?: (history: FileHistory) => Promise<unknown>
  /**
   * Called without a fault after it, by default if the call was rejected. Given where a call may succeed and name what
   * it could not do: then this goes on, and only what comes of it is compared.
   */
  again?: (history: FileHistory) => Promise<unknown>
  /** The state that each file of the project may be in after the call besides that before it. */
  after?: () => Files
  /** Whether the history is closed when it is called. */
  isClosed?: boolean
}

const DISK = ['DISK_FULL', 'DISK_IO']

const put = (name: string, text: string): void => writeFileSync(scene.work.path(name), text)

async function goOn(history: FileHistory, act: () => Promise<unknown>): Promise<void> {
  await (history.pendingRewind ? history.resolveRewind('finish') : act())
}

/** Undoes what is left; all may have been brought back before. */
async function undoRest(history: FileHistory): Promise<void> {
  await history.undoRewind({ id: 'r3' }).catch((error: unknown) => {
    if (!isLociError(error, 'SNAPSHOT_NOT_FOUND')) throw error
  })
}

const METHODS: Record<string, Method> = {
  'trackEdit of a new file': { call: (history) => history.trackEdit('mine.txt', 'e'), codes: DISK },
  'trackEdit of an absent file': { call: (history) => history.trackEdit('x/y.txt', 'e'), codes: DISK },
  'trackEdit of a tracked file': { call: (history) => history.trackEdit('a.txt', 'e'), codes: DISK },
  recordEdit: {
    prepare: async (history) => {
      await history.trackEdit('mine.txt', 'e')
      put('mine.txt', 'edited')
    },
    call: (history) => history.recordEdit('mine.txt', 'e'),
    codes: DISK,
  },
  makeSnapshot: {
    prepare: async () => {
      put('a.txt', 'a4 longer')
      put('mine.txt', 'not tracked')
      rmSync(scene.work.path('d/new.txt'))
    },
    call: (history) => history.makeSnapshot('m4'),
    again: (history) => history.makeSnapshot('m4'),
    codes: DISK,
  },
  planRewind: {
    call: (history) => history.planRewind('m1'),
    again: async (history) => expect(await history.planRewind('m1')).toMatchObject({ skipped: [] }),
    codes: DISK,
  },
  rewind: {
    call: (history) => history.rewind('m1', { onConflict: 'overwrite' }),
    again: (history) => goOn(history, () => history.rewind('m1', { onConflict: 'overwrite' })),
    codes: DISK,
    after: () => scene.first,
  },
  undoRewind: {
    prepare: (history) => history.rewind('m1'),
    call: (history) => history.undoRewind(),
    again: (history) => goOn(history, () => undoRest(history)),
    codes: DISK,
    after: () => scene.now,
  },
  'diff to the disk': {
    call: (history) => history.diff('m1', undefined, { patch: true }),
    codes: [...DISK, 'BACKUP_MISSING'],
  },
  'diff of two snapshots': {
    call: (history) => history.diff('m1', 'm3'),
    codes: [...DISK, 'BACKUP_MISSING'],
  },
  readFileAt: { call: (history) => history.readFileAt('m2', 'a.txt'), codes: [...DISK, 'BACKUP_MISSING'] },
  usage: { call: (history) => history.usage(), codes: DISK },
  gc: {
    prepare: async (history) => {
      writeFileSync(scene.work.inDir('0123456789abcdef@v1'), 'unnamed')
      writeFileSync(scene.work.inDir('.stage-1.tmp'), 'scratch')
      await history.rewind('m3')
      await history.undoRewind()
    },
    call: (history) => history.gc(),
    again: async (history) => {
      await history.gc()
      expect((await history.gc({ dryRun: true })).removed).toEqual([])
    },
    codes: DISK,
  },
  close: { call: (history) => history.close(), codes: DISK },
  'openFileHistory, and close': {
    isClosed: true,
    call: async () => (await scene.open()).close(),
    codes: DISK,
  },
  'openFileHistory for reading': {
    isClosed: true,
    call: async () => (await scene.open({ mode: 'read' })).snapshots(),
    codes: DISK,
  },
  verifyFileHistory: {
    isClosed: true,
    call: () => verifyFileHistory(scene.work),
    again: async () => expect(await verifyFileHistory(scene.work)).toEqual([]),
    codes: DISK,
  },
  unlockFileHistory: { isClosed: true, call: () => unlockFileHistory(scene.work.dir), codes: DISK },
}

/** What a call without a fault leads to. */
interface Outcome {
  result: unknown
  files: Files
  seen: unknown
}

async function withoutFault({ prepare, call, isClosed }: Method): Promise<Outcome & { operations: number }> {
  scene.reset()
  let history = await scene.open()
  await prepare?.(history)
  if (isClosed) await history.close()
  let result: unknown
  let operations = 0
  setFaultHook(() => void (operations += 1))
  await call(history)
    .then((value) => (result = value))
    .finally(() => setFaultHook(undefined))
  await history.close()
  history = await scene.open()
  const seen = await observe(history)
  await history.close()
  return { operations, result, files: scene.look(), seen }
}

/** Each file of the project is as it was, or as it is to be; what is in the making beside one apart. */
function expectWhole(before: Files, after: Files): void {
  const now = scene.look()
  for (const name of Object.keys({ ...now, ...before, ...after })) {
    if (/(^|\/)\.loci-[0-9a-f]{16}\.tmp$/.test(name)) continue
    expect([before[name], after[name]], name).toContainEqual(now[name])
  }
}

const failureText = (error: unknown): string => (error instanceof Error ? error.message : 'no error')

/** The call with a fault, and what comes after it. Resolves to whether it came so far. */
async function tryOnce(method: Method, wanted: Outcome, fault: Fault): Promise<boolean> {
  const { prepare, call, codes, again, after, isClosed } = method
  scene.reset()
  let history = await scene.open()
  await prepare?.(history)
  if (isClosed) await history.close()
  const before = scene.look()
  let result: unknown
  const { error, isTripped, operation } = await withFault(fault, async () => (result = await call(history)))
  try {
    if (error !== undefined) expect(isLociError(error, ...codes), failureText(error)).toBe(true)
    expectWhole(before, after?.() ?? before)
    if (again) result = await again(history)
    else if (error !== undefined) result = await call(history)
    if (!again) expect(result).toEqual(wanted.result)
    expect(scene.look()).toEqual(wanted.files)
    await history.close()
    history = await scene.open()
    expect(await observe(history)).toEqual(wanted.seen)
    expect(await damageOf(scene.work)).toEqual([])
  } catch (cause) {
    const { way, nth, lasts } = fault
    const when = `${way} at ${nth}, ${operation}, ${lasts ? 'and all after it' : 'once'}`
    throw new Error(`${when}; it came to ${failureText(error)}: ${String(cause)}`, { cause })
  } finally {
    await history.close()
  }
  return isTripped
}

/** How many moments of a call are tried, once and lasting; the long run tries each, in each way. */
const MOMENTS = isLong ? Infinity : 2

test.each(Object.keys(METHODS))(
  '%s, with any file operation failing: a documented error or success, no loss, and then it works as ever',
  async (name) => {
    const method = METHODS[name]
    if (method === undefined) throw new Error(name)
    const { operations, ...wanted } = await withoutFault(method)
    const stride = Math.max(1, Math.ceil(operations / MOMENTS))
    const last = isLong ? Infinity : operations
    // The methods take turns in the ways.
    const turn = Object.keys(METHODS).indexOf(name)
    let tried = 0
    for (const lasts of [false, true]) {
      let isTripped = true
      for (let nth = lasts ? 1 : 1 + (stride >> 1); isTripped && nth <= last; nth += stride) {
        isTripped = false
        const ways = isLong ? WAYS : WAYS.filter((_, index) => index === (turn + tried) % WAYS.length)
        for (const way of ways) if (await tryOnce(method, wanted, { nth, way, lasts })) isTripped = true
        tried += 1
      }
    }
    expect(tried).toBeGreaterThan(2)
  },
  600_000,
)
