import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setFaultHook } from '@loci/disk/testing'
import {
  archiveSession,
  createSession,
  forkSession,
  listSessions,
  openSession,
  renameSession,
  sessionInfo,
  tagSession,
  verifySession,
} from '@loci/session-jsonl'
import type { EntryDraft, Session } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import {
  appendForeign,
  assistant,
  call,
  jsonl,
  often,
  OTHER,
  project,
  result,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'

// What was reported of other products, and its kind: who writes to which session.

afterEach(() => setFaultHook(undefined))
const say = (content: unknown): EntryDraft => ({ type: 'user', message: { role: 'user', content } })
const answer = (said: string): EntryDraft => ({
  type: 'assistant',
  message: { role: 'assistant', content: [text(said)] },
})
const names = async (session: Session): Promise<string[]> => (await session.chain()).map(({ uuid }) => uuid)

describe('S04: one session in two terminals', () => {
  test('S04: the second is told at once who has it; fork and reading are open to it; of who is dead it takes over', async () => {
    const made = await project(jsonl(...straight(10)))
    const options = { projectDir: made.projectDir, sessionId: SID }
    const script = join(import.meta.dirname, 'hold-session.mjs')
    const first = spawn(process.execPath, [script, made.projectDir, SID], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const closed = once(first, 'close')
    const said = createInterface({ input: first.stdout })[Symbol.asyncIterator]()
    expect((await said.next()).value).toBe('m10')
    await expect(openSession(options)).rejects.toMatchObject({
      code: 'SESSION_LOCKED',
      details: { pid: first.pid, host: expect.any(String), decidable: true },
      message: expect.stringMatching(/fork it, or open it read-only/),
    })
    const reader = await openSession({ ...options, mode: 'read' })
    expect(reader.tip).toBe('m10')
    const fork = await forkSession(options)
    expect(await verifySession(fork.path)).toEqual([])
    // The first goes on undisturbed, and the reader sees it.
    first.stdin.write('one\n')
    const { value: tip } = await said.next()
    expect((await names(reader)).at(-1)).toBe(tip)
    await reader.close()
    first.kill('SIGKILL')
    await closed
    const second = await openSession(options)
    expect(second.tip).toBe(tip)
    await second.append(say('mine now'))
    expect(await second.chain()).toHaveLength(13)
    expect(await second.damage()).toEqual([])
    await second.close()
    await made.remove()
  })

  test('S04: where both wrote all the same, in turn: no line is lost, both ends are listed, and which is gone on from is said', async () => {
    const made = await project(jsonl(...straight(10)))
    const options = { projectDir: made.projectDir, sessionId: SID }
    const one = await openSession(options)
    await one.append({ ...say('one'), uuid: 'x1' })
    await appendForeign(made.file, user('y1', 'm10', 'two'))
    await one.append({ ...answer('to one'), uuid: 'x2' })
    await appendForeign(made.file, assistant('y2', 'y1', [text('to two')]))
    await one.append({ ...say('one more'), uuid: 'x3' })
    await appendForeign(made.file, user('y3', 'y2', 'two more'))
    await one.append({ ...answer('to one more'), uuid: 'x4' })
    await appendForeign(made.file, assistant('y4', 'y3', [text('to two more')]))
    await one.close()
    const resumed = await openSession(options)
    expect((await resumed.tips()).map(({ uuid, depth, current }) => [uuid, depth, current])).toEqual([
      ['y4', 14, true],
      ['x4', 14, false],
    ])
    for (const end of ['x', 'y']) {
      const chain = await resumed.chain(`${end}4`)
      expect(chain.slice(10).map(({ uuid }) => uuid)).toEqual([1, 2, 3, 4].map((n) => `${end}${n}`))
    }
    expect(await resumed.damage()).toEqual([])
    await resumed.append(say('on'))
    await resumed.close()
    // What is chosen once is chosen again, though the other end is older and as long.
    const again = await openSession({ ...options, mode: 'read' })
    expect((await names(again)).slice(-2, -1)).toEqual(['y4'])
    await again.close()
    await made.remove()
  })
})

describe('S21: a fork and its source', () => {
  test('S21: at the first, in the middle, at the tip, of a fork; renamed, both gone on with, the source deleted', async () => {
    const titled = { type: 'custom-title', customTitle: 'Source', sessionId: SID }
    const made = await project(jsonl(...straight(6), titled))
    const source = { projectDir: made.projectDir, sessionId: SID }
    const before = await readFile(made.file)
    const at = async (sessionId: string, upTo?: string): Promise<string> =>
      (await forkSession({ ...source, sessionId, ...(upTo === undefined ? {} : { upTo }) })).sessionId
    const first = await at(SID, 'm1')
    const middle = await at(SID, 'm3')
    const tip = await at(SID)
    const ofFork = await at(middle, 'm2')
    const expected = new Map([
      [first, 1],
      [middle, 3],
      [tip, 6],
      [ofFork, 2],
    ])
    await renameSession({ ...source, sessionId: tip, title: 'Fork' })
    expect(await readFile(made.file)).toEqual(before)
    for (const sessionId of [SID, ...expected.keys()]) {
      const session = await openSession({ ...source, sessionId })
      await session.append(say(`on in ${sessionId}`))
      await session.close()
    }
    const list = await listSessions({ projectsDir: made.root })
    expect(list).toHaveLength(5)
    const byId = new Map(list.map((info) => [info.sessionId, info]))
    expect(byId.get(SID)).toMatchObject({ customTitle: 'Source', lastPrompt: `on in ${SID}` })
    expect(byId.get(tip)).toMatchObject({ customTitle: 'Fork', lastPrompt: `on in ${tip}`, forkedFrom: SID })
    expect(byId.get(ofFork)).toMatchObject({ forkedFrom: middle })
    expect((await readFile(made.file)).subarray(0, before.length)).toEqual(before)
    await rm(made.file)
    for (const [sessionId, length] of expected) {
      const path = made.path(`p/${sessionId}.jsonl`)
      const ids = [...(await readFile(path, 'utf8')).matchAll(/"sessionId":"([^"]+)"/g)].map(([, id]) => id)
      expect(new Set(ids)).toEqual(new Set([sessionId]))
      const resumed = await openSession({ ...source, sessionId })
      expect((await names(resumed)).slice(0, length)).toEqual(straight(length).map(({ uuid }) => uuid))
      expect(await resumed.chain()).toHaveLength(length + 1)
      await resumed.append(answer('still here'))
      await resumed.close()
      expect(await verifySession(path)).toEqual([])
    }
    await made.remove()
  })
})

describe('S22: one process that switches between sessions', () => {
  test('S22: with twenty writes of the first still queued, back again, and in the middle of a turn', async () => {
    const made = await project(undefined)
    const options = { projectDir: made.projectDir }
    let a = await createSession({ ...options, sessionId: SID })
    await a.append(say('a'))
    await a.append(answer('a'))
    const queued = Array.from({ length: 20 }, () => a.append(say('a')))
    const leaving = a.close()
    const b = await createSession({ ...options, sessionId: OTHER })
    await b.append(say('b'))
    await b.append(answer('b'))
    await leaving
    await Promise.all(queued)
    a = await openSession({ ...options, sessionId: SID })
    await a.append(say('a'))
    // A turn of the one is under way while the other is written to.
    await a.append({ type: 'assistant', message: { role: 'assistant', content: [call('ta')], id: 'msg' } })
    await b.append(say('b'))
    await a.append(say([result('ta', 'a')]))
    await Promise.all([a.append(answer('a')), b.append(answer('b')), a.record({ type: 'x-note', of: 'a' })])
    for (const [session, id, said, length] of [
      [a, SID, 'a', 26],
      [b, OTHER, 'b', 4],
    ] as const) {
      expect(await session.chain()).toHaveLength(length)
      await session.close()
      const lines = (await made.read(`p/${id}.jsonl`)).trim().split('\n')
      for (const line of lines) {
        expect(JSON.parse(line)).toMatchObject({ sessionId: id })
        expect(line).not.toContain(said === 'a' ? '"b"' : '"a"')
      }
      expect(await verifySession(made.path(`p/${id}.jsonl`))).toEqual([])
    }
    await made.remove()
  })

  test('S22: a line of another session is refused on writing and flagged on reading', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    const before = await readFile(made.file)
    await expect(session.append({ ...say('x'), sessionId: OTHER })).rejects.toMatchObject({
      code: 'ENTRY_INVALID',
    })
    await expect(session.record({ type: 'tag', sessionId: OTHER })).rejects.toMatchObject({
      code: 'ENTRY_INVALID',
    })
    await session.close()
    expect(await readFile(made.file)).toEqual(before)
    await appendForeign(made.file, { ...user('m3', 'm2', 'x'), sessionId: OTHER })
    expect(await verifySession(made.file)).toMatchObject([{ kind: 'foreign-session', line: 3 }])
    await made.remove()
  })

  test('S22: whatever is asked of however many sessions at once, each keeps its own lines, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { maxLength: 40 }), async (turns) => {
        const made = await project(undefined)
        const sessions = await Promise.all(
          [0, 1, 2, 3].map((n) =>
            createSession({ projectDir: made.projectDir, sessionId: `${n}${SID.slice(1)}` }),
          ),
        )
        await Promise.all(turns.map((n, index) => sessions[n]?.append(say(`${index}`))))
        for (const [n, session] of sessions.entries()) {
          const said = (await session.chain()).map(({ message }) => message)
          const own = turns.flatMap((turn, index) =>
            turn === n ? [{ role: 'user', content: `${index}` }] : [],
          )
          expect(said).toEqual(own)
          await session.close()
        }
        await made.remove()
      }),
      { numRuns: often(100, 15) },
    )
  })
})

describe('S26: a full disk', () => {
  const full = (): void =>
    setFaultHook((operation) =>
      operation === 'write' ? Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }) : undefined,
    )
  const acts: [name: string, act: (projectDir: string) => Promise<unknown>][] = [
    [
      'append',
      async (projectDir) => {
        const session = await openSession({ projectDir, sessionId: SID })
        try {
          return await session.append(say('x'))
        } finally {
          await session.close()
        }
      },
    ],
    ['rename', (projectDir) => renameSession({ projectDir, sessionId: SID, title: 'x' })],
    ['tag', (projectDir) => tagSession({ projectDir, sessionId: SID, tag: 'x' })],
    ['archive', (projectDir) => archiveSession({ projectDir, sessionId: SID })],
    ['fork', (projectDir) => forkSession({ projectDir, sessionId: SID, newSessionId: OTHER })],
  ]
  test.each(acts)(
    'S26: %s: a typed error, nothing cut or empty, and it goes through once there is room',
    async (_name, act) => {
      const made = await project(jsonl(...straight(4)), { [`p/${SID}/archived.json`]: '{"archived":false}' })
      const before = await made.snapshot()
      full()
      await expect(act(made.projectDir)).rejects.toMatchObject({ code: 'DISK_FULL' })
      setFaultHook(undefined)
      const after = await made.snapshot()
      for (const [name, file] of Object.entries(before)) expect(after[name]).toEqual(file)
      for (const [name, file] of Object.entries(after))
        if (!name.includes('.lock.')) expect('text' in file && file.text).not.toBe('')
      expect(await verifySession(made.file)).toEqual([])
      await act(made.projectDir)
      expect(await verifySession(made.file)).toEqual([])
      await made.remove()
    },
  )
})

describe('S28: results that are sent replaced', () => {
  const replace = (...ids: string[]): Line => ({
    type: 'content-replacement',
    sessionId: SID,
    replacements: ids.map((toolUseId) => ({
      kind: 'tool-result',
      toolUseId,
      replacement: `short ${toolUseId}`,
    })),
    uuid: `of ${ids.join()}`,
    timestamp: '2026-01-01T00:00:00.000Z',
  })
  const lines = [
    user('m1', null, 'go'),
    ...['t1', 't2', 't3'].flatMap((id, n) => [
      assistant(`a${n}`, n === 0 ? 'm1' : `r${n - 1}`, [call(id)], { id: `msg${n}` }),
      user(`r${n}`, `a${n}`, [result(id, `long ${id} `.repeat(5_000))]),
    ]),
    replace('t1'),
    replace('t3'),
    assistant('m9', 'r2', [text('done')]),
  ]
  test('S28: three large results, two replaced: the same bytes each time, after fork, compaction, loss of the full output; reading writes nothing', async () => {
    const made = await project(jsonl(...lines), { [`p/${SID}/tool-results/t1.txt`]: 'long' })
    const before = await made.snapshot()
    const sent = async (sessionId = SID): Promise<string> => {
      const session = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
      const messages = await session.conversation()
      await expect(session.record({ type: 'content-replacement', replacements: [] })).rejects.toMatchObject({
        code: 'SESSION_READ_ONLY',
      })
      await session.close()
      return JSON.stringify(messages)
    }
    const first = await sent()
    expect(first).toContain('"short t1"')
    expect(first).toContain('"short t3"')
    expect(first).toContain('long t2 long t2')
    expect(first).not.toMatch(/long t[13]/)
    expect(await sent()).toBe(first)
    expect(await made.snapshot()).toEqual(before)
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    const part = await forkSession({ projectDir: made.projectDir, sessionId: SID, upTo: 'r1' })
    await rm(made.path(`p/${SID}/tool-results`), { recursive: true })
    expect(await sent()).toBe(first)
    expect(await sent(fork.sessionId)).toBe(first)
    expect(await made.read(`p/${part.sessionId}.jsonl`)).not.toContain('t3')
    expect(first.startsWith((await sent(part.sessionId)).slice(0, -1))).toBe(true)
    const compaction = [
      {
        ...user('b', null, ''),
        type: 'system',
        subtype: 'compact_boundary',
        logicalParentUuid: 'm9',
        compactMetadata: { preservedSegment: { headUuid: 'a0', anchorUuid: 's', tailUuid: 'm9' } },
      },
      user('s', 'b', 'go', { isCompactSummary: true }),
    ]
    await appendForeign(made.file, ...compaction)
    expect(await sent()).toBe(first)
    expect(await sessionInfo(made.file)).toMatchObject({ damaged: false })
    await made.remove()
  })
})
