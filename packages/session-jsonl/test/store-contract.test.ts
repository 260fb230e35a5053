import { fileSessionStore, foldSessionSummary, memorySessionStore } from '@loci/session-jsonl'
import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from '@loci/session-jsonl'
import { expect, test } from 'vitest'
import { assistant, user } from './lines.ts'

/** The contract of the Agent SDK's `sessionStore` option, written down by hand from its documentation (0.3.332). */
interface SdkKey {
  projectKey: string
  sessionId: string
  subpath?: string
}
type SdkEntry = { type: string; uuid?: string; timestamp?: string; [k: string]: unknown }
interface SdkSummary {
  sessionId: string
  mtime: number
  data: Record<string, unknown>
}
interface SdkStore {
  append(key: SdkKey, entries: SdkEntry[]): Promise<void>
  load(key: SdkKey): Promise<SdkEntry[] | null>
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>
  listSessionSummaries?(projectKey: string): Promise<SdkSummary[]>
  delete?(key: SdkKey): Promise<void>
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>
}

test('a store of ours is one of the SDK, and the other way round', () => {
  const theirs = (store: SdkStore): SessionStore => store
  const ours = (store: SessionStore): SdkStore => store
  const keys = (key: SdkKey): SessionKey => key satisfies SessionKey
  const entries = (entry: SdkEntry): SessionStoreEntry => entry
  const summaries = (summary: SdkSummary): SessionSummaryEntry => summary
  const made: SdkStore[] = [memorySessionStore(), fileSessionStore({ projectsDir: '/nowhere' })]
  const fold: (
    prev: SdkSummary | undefined,
    key: SdkKey,
    batch: SdkEntry[],
    options?: { mtime?: number },
  ) => SdkSummary = foldSessionSummary
  expect([theirs, ours, keys, entries, summaries, fold].length + made.length).toBe(8)
})

test('what must not compile', () => {
  // @ts-expect-error append answers nothing
  const numbers: SessionStore['append'] = async () => 7
  // @ts-expect-error a store can load
  const lacking: SessionStore = { append: async () => undefined }
  expect([numbers, lacking]).toHaveLength(2)
})

const key = { projectKey: 'p', sessionId: 's' }
const fold = (...entries: Record<string, unknown>[]): Record<string, unknown> =>
  foldSessionSummary(undefined, key, entries as SessionStoreEntry[]).data

test('a summary: from the first entry that says so, or from the last', () => {
  const times = { timestamp: '2026-01-02T03:04:05.006Z' }
  expect(
    fold(
      { type: 'queue-operation', ...times },
      user('m', null, 'A note', { isMeta: true, cwd: '/first', isSidechain: false }),
      user('c', 'm', '<command-name>/init</command-name>'),
      user('u', 'c', `line one\nline two ${'x'.repeat(300)}`, { cwd: '/second', gitBranch: 'main' }),
      assistant('a', 'u', [{ type: 'text', text: 'x' }], { gitBranch: 'topic', isSidechain: true }),
      user('v', 'a', 'a later prompt'),
      { type: 'custom-title', customTitle: 'One' },
      { type: 'custom-title', customTitle: 'Two' },
      { type: 'tag', tag: 'blue' },
      { type: 'ai-title', aiTitle: 'Of a model' },
      { type: 'last-prompt', lastPrompt: 'a later prompt', leafUuid: 'v' },
      { type: 'summary', summary: 'hint' },
    ),
  ).toEqual({
    createdAt: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
    cwd: '/first',
    isSidechain: false,
    commandFallback: '/init',
    firstPrompt: `line one line two ${'x'.repeat(182)}…`,
    firstPromptLocked: true,
    gitBranch: 'topic',
    customTitle: 'Two',
    tag: 'blue',
    aiTitle: 'Of a model',
    lastPrompt: 'a later prompt',
    summaryHint: 'hint',
  })
})

test('a summary: an empty tag takes the tag away, an empty title stays, fields of others stay', () => {
  const prev = { sessionId: 's', mtime: 5, data: { tag: 'blue', customTitle: 'One', theirs: { kept: true } } }
  const before = structuredClone(prev)
  const next = foldSessionSummary(prev, key, [
    { type: 'tag', tag: '' },
    { type: 'custom-title', customTitle: '' },
    { type: 'custom-title', customTitle: 7 },
  ])
  expect(next).toEqual({ sessionId: 's', mtime: 5, data: { customTitle: '', theirs: { kept: true } } })
  expect(prev).toEqual(before)
  expect(foldSessionSummary(prev, key, [], { mtime: 9 }).mtime).toBe(9)
  expect(foldSessionSummary(undefined, key, []).mtime).toBe(0)
})

test('a summary: batch by batch it is the same as at once', () => {
  const entries = [
    user('a', null, 'x'),
    { type: 'tag', tag: 'y' },
    user('b', 'a', 'z'),
  ] as SessionStoreEntry[]
  let prev: SessionSummaryEntry | undefined
  for (const entry of entries) prev = foldSessionSummary(prev, key, [entry], { mtime: 1 })
  expect(prev).toEqual(foldSessionSummary(undefined, key, entries, { mtime: 1 }))
})
