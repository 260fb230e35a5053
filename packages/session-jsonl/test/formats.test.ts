import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  forkSession,
  listSessions,
  openSession,
  unarchiveSession,
  archiveSession,
  verifySession,
} from '@loci/session-jsonl'
import { expect, test } from 'vitest'
import { jsonl, project, SID } from './lines.ts'
import type { Line } from './lines.ts'

// docs/formats/session.md is what the code is written to; its examples are tried here.

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/formats/session.md'), 'utf8')

interface Example {
  heading: string
  line: Line
}

const examples: Example[] = PAGE.split(/^#+ /m).flatMap((section) => {
  const heading = section.slice(0, section.indexOf('\n'))
  const blocks = [...section.matchAll(/^```json\n(.*?)^```$/gms)].map(([, body = '']) => body)
  return blocks
    .flatMap((body) => body.trim().split('\n'))
    .map((line) => ({ heading, line: JSON.parse(line) as Line }))
})
const kindsUnder = (heading: string): unknown[] =>
  examples.filter((example) => example.heading === heading).map(({ line }) => line['type'])
const transcript = examples.filter(({ line }) => line['type'] !== undefined).map(({ line }) => line)

test('each example is of the kind that its heading says', () => {
  const expected: [heading: string, kinds: unknown[]][] = [
    ['attachment', ['attachment', 'attachment']],
    ['user', ['user']],
    ['assistant', ['assistant', 'assistant', 'assistant', 'user', 'user', 'assistant']],
    ['system', ['system']],
    ['compact_boundary', ['system', 'user']],
    ['Lines of subagents and of unknown kinds', ['user', 'progress']],
    ['last-prompt', ['last-prompt', 'last-prompt']],
    ['content-replacement', ['content-replacement']],
    ['forked-from', ['forked-from']],
    ['custom-title', ['custom-title', 'ai-title', 'summary']],
    ['tag', ['tag']],
    ['file-history-snapshot', ['file-history-snapshot', 'file-history-delta']],
    ['cost-state', ['cost-state']],
    ['memory-extraction', ['memory-extraction']],
    ['compaction-failed', ['compaction-failed']],
    [
      'Of the client alone',
      [
        'queue-operation',
        'mode',
        'permission-mode',
        'atis-latch',
        'tools-used',
        'api-request-shape',
        'api-request-blob',
        'api-request',
      ],
    ],
    ['Beside the transcript', [undefined]],
  ]
  for (const [heading, kinds] of expected) expect(kindsUnder(heading)).toEqual(kinds)
  expect(new Set(examples.map(({ heading }) => heading))).toEqual(
    new Set(expected.map(([heading]) => heading)),
  )
})

test('every kind of line that was observed has an example', () => {
  const observed = join(import.meta.dirname, 'fixtures/observed')
  const kinds = new Set<unknown>()
  for (const name of readdirSync(observed, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.jsonl')) continue
    for (const line of readFileSync(join(observed, name), 'utf8').split('\n'))
      if (line !== '') kinds.add((JSON.parse(line) as Line)['type'])
  }
  expect(kinds.size).toBeGreaterThan(15)
  expect(transcript.map(({ type }) => type)).toEqual(expect.arrayContaining([...kinds]))
})

test('together they are a transcript without damage, that stands where the page says', async () => {
  const made = await project(jsonl(...transcript))
  expect(await verifySession(made.file)).toEqual([])
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
  const names = async (tip?: string): Promise<string[]> => (await session.chain(tip)).map(({ uuid }) => uuid)
  // The last record is an explicit last-prompt.
  expect(session.tip).toBe('m4')
  expect(await names()).toEqual(['a1', 'a2', 'u1', 'm1', 'm2', 'm3', 'r2', 'r1', 'm4'])
  expect(await names('c1')).toEqual(['b1', 'c1', 'm4'])
  const sent = await session.conversation()
  expect(sent).toHaveLength(4)
  expect(JSON.stringify(sent)).toContain('90 files; all of them in')
  expect(JSON.stringify(sent)).not.toContain('a.test.ts')
  await session.close()
  const [info] = await listSessions({ projectsDir: made.root })
  expect(info).toMatchObject({
    customTitle: 'Tests',
    tag: 'blue',
    forkedFrom: '99999999-2222-4333-8444-555555555555',
  })
  await made.remove()
})

test('a fork keeps of each kind what the table says', async () => {
  const made = await project(jsonl(...transcript))
  const { path, sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  const kept = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  const table = PAGE.slice(PAGE.indexOf('| kind |'), PAGE.indexOf('### last-prompt'))
  for (const row of table.trim().split('\n').slice(2)) {
    const [, kinds = '', , , inFork = ''] = row.split('|')
    const said = [...kinds.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name)
    const [first = ''] = said
    for (const [index, name] of said.entries()) {
      const type = name.startsWith('-') ? `${first.replace(/-snapshot$/, '')}${name}` : name
      const found = kept.filter((line) => line['type'] === type).length
      const isNo = inFork.trim().startsWith('no')
      expect([type, index, found > 0]).toEqual([type, index, !isNo])
    }
  }
  expect(kept[0]).toEqual({ type: 'forked-from', sessionId, sourceSessionId: SID, upTo: 'm4' })
  for (const line of kept) if (line['sessionId'] !== undefined) expect(line['sessionId']).toBe(sessionId)
  await made.remove()
})

test('the mark of an archived session is written as it is shown', async () => {
  const shown = examples.find(({ line }) => line['archived'] !== undefined)?.line
  const made = await project(jsonl(...transcript))
  const clock = (): Date => new Date(String(shown?.['at']))
  await archiveSession({ projectDir: made.projectDir, sessionId: SID, clock })
  expect(JSON.parse(await made.read(`p/${SID}/archived.json`))).toEqual(shown)
  expect(await listSessions({ projectsDir: made.root })).toEqual([])
  await unarchiveSession({ projectDir: made.projectDir, sessionId: SID })
  expect(await listSessions({ projectsDir: made.root })).toHaveLength(1)
  await made.remove()
})
