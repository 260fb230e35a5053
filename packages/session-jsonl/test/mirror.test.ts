import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { memorySessionStore, mirrorSession, openSession } from '@loci/session-jsonl'
import type { MirrorOptions, SessionStore, SessionStoreEntry } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonl, often, project, SID, straight } from './lines.ts'
import {
  flushError,
  forgetfulStore,
  KEY,
  ManualTimers,
  newSession,
  recordsIn,
  say,
  TIMEOUT_MS,
  TroubledStore,
} from './mirror-room.ts'

type Project = Awaited<ReturnType<typeof project>>
let made: Project
const unhandled: unknown[] = []
const onUnhandled = (error: unknown): void => {
  unhandled.push(error)
}

beforeEach(async () => {
  made = await project(undefined)
  process.on('unhandledRejection', onUnhandled)
})
afterEach(async () => {
  await made.remove()
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled.splice(0)).toEqual([])
})

const manual = (more: MirrorOptions = {}): MirrorOptions & { timers: ManualTimers } => ({
  timeoutMs: TIMEOUT_MS,
  random: () => 0,
  ...more,
  timers: new ManualTimers(),
})

describe('what reaches the store', () => {
  test('everything there is, and everything that comes, in file order, deep-equal', async () => {
    const session = await newSession(made)
    await say(session, 'before the mirror')
    const store = memorySessionStore()
    const mirror = mirrorSession(session, store)
    await mirror.flush()
    expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
    for (const text of ['one', 'two \u2028 \uD800', 'three']) await say(session, text)
    await session.moveTip(null)
    await mirror.flush()
    expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
    expect(mirror.lag).toBe(0)
    expect(mirror.lastError).toBe(undefined)
    await mirror.close()
    await session.close()
  })

  test('an append is sent without a flush; a session without a file has nothing to send', async () => {
    const session = await newSession(made)
    const store = new TroubledStore()
    const mirror = mirrorSession(session, store)
    await mirror.flush()
    expect(store.batches).toEqual([])
    expect(await store.load(KEY)).toBe(null)
    const called = store.called()
    await say(session, 'one')
    expect(mirror.lag).toBeGreaterThan(0)
    await called
    await mirror.close()
    await session.close()
  })

  test('only what it lacks, with and without uuids, whatever order it gives fields in', async () => {
    const lines = [
      ...straight(3),
      { type: 'mode', mode: 'a', sessionId: SID },
      { type: 'mode', mode: 'a', sessionId: SID },
    ]
    await writeFile(made.file, jsonl(...lines, ...straight(2).map((line, n) => ({ ...line, uuid: `n${n}` }))))
    const all = await recordsIn(made.file)
    const inner = memorySessionStore()
    await inner.append(
      KEY,
      all.slice(0, 4).map((one) => Object.fromEntries(Object.entries(one).toReversed()) as SessionStoreEntry),
    )
    const store = new TroubledStore(inner)
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    const mirror = mirrorSession(session, store)
    await mirror.flush()
    expect(store.batches).toEqual([all.slice(4)])
    // In step with the store it is not asked again.
    await mirror.flush()
    expect([store.batches.length, store.loads]).toEqual([1, 1])
    await mirror.close()
    await session.close()
  })

  test('lines of other programs come with the next flush; a torn one, and one without its end, do not', async () => {
    const session = await newSession(made)
    const store = memorySessionStore()
    const mirror = mirrorSession(session, store)
    await say(session, 'one')
    await appendFile(
      session.path,
      '{"type":"tag","tag":"x"}\n{"type":"user","uu\n{"type":"tag","tag":"y"}\n{"type":"tag","ta',
    )
    await mirror.flush()
    expect((await store.load(KEY))?.slice(-2)).toEqual([
      { type: 'tag', tag: 'x' },
      { type: 'tag', tag: 'y' },
    ])
    expect(mirror.lag).toBe(0)
    await appendFile(session.path, 'g":"z"}\n')
    await mirror.flush()
    expect((await store.load(KEY))?.at(-1)).toEqual({ type: 'tag', tag: 'z' })
    await mirror.close()
    await session.close()
  })

  test('no more is held at a time than maxQueueBytes, but one longer line', async () => {
    const session = await newSession(made)
    for (let n = 0; n < 30; n += 1) await say(session, 'x'.repeat(n === 20 ? 9_000 : 100))
    const store = new TroubledStore()
    const mirror = mirrorSession(session, store, { maxQueueBytes: 1_500 })
    await mirror.flush()
    expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
    const sizes = store.batches.map((batch) => jsonl(...batch).length)
    expect(Math.max(...sizes)).toBeLessThan(12_000)
    expect(sizes.filter((size) => size > 3_000)).toHaveLength(1)
    await mirror.close()
    await session.close()
    expect(() => mirrorSession(session, store, { maxQueueBytes: 0 })).toThrow(TypeError)
    for (const none of [undefined, null, {}, { append: () => undefined }, { load: () => undefined }])
      expect(() => mirrorSession(session, none as unknown as SessionStore)).toThrow(
        new TypeError('store must have the methods append and load'),
      )
  })

  test('subagents under their subpath, with what describes them whenever that changes', async () => {
    const session = await newSession(made)
    await say(session, 'one')
    const store = memorySessionStore()
    const mirror = mirrorSession(session, store, { projectKey: 'other' })
    await mirror.flush()
    const folder = made.path(`p/${SID}/subagents`)
    await mkdir(`${folder}/deep`, { recursive: true })
    await writeFile(`${folder}/agent-1.jsonl`, jsonl(...straight(2)))
    await writeFile(`${folder}/deep/agent-2.jsonl`, jsonl(...straight(1)))
    const described = (finished: boolean) => ({ type: 'agent_metadata', agentType: 'a', finished })
    const describeAgent = async (fields: object): Promise<void> => {
      await writeFile(`${folder}/agent-1.meta.json`, JSON.stringify(fields))
      await mirror.flush()
    }
    await describeAgent({ agentType: 'a', finished: false })
    await describeAgent({ agentType: 'a', finished: true })
    await describeAgent({ agentType: 'a', finished: false })
    // What has not changed is not sent again, though the transcript grows.
    await appendFile(`${folder}/agent-1.jsonl`, '{"type":"mode","mode":"x"}\n')
    await mirror.flush()
    await mirror.close()
    const again = mirrorSession(session, store, { projectKey: 'other' })
    await again.flush()
    await again.close()
    await writeFile(`${folder}/agent-1.meta.json`, JSON.stringify({ agentType: 'a', finished: true }))
    const third = mirrorSession(session, store, { projectKey: 'other' })
    await third.flush()
    await third.close()
    const key = { projectKey: 'other', sessionId: SID }
    expect((await store.listSubkeys(key)).toSorted()).toEqual(['subagents/agent-1', 'subagents/deep/agent-2'])
    expect((await store.load({ ...key, subpath: 'subagents/agent-1' }))?.slice(2)).toEqual([
      ...[false, true, false].map(described),
      { type: 'mode', mode: 'x' },
      described(true),
    ])
    expect(await store.load({ ...key, subpath: 'subagents/deep/agent-2' })).toHaveLength(1)
    await session.close()
  })

  test('a file that another one took the place of is compared anew', async () => {
    await writeFile(made.file, jsonl(...straight(3)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    const store = memorySessionStore()
    const mirror = mirrorSession(session, store)
    await mirror.flush()
    await rm(made.file)
    await mirror.flush()
    expect(mirror.lag).toBe(0)
    const longer = straight(6).map((line, n) => ({ ...line, uuid: n < 2 ? line['uuid'] : `other${n}` }))
    await writeFile(made.file, jsonl(...longer))
    await mirror.flush()
    const uuids = ((await store.load(KEY)) ?? []).map(({ uuid }) => uuid)
    expect(uuids).toEqual(['m1', 'm2', 'm3', 'other2', 'other3', 'other4', 'other5'])
    await mirror.close()
    await session.close()
  })
})

describe('a store that fails', () => {
  test('is tried again after waits that grow to a limit; appends go on; nothing is lost or doubled', async () => {
    const session = await newSession(made)
    const options = manual({ firstRetryMs: 100, mostRetryMs: 1_000 })
    const store = new TroubledStore()
    store.trouble = Array.from({ length: 7 }, () => 'refuses')
    await say(session, 'before')
    const mirror = mirrorSession(session, store, options)
    const waits: number[] = []
    for (let n = 0; n < 7; n += 1) {
      waits.push(await options.timers.nextRetry())
      expect(mirror.lastError).toEqual(new Error('the store refuses'))
      await say(session, `while it fails ${n}`)
      // An append does not call a store that is being waited with.
      expect(options.timers.waits).toHaveLength(1)
      expect(mirror.lag).toBeGreaterThan(0)
      options.timers.runOut()
    }
    await mirror.flush()
    expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000])
    expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
    expect([mirror.lag, mirror.lastError]).toEqual([0, undefined])
    // After a success the waits begin anew; chance makes them up to half as long.
    store.trouble = ['refuses']
    await say(session, 'again')
    expect(await options.timers.nextRetry()).toBe(100)
    await mirror.close()
    await session.close()
    expect(options.timers.waits).toEqual([])
  })

  test('chance shortens a wait by up to a half', async () => {
    const session = await newSession(made)
    await say(session, 'one')
    for (const [random, ms] of [
      [0, 100],
      [0.5, 75],
      [1, 50],
    ] as const) {
      const options = manual({ firstRetryMs: 100, random: () => random })
      const store = new TroubledStore()
      store.trouble = ['refuses']
      const mirror = mirrorSession(session, store, options)
      expect(await options.timers.nextRetry()).toBe(ms)
      await mirror.close()
    }
    await session.close()
  })

  test.each([
    ['that knows uuids', () => memorySessionStore()],
    ['that keeps whatever it is given', () => forgetfulStore()],
  ])('and loses answers, a store %s holds everything once', async (_what, make) => {
    const session = await newSession(made)
    const store = new TroubledStore(make())
    store.trouble = [
      'well',
      'loses the answer',
      'well',
      'loses the answer',
      'refuses',
      'well',
      'loses the answer',
    ]
    const options = manual({ maxQueueBytes: 700 })
    for (let n = 0; n < 6; n += 1) await say(session, `entry ${n}`)
    const mirror = mirrorSession(session, store, options)
    for (let n = 0; n < 4; n += 1) {
      await options.timers.nextRetry()
      await say(session, `more ${n}`)
      options.timers.runOut()
    }
    await mirror.flush()
    expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
    await mirror.close()
    await session.close()
  })

  test('and loses an answer when all was well before holds nothing twice', async () => {
    const session = await newSession(made)
    const store = new TroubledStore(forgetfulStore())
    const options = manual()
    const mirror = mirrorSession(session, store, options)
    await say(session, 'one')
    await mirror.flush()
    store.trouble = ['loses the answer']
    await session.append({ type: 'user', message: { role: 'user', content: 'two' } })
    await options.timers.nextRetry()
    options.timers.runOut()
    await mirror.flush()
    expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
    await mirror.close()
    await session.close()
  })

  test.each(['load', 'append'])(
    'and hangs in %s holds up no append, and is asked again when its time is up',
    async (call) => {
      const session = await newSession(made)
      const options = manual()
      const store = new TroubledStore()
      store.trouble = call === 'load' ? ['hangs'] : ['well', 'hangs']
      await say(session, 'one')
      const mirror = mirrorSession(session, store, options)
      await store.called()
      if (call === 'append') await store.called()
      const flushed = mirror.flush()
      await say(session, 'two')
      expect(mirror.lag).toBeGreaterThan(0)
      expect(options.timers.waits.map(({ ms }) => ms)).toEqual([TIMEOUT_MS])
      options.timers.runOut()
      await options.timers.nextRetry()
      expect(mirror.lastError).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      options.timers.runOut()
      await flushed
      expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
      await mirror.close()
      await session.close()
    },
  )

  test('and throws instead of rejecting breaks nothing', async () => {
    const session = await newSession(made)
    const options = manual()
    const store: SessionStore = {
      append: () => {
        throw new Error('thrown')
      },
      load: async () => null,
    }
    const mirror = mirrorSession(session, store, options)
    await mirror.flush()
    await say(session, 'one')
    await options.timers.nextRetry()
    expect(mirror.lastError).toEqual(new Error('thrown'))
    await mirror.close()
    await session.close()
  })

  test('for one transcript holds up the others not', async () => {
    const session = await newSession(made)
    await say(session, 'one')
    const folder = made.path(`p/${SID}/subagents`)
    await mkdir(folder, { recursive: true })
    for (const n of [1, 2, 3]) await writeFile(`${folder}/agent-${n}.jsonl`, jsonl(...straight(2)))
    const inner = memorySessionStore()
    const store: SessionStore = {
      append: async (key, entries) => {
        if (key.subpath === 'subagents/agent-2') throw new Error('refused')
        await inner.append(key, entries)
      },
      load: (key) => inner.load(key),
    }
    const options = manual()
    const mirror = mirrorSession(session, store, options)
    await options.timers.nextRetry()
    expect(await inner.load(KEY)).toHaveLength(2)
    expect(await inner.listSubkeys(KEY)).toEqual(['subagents/agent-1', 'subagents/agent-3'])
    await mirror.close()
    await session.close()
  })
})

describe('flush and close', () => {
  test('flush tries at once, waits through failures, and ends with its signal or the mirror', async () => {
    const session = await newSession(made)
    await say(session, 'one')
    const options = manual()
    const store = new TroubledStore()
    store.trouble = Array.from({ length: 3 }, () => 'refuses')
    const mirror = mirrorSession(session, store, options)
    await options.timers.nextRetry()
    const controller = new AbortController()
    const [first, second] = [flushError(mirror, controller.signal), flushError(mirror)]
    expect(await options.timers.nextRetry()).toBe(1_000)
    controller.abort()
    expect(await first).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/; it goes on; flush again$/),
      cause: new Error('the store refuses'),
      details: { sessionId: SID, lag: mirror.lag },
    })
    expect(await flushError(mirror, controller.signal)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/; it goes on; flush again$/),
    })
    await mirror.close()
    const ended = {
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/; mirror the session again$/),
    }
    expect(await second).toMatchObject(ended)
    expect(await flushError(mirror)).toMatchObject(ended)
    expect(options.timers.waits).toEqual([])
    await say(session, 'after the mirror')
    await session.close()
  })

  test('close waits for no store that hangs, and nothing is sent after it', async () => {
    const session = await newSession(made)
    await say(session, 'one')
    const options = manual()
    const store = new TroubledStore()
    store.trouble = ['well', 'hangs']
    const mirror = mirrorSession(session, store, options)
    await store.called()
    await store.called()
    const flushed = flushError(mirror)
    await mirror.close()
    expect(await flushed).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await say(session, 'two')
    expect(store.batches).toHaveLength(1)
    expect(options.timers.waits).toEqual([])
    await session.close()
  })

  test('a flush while the store answers slowly waits for what came meanwhile', async () => {
    const session = await newSession(made)
    await say(session, 'one')
    const inner = memorySessionStore()
    let answer = (): void => undefined
    let isCalled = (): void => undefined
    const called = new Promise<void>((resolve) => (isCalled = resolve))
    const slow = new Promise<void>((resolve) => (answer = resolve))
    const store: SessionStore = {
      append: async (key, entries) => {
        isCalled()
        await slow
        await inner.append(key, entries)
      },
      load: (key) => inner.load(key),
    }
    const mirror = mirrorSession(session, store)
    await called
    await say(session, 'two')
    const flushed = mirror.flush()
    answer()
    await flushed
    expect(await inner.load(KEY)).toEqual(await recordsIn(session.path))
    await mirror.close()
    await session.close()
  })

  test('a flush during a round waits for what was appended before it', async () => {
    const session = await newSession(made)
    const store = memorySessionStore()
    const mirror = mirrorSession(session, store)
    for (let n = 0; n < 20; n += 1) {
      await say(session, `entry ${n}`)
      const flushed = mirror.flush()
      void say(session, `meanwhile ${n}`)
      const expected = 2 * n + 1
      await flushed
      const prompts = ((await store.load(KEY)) ?? []).filter(({ type }) => type === 'user')
      expect(prompts.length).toBeGreaterThanOrEqual(expected)
    }
    await mirror.close()
    await session.close()
  })
})

test('two mirrors of one session into one store: each entry once', async () => {
  const session = await newSession(made)
  const store = memorySessionStore()
  const mirrors = [mirrorSession(session, store), mirrorSession(session, store)]
  for (let n = 0; n < 10; n += 1)
    await session.append({ type: 'user', message: { role: 'user', content: `${n}` } })
  await Promise.all(mirrors.map((mirror) => mirror.flush()))
  expect(await store.load(KEY)).toEqual(await recordsIn(session.path))
  for (const mirror of mirrors) await mirror.close()
  await session.close()
})

test('whatever goes wrong in whatever order: in the end the store holds the file, each record once, in order', async () => {
  const trouble = fc.constantFrom(
    'refuses' as const,
    'loses the answer' as const,
    'hangs' as const,
    'well' as const,
  )
  const step = fc.constantFrom('append', 'record', 'time', 'flush', 'mirror again')
  await fc.assert(
    fc.asyncProperty(
      fc.array(trouble, { maxLength: 12 }),
      fc.array(step, { maxLength: 25 }),
      async (troubles, steps) => {
        const own = await project(undefined)
        const session = await newSession(own)
        const store = new TroubledStore(forgetfulStore())
        store.trouble = [...troubles]
        const options = manual({ maxQueueBytes: 400 })
        let mirror = mirrorSession(session, store, options)
        for (const what of steps) {
          if (what === 'append')
            await session.append({ type: 'user', message: { role: 'user', content: 'x' } })
          if (what === 'record') await session.record({ type: 'mode', mode: 'default' })
          if (what === 'time') options.timers.runOut()
          if (what === 'flush') void flushError(mirror)
          if (what === 'mirror again') {
            await mirror.close()
            mirror = mirrorSession(session, store, options)
          }
        }
        store.trouble = []
        const flushed = mirror.flush()
        // A call that hangs still is given up.
        options.timers.hurry()
        await flushed
        const records = steps.some((what) => what === 'append' || what === 'record')
          ? await recordsIn(session.path)
          : null
        expect(await store.load(KEY)).toEqual(records)
        await mirror.close()
        await session.close()
        await own.remove()
      },
    ),
    { numRuns: often(300, 40), endOnFailure: true },
  )
})
