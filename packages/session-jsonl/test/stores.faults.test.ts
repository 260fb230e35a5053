import { rm } from 'node:fs/promises'
import { fileSessionStore, memorySessionStore, mirrorSession, openSession } from '@loci/session-jsonl'
import type { SessionStoreEntry } from '@loci/session-jsonl'
import { isLociError } from '@loci/disk'
import { faultLoop, tree } from '@loci/disk/testing'
import type { FaultKind } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { LONG, project, SID } from './lines.ts'
import { flushError, KEY, ManualTimers, newSession, recordsIn, TIMEOUT_MS } from './mirror-room.ts'

const FAULTS: readonly FaultKind[] = LONG
  ? ['EIO', 'ENOSPC', 'EACCES', 'short-write']
  : ['EIO', 'short-write']

const batchOf = (n: number): SessionStoreEntry[] => [
  { type: 'user', uuid: `a${n}` },
  { type: 'mode', mode: 'default' },
  { type: 'user', uuid: `b${n}` },
]

describe('R8: whatever file operation fails', () => {
  test('the store in files says so clearly, keeps what it acknowledged, and holds everything once after a retry', async () => {
    const made = await tree()
    const projectsDir = made.path('projects')
    let acknowledged = 0
    const tripped = await faultLoop({
      faults: FAULTS,
      run: async () => {
        acknowledged = 0
        await rm(projectsDir, { recursive: true, force: true })
        const store = fileSessionStore({ projectsDir, waitMs: 0 })
        await store.append(KEY, batchOf(0))
        acknowledged += 1
        // The second look at a file that has grown is another one than the first.
        await store.append(KEY, batchOf(1))
        acknowledged += 1
        expect(await store.load(KEY)).toEqual([...batchOf(0), ...batchOf(1)])
        expect(await store.listSessionSummaries('p')).toHaveLength(1)
      },
      verify: async (failed) => {
        if (failed !== undefined) expect(isLociError(failed, 'DISK_FULL', 'DISK_IO')).toBe(true)
        const store = fileSessionStore({ projectsDir, waitMs: 0 })
        const held = (await store.load(KEY)) ?? []
        const all = [...batchOf(0), ...batchOf(1)]
        expect(held).toEqual(all.slice(0, held.length))
        expect(held.length).toBeGreaterThanOrEqual(acknowledged * 3)
        for (const n of [0, 1].slice(acknowledged)) await store.append(KEY, batchOf(n))
        expect(await store.load(KEY)).toEqual(all)
      },
    })
    expect(tripped).toBeGreaterThan(50)
    await made.remove()
  }, 120_000)

  test('a delete that fails leaves what can be deleted again', async () => {
    const made = await tree()
    const projectsDir = made.path('projects')
    const sub = { ...KEY, subpath: 'subagents/agent-1' }
    await faultLoop({
      faults: ['EIO'],
      run: async () => {
        const store = fileSessionStore({ projectsDir, waitMs: 0 })
        await store.append(sub, batchOf(0))
        await store.delete(KEY)
      },
      verify: async (error) => {
        const store = fileSessionStore({ projectsDir, waitMs: 0 })
        if (error === undefined) expect(await store.load(KEY)).toBe(null)
        await store.delete(KEY)
        expect([await store.load(KEY), await store.load(sub)]).toEqual([null, null])
      },
    })
    await made.remove()
  })

  test('a mirror breaks no append, leaves no rejection unhandled, and has everything once it can read again', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (error: unknown): void => {
      unhandled.push(error)
    }
    process.on('unhandledRejection', onUnhandled)
    let made = await project(undefined)
    let store = memorySessionStore()
    const tripped = await faultLoop({
      faults: FAULTS,
      run: async () => {
        await made.remove()
        made = await project(undefined, {
          [`p/${SID}/subagents/agent-1.jsonl`]: '{"type":"user","uuid":"s"}\n',
        })
        store = memorySessionStore()
        const session = await newSession(made)
        const timers = new ManualTimers()
        const mirror = mirrorSession(session, store, { timers, timeoutMs: TIMEOUT_MS })
        let failure: unknown
        for (const content of ['one', 'two'])
          await session
            .append({ type: 'user', message: { role: 'user', content } })
            .catch((error: unknown) => (failure ??= error))
        const controller = new AbortController()
        const flushed = flushError(mirror, controller.signal)
        void timers.nextRetry().then(() => controller.abort())
        failure ??= await flushed
        await mirror.close()
        await session.close().catch((error: unknown) => (failure ??= error))
        if (failure !== undefined) throw failure
      },
      verify: async (failed) => {
        if (failed !== undefined) expect(isLociError(failed)).toBe(true)
        const isThere = (await made.snapshot())[`p/${SID}.jsonl`] !== undefined
        const records = isThere ? await recordsIn(made.file) : []
        const held = (await store.load(KEY)) ?? []
        expect(held).toEqual(records.slice(0, failed === undefined ? undefined : held.length))
        if (!isThere) return
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
        const again = mirrorSession(session, store)
        await again.flush()
        expect(await store.load(KEY)).toEqual(records.length === 0 ? null : records)
        expect(await store.load({ ...KEY, subpath: 'subagents/agent-1' })).toHaveLength(1)
        await again.close()
        await session.close()
      },
    })
    expect(tripped).toBeGreaterThan(20)
    expect(unhandled).toEqual([])
    process.off('unhandledRejection', onUnhandled)
    await made.remove()
  })
})
