import { readFile, rm, writeFile } from 'node:fs/promises'
import { forkSession, openSession, renameSession, sessionInfo, verifySession } from '@loci/session-jsonl'
import type { Compaction, ContentBlock, ModelMessage, Session } from '@loci/session-jsonl'
import { faultLoop, setFaultHook } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertAccepted } from './accepted.ts'
import {
  assistant,
  call,
  entry as lineOf,
  jsonl,
  LONG_ENOUGH,
  often,
  project,
  result,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'
import { healthyTranscript } from './random-transcript.ts'

const say = (content: string) => ({ type: 'user' as const, message: { role: 'user', content } })
const names = async (session: Session): Promise<string[]> => (await session.chain()).map(({ uuid }) => uuid)
const blocksOf = (messages: readonly ModelMessage[]): ContentBlock[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )

/** Opens a session of these lines for writing. */
async function writing<T>(
  lines: readonly Line[],
  act: (session: Session, made: { projectDir: string; file: string }) => Promise<T>,
): Promise<T> {
  const made = await project(jsonl(...lines))
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  try {
    return await act(session, made)
  } finally {
    await session.close()
    await made.remove()
  }
}

/** A thought and two calls at once, whose results hang beside the path. */
const withCalls: Line[] = [
  ...straight(4),
  user('p', 'm4', 'look'),
  assistant('a1', 'p', [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }], { id: 'msg' }),
  assistant('a2', 'a1', [call('t1')], { id: 'msg' }),
  assistant('a3', 'a2', [call('t2')], { id: 'msg' }),
  user('r2', 'a3', [result('t2')], { sourceToolAssistantUUID: 'a3' }),
  user('r1', 'a2', [result('t1')], { sourceToolAssistantUUID: 'a2' }),
  lineOf('attachment', 'n', 'r1', { attachment: { type: 'date', date: '2026-01-02' } }),
  assistant('z', 'n', [text('seen')], { id: 'msg2' }),
]

describe('compact', () => {
  test('the summary, what is kept, and what comes after; the lines are those of the format', () =>
    writing(straight(6), async (session, { file }) => {
      const before = await readFile(file, 'utf8')
      const metadata = { trigger: 'manual', preTokens: 9, postTokens: 1 }
      const { boundary, summary } = await session.compact({ summary: 'In short.', keepFrom: 'm5', metadata })
      expect(session.tip).toBe(summary.uuid)
      expect(await names(session)).toEqual([boundary.uuid, summary.uuid, 'm5', 'm6'])
      const after = await readFile(file, 'utf8')
      expect(after.startsWith(before)).toBe(true)
      const added = after.slice(before.length).trimEnd().split('\n')
      expect(added.map((line): unknown => JSON.parse(line))).toEqual([boundary, summary])
      expect(boundary).toMatchObject({
        type: 'system',
        subtype: 'compact_boundary',
        parentUuid: null,
        logicalParentUuid: 'm6',
        compactMetadata: {
          ...metadata,
          preservedSegment: { headUuid: 'm5', anchorUuid: summary.uuid, tailUuid: 'm6' },
          preservedMessages: { anchorUuid: summary.uuid, uuids: ['m5', 'm6'], allUuids: ['m5', 'm6'] },
        },
      })
      expect(summary).toMatchObject({
        parentUuid: boundary.uuid,
        isCompactSummary: true,
        isVisibleInTranscriptOnly: true,
        message: { role: 'user', content: 'In short.' },
      })
      const next = await session.append(say('on'))
      expect(next.parentUuid).toBe(summary.uuid)
      expect((await session.conversation()).map(({ content }) => content)).toEqual([
        [text('In short.'), text('say m5')],
        [text('said m6')],
        'on',
      ])
    }))

  test('with nothing kept, and again: each stands for what was before it', () =>
    writing(straight(4), async (session) => {
      await session.compact({ summary: 'one' })
      expect(await session.conversation()).toEqual([{ role: 'user', content: 'one' }])
      const { uuid } = await session.append(say('on'))
      const { boundary, summary } = await session.compact({ summary: 'two', keepFrom: uuid })
      expect(await names(session)).toEqual([boundary.uuid, summary.uuid, uuid])
      const third = await session.compact({ summary: 'three', keepFrom: uuid })
      expect(await names(session)).toEqual([third.boundary.uuid, third.summary.uuid, uuid])
      expect(await session.damage()).toEqual([])
      expect((await session.tips()).map((tip) => tip.uuid)).toEqual([third.summary.uuid])
    }))

  test.each(['a1', 'a2', 'a3', 'r2', 'r1', 'n'])(
    'from %s on: neither a message nor a call and its result are torn',
    (keepFrom) =>
      writing(withCalls, async (session) => {
        const { boundary } = await session.compact({ summary: 'short', keepFrom })
        const own = keepFrom === 'n' ? ['n', 'z'] : ['a1', 'a2', 'a3', 'r2', 'r1', 'n', 'z']
        expect((await names(session)).slice(2)).toEqual(own)
        expect(boundary['compactMetadata']).toMatchObject({ preservedMessages: { allUuids: own } })
        const sent = await session.conversation()
        assertAccepted(sent)
        expect(JSON.stringify(sent)).not.toContain('Interrupted.')
        expect(sent.some(({ content }) => JSON.stringify(content).includes('c2ln'))).toBe(keepFrom !== 'n')
      }),
  )

  test('an older summary is not kept as a message, nor is a boundary without one', () =>
    writing(
      [...straight(2), lineOf('system', 'b', null, { subtype: 'compact_boundary', logicalParentUuid: 'm2' })],
      async (session) => {
        await session.append(say('on'))
        expect((await names(session)).slice(0, 3)).toEqual(['m1', 'm2', 'b'])
        const first = await session.compact({ summary: 'one', keepFrom: 'm2' })
        expect((await names(session)).slice(2, -1)).toEqual(['m2'])
        const second = await session.compact({ summary: 'two', keepFrom: first.summary.uuid })
        expect((await names(session))[1]).toBe(second.summary.uuid)
        expect((await names(session)).slice(2, -1)).toEqual(['m2'])
      },
    ))

  test('where it was moved to is what is closed; the branches stay ends', () =>
    writing(straight(6), async (session) => {
      await session.moveTip('m4')
      const { boundary, summary } = await session.compact({ summary: 'short', keepFrom: 'm4' })
      expect(boundary['logicalParentUuid']).toBe('m4')
      expect(await names(session)).toEqual([boundary.uuid, summary.uuid, 'm4'])
      expect((await session.tips()).map(({ uuid }) => uuid)).toEqual([summary.uuid, 'm6'])
      await session.moveTip('m4')
      expect(await names(session)).toEqual(['m1', 'm2', 'm3', 'm4'])
    }))

  test('who opens it, forks it or lists it finds the same', () =>
    writing(withCalls, async (session, { projectDir, file }) => {
      await renameSession({ projectDir, sessionId: SID, title: 'Mine' })
      await session.compact({ summary: 'short', keepFrom: 'p' })
      const sent = await session.conversation()
      const chain = await session.chain()
      const reader = await openSession({ projectDir, sessionId: SID, mode: 'read' })
      expect(reader.tip).toBe(session.tip)
      expect(await reader.chain()).toEqual(chain)
      await reader.close()
      expect(await verifySession(file)).toEqual([])
      const { sessionId, path } = await forkSession({ projectDir, sessionId: SID })
      const fork = await openSession({ projectDir, sessionId, mode: 'read' })
      expect(await fork.conversation()).toEqual(sent)
      expect(await fork.chain('z')).toHaveLength(withCalls.length)
      await fork.close()
      expect(await verifySession(path)).toEqual([])
      expect(await sessionInfo(file)).toMatchObject({
        customTitle: 'Mine',
        firstPrompt: 'say m1',
        damaged: false,
      })
    }))

  test('what is called beside it keeps its order', () =>
    writing(straight(4), async (session) => {
      const calls = [
        session.append(say('before')),
        session.compact({ summary: 'short', keepFrom: 'm4' }),
        session.append(say('after')),
      ] as const
      const [before, { boundary, summary }, after] = await Promise.all(calls)
      expect(await names(session)).toEqual([boundary.uuid, summary.uuid, 'm4', before.uuid, after.uuid])
    }))

  test.each<[string, string, Partial<Compaction>]>([
    ['without a summary', 'ENTRY_INVALID', { summary: ' \n' }],
    ['of what is elsewhere', 'ENTRY_NOT_FOUND', { keepFrom: 'm6' }],
    ['of what is nowhere', 'ENTRY_NOT_FOUND', { keepFrom: 'nowhere' }],
  ])('%s it is refused, and nothing changes', (_name, code, wrong) =>
    writing(straight(6), async (session, { file }) => {
      await session.moveTip('m4')
      const before = await readFile(file, 'utf8')
      await expect(session.compact({ summary: 'short', ...wrong })).rejects.toMatchObject({ code })
      expect([session.tip, await readFile(file, 'utf8')]).toEqual(['m4', before])
    }),
  )

  test('an empty conversation, a closed or read-only session is refused', () =>
    writing(straight(2), async (session, { projectDir }) => {
      const reader = await openSession({ projectDir, sessionId: SID, mode: 'read' })
      await expect(reader.compact({ summary: 's' })).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
      await reader.close()
      await session.moveTip(null)
      await expect(session.compact({ summary: 's' })).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
      await session.close()
      await expect(session.compact({ summary: 's' })).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
    }))
})

test('a kept call gets its result, though the conversation was taken back to before it', () =>
  writing(withCalls, async (session) => {
    await session.moveTip('a2')
    expect(JSON.stringify(await session.conversation())).toContain('Interrupted.')
    await session.compact({ summary: 'short', keepFrom: 'p' })
    expect((await names(session)).slice(2)).toEqual(['p', 'a1', 'a2', 'r1'])
    assertAccepted(await session.conversation())
  }))

describe('R7: a compaction is made or not', () => {
  test('cut anywhere: what was said before is there, or its summary with what is kept', async () => {
    const made = await project(jsonl(...withCalls))
    const open = (): Promise<Session> => openSession({ projectDir: made.projectDir, sessionId: SID })
    const before = await readFile(made.file)
    const session = await open()
    const full = await session.conversation()
    const { boundary } = await session.compact({ summary: 'short', keepFrom: 'p' })
    const compacted = await session.conversation()
    await session.close()
    const after = await readFile(made.file)
    const ends = [before.length, before.length + JSON.stringify(boundary).length, after.length - 1]
    for (let size = before.length; size <= after.length; size += 1) {
      if (!ends.some((end) => Math.abs(end - size) < 4) && size % 17 !== 0) continue
      await writeFile(made.file, after.subarray(0, size))
      const again = await open()
      const isDone = size >= after.length - 1
      expect(await again.conversation()).toEqual(isDone ? compacted : full)
      const kinds = (await again.damage()).map(({ kind }) => kind)
      if (isDone || size === before.length) expect(kinds).toEqual([])
      else expect(['torn-line', 'unfinished-compaction']).toEqual(expect.arrayContaining(kinds))
      // It can be gone on with, and tried again.
      const { uuid } = await again.append(say('on'))
      const sent = await again.conversation()
      expect(blocksOf(sent)).toEqual([...blocksOf(isDone ? compacted : full), text('on')])
      await again.compact({ summary: 'again', keepFrom: uuid })
      expect(blocksOf(await again.conversation())).toEqual([text('again'), text('on')])
      await again.close()
    }
    await made.remove()
  })

  test('whatever file operation fails: the tip and what is sent are as before, and it can be tried again', async () => {
    const made = await project(jsonl(...withCalls))
    let full: ModelMessage[] = []
    const tripped = await faultLoop({
      faults: ['EIO', 'ENOSPC', 'short-write'],
      run: async () => {
        await rm(made.file)
        await writeFile(made.file, jsonl(...withCalls))
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
        try {
          const failure = await session.compact({ summary: 'short', keepFrom: 'p' }).then(
            () => undefined,
            (error: unknown) => error,
          )
          if (failure !== undefined) expect(session.tip).toBe('z')
          if (failure !== undefined) throw failure
        } finally {
          await session.close()
        }
      },
      verify: async (error) => {
        setFaultHook(undefined)
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
        const sent = blocksOf(await session.conversation())
        if (full.length === 0) full = await session.conversation({ tip: 'z' })
        if (error === undefined) expect(sent[0]).toEqual(text('short'))
        else if (sent[0]?.type !== 'text' || sent[0].text !== 'short') expect(sent).toEqual(blocksOf(full))
        await session.compact({ summary: 'again', keepFrom: 'p' })
        expect(blocksOf(await session.conversation())[0]).toEqual(text('again'))
        await session.close()
      },
    })
    expect(tripped).toBeGreaterThan(3)
    await made.remove()
  })
})

/** Whether the conversation holds a message of which lines or results lie on other branches. */
async function isInsideMessage(session: Session, lines: readonly Line[]): Promise<boolean> {
  const chain = await session.chain()
  const had = new Set<unknown>(chain.map(({ uuid }) => uuid))
  const keysIn = (entries: readonly Line[], pattern: RegExp): string[] =>
    [...JSON.stringify(entries).matchAll(pattern)].map(([, id = '']) => id)
  const own = new Set(keysIn(chain, /"id":"((?:msg|toolu)_[^"]*)"/g))
  return keysIn(
    lines.filter(({ uuid }) => !had.has(uuid)),
    /"(?:id|tool_use_id)":"((?:msg|toolu)_[^"]*)"/g,
  ).some((id) => own.has(id))
}

test(
  'any conversation, kept from anywhere on: nothing outside the closed part changes, and what is sent is accepted',
  async () => {
    await fc.assert(
      fc.asyncProperty(healthyTranscript(), fc.nat(), async ({ lines }, at) => {
        await writing(lines, async (session, { projectDir, file }) => {
          const tip = session.tip
          if (tip === null) return
          const bytes = await readFile(file)
          // A kept message is put together whole, also where the conversation was taken back to inside it.
          if (await isInsideMessage(session, lines)) return
          const [chain, tips, full] = [
            await session.chain(),
            await session.tips(),
            await session.conversation(),
          ]
          const from = chain[at % (chain.length + 1)]?.uuid
          const { boundary, summary } = await session.compact({ summary: 'short', keepFrom: from })

          expect((await readFile(file)).subarray(0, bytes.length).equals(bytes)).toBe(true)
          expect(await session.damage()).toEqual([])
          const now = await session.chain()
          expect(now.slice(0, 2)).toEqual([boundary, summary])
          const isMark = ({ subtype, isCompactSummary }: Line): boolean =>
            subtype === 'compact_boundary' || isCompactSummary === true
          const kept = now.slice(2)
          expect(kept).toEqual(
            kept.length === 0 ? [] : chain.filter((one) => !isMark(one)).slice(-kept.length),
          )
          const index = chain.findIndex(({ uuid }) => uuid === from)
          if (from !== undefined)
            expect(now).toEqual(expect.arrayContaining(chain.slice(index).filter((one) => !isMark(one))))

          const sent = await session.conversation()
          assertAccepted(sent)
          const [first, ...rest] = blocksOf(sent)
          expect(first).toEqual(text('short'))
          // Between answers that an empty prompt kept apart, thoughts come and go.
          const isSaid = ({ type }: ContentBlock): boolean => type !== 'thinking'
          const said = rest.filter(isSaid)
          expect(said).toEqual(said.length === 0 ? [] : blocksOf(full).filter(isSaid).slice(-said.length))

          // The old conversation and the other branches are as they were.
          expect(await session.chain(tip)).toEqual(chain)
          expect(await session.conversation({ tip })).toEqual(full)
          const ends = (await session.tips()).map(({ uuid }) => uuid)
          expect(ends[0]).toBe(summary.uuid)
          // What was left behind the tip, as a hook's note where it was taken back, is an end of its own now.
          const behind = new Set([tip])
          for (const { uuid, parentUuid } of lines)
            if (typeof uuid === 'string' && behind.has(String(parentUuid))) behind.add(uuid)
          const others = ends.slice(1).filter((uuid) => !behind.has(uuid))
          expect(others).toEqual(tips.map(({ uuid }) => uuid).filter((uuid) => others.includes(uuid)))

          // What is sent is the beginning of what is sent as it grows.
          await session.append(say('on'))
          const prompted = await session.conversation()
          await session.append({ type: 'assistant', message: { role: 'assistant', content: [text('yes')] } })
          const grown = await session.conversation()
          expect(grown.slice(0, prompted.length)).toEqual(prompted)
          assertAccepted(grown)

          const fork = await forkSession({ projectDir, sessionId: SID })
          const forked = await openSession({ projectDir, sessionId: fork.sessionId, mode: 'read' })
          expect(await forked.conversation()).toEqual(grown)
          await forked.close()
          const reader = await openSession({ projectDir, sessionId: SID, mode: 'read' })
          expect([reader.tip, await reader.chain()]).toEqual([session.tip, await session.chain()])
          await reader.close()
        })
      }),
      { numRuns: often(1_000, 60) },
    )
  },
  LONG_ENOUGH,
)
