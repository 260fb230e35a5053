import { appendFile, rm } from 'node:fs/promises'
import { forkSession, openSession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
import { assistant, call, entry, jsonl, project, reading, result, SID, straight, user } from './lines.ts'
import type { Line } from './lines.ts'

const replace = (...pairs: [id: string, text: string][]): Line => ({
  type: 'content-replacement',
  sessionId: SID,
  replacements: pairs.map(([toolUseId, replacement]) => ({ kind: 'tool-result', toolUseId, replacement })),
  uuid: 'not-in-the-tree',
  timestamp: '2026-01-01T00:00:00.000Z',
})
const lines = [
  user('m1', null, 'go'),
  assistant('m2', 'm1', [call('t1'), call('t2'), call('t3')]),
  user('m3', 'm2', [
    result('t1', 'long 1'),
    result('t2', [{ type: 'text', text: 'long 2' }]),
    { ...result('t3', 'long 3'), is_error: true },
  ]),
  replace(['t1', 'short 1']),
  replace(['t3', 'short 3 \ud83d']),
  assistant('m4', 'm3', 'ok'),
]

describe('S28: replaced tool results', () => {
  const expected = [
    result('t1', 'short 1'),
    result('t2', [{ type: 'text', text: 'long 2' }]),
    { ...result('t3', 'short 3 \uFFFD'), is_error: true },
  ]
  test('are sent replaced every time, whatever becomes of the full output; the rest of the result stays', async () => {
    const made = await project(jsonl(...lines), { [`p/${SID}/tool-results/x.txt`]: 'long 1' })
    const send = async (sessionId = SID): Promise<string> => {
      const session = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
      const sent = await session.conversation()
      await session.close()
      expect(sent[2]).toEqual({ role: 'user', content: expected })
      return JSON.stringify(sent)
    }
    const first = await send()
    expect(await send()).toBe(first)
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(await send(fork.sessionId)).toBe(first)
    await rm(made.path(`p/${SID}/tool-results`), { recursive: true })
    expect(await send()).toBe(first)
    const compaction = [
      entry('system', 'b', null, {
        subtype: 'compact_boundary',
        logicalParentUuid: 'm4',
        compactMetadata: { preservedSegment: { headUuid: 'm2', anchorUuid: 's', tailUuid: 'm4' } },
      }),
      user('s', 'b', 'go', { isCompactSummary: true }),
    ]
    await appendFile(made.file, jsonl(...compaction))
    expect(await send()).toBe(first)
    await made.remove()
  })
  test('the last replacement of a call counts, others of unknown kinds do not', async () => {
    const more = [
      ...lines,
      replace(['t1', 'shorter']),
      {
        ...replace(),
        replacements: [
          { kind: 'other', toolUseId: 't1', replacement: 'no' },
          null,
          { kind: 'tool-result', toolUseId: 't2' },
        ],
      },
      { type: 'content-replacement' },
    ]
    const sent = await reading(jsonl(...more), (session) => session.conversation())
    expect(sent[2]?.content).toMatchObject([{ content: 'shorter' }, { content: [{ text: 'long 2' }] }, {}])
  })
})

describe('S28: a fork takes over the replacements of the calls it keeps, and only those', () => {
  const replacementsIn = async (more: readonly Line[], upTo?: string): Promise<unknown[]> => {
    const made = await project(jsonl(...lines, ...more))
    const clock = (): Date => new Date(0)
    let ids = 0
    const createId = (): string => `id-${(ids += 1)}`
    const fork = await forkSession({
      projectDir: made.projectDir,
      sessionId: SID,
      clock,
      createId,
      ...(upTo ? { upTo } : {}),
    })
    const session = await openSession({
      projectDir: made.projectDir,
      sessionId: fork.sessionId,
      mode: 'read',
    })
    const records = await session.records('content-replacement')
    const text = await made.read(`p/${fork.sessionId}.jsonl`)
    if (records.length > 0)
      expect(text.lastIndexOf('content-replacement')).toBeGreaterThan(text.lastIndexOf('"uuid":"m'))
    await session.close()
    await made.remove()
    return records
  }
  test('merged into one record, in their order, after the entries', async () => {
    expect(await replacementsIn([replace(['t9', 'of nothing'], ['t1', 'shorter'])])).toEqual([
      {
        ...replace(['t1', 'short 1'], ['t3', 'short 3 \ud83d'], ['t1', 'shorter']),
        sessionId: 'id-1',
        uuid: 'id-2',
        timestamp: '1970-01-01T00:00:00.000Z',
      },
    ])
  })
  test('none where no call is kept', async () => {
    expect(await replacementsIn([], 'm1')).toEqual([])
  })
  test('those of subagents stay records of their own', async () => {
    const agent = { ...replace(['t8', 'x']), agentId: 'a1' }
    expect(await replacementsIn([agent], 'm1')).toEqual([{ ...agent, sessionId: 'id-1' }])
  })
  test('a single record that is needed whole is copied byte for byte', async () => {
    const odd = `{"replacements": [ {"replacement":"short","toolUseId":"t1","kind":"tool-result","extra":1e3} ] , "type":"content-replacement","sessionId":"${SID}"}`
    const made = await project(
      jsonl(...lines.filter(({ type }) => type !== 'content-replacement'), odd, ...straight(0)),
    )
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(await made.read(`p/${fork.sessionId}.jsonl`)).toContain(odd.replace(SID, fork.sessionId))
    await made.remove()
  })
})
