import { createSession, forkSession, listSessions, openSession } from '@loci/session-jsonl'
import type {
  ContentBlock,
  Entry,
  EntryDraft,
  ModelMessage,
  RecordDraft,
  Session,
  SessionStore,
} from '@loci/session-jsonl'
import { expect, test } from 'vitest'

// What must not compile is marked; the compiler says so where it does.

test('drafts and messages', () => {
  const drafts: EntryDraft[] = [
    { type: 'user', message: { role: 'user', content: 'hi' }, anything: 1 },
    { type: 'assistant', parentUuid: null },
    // @ts-expect-error a title is no line of a conversation
    { type: 'custom-title' },
    // @ts-expect-error a parent is a uuid or null
    { type: 'user', parentUuid: 7 },
  ]
  const records: RecordDraft[] = [{ type: 'tag', tag: null }]
  const blocks: ContentBlock[] = [
    { type: 'text', text: 'x' },
    { type: 'thinking', thinking: 'x', signature: 's' },
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'x' }], is_error: true },
    // @ts-expect-error thinking without its signature is refused
    { type: 'thinking', thinking: 'x' },
    // @ts-expect-error a call has a name
    { type: 'tool_use', id: 't', input: {} },
  ]
  const messages: ModelMessage[] = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: blocks },
    // @ts-expect-error there are two roles
    { role: 'system', content: 'x' },
  ]
  expect([drafts.length, records.length, messages.length]).toEqual([4, 1, 3])
})

test('options that may be undefined are the same as absent ones', () => {
  const maybe = <T>(value: T): T | undefined => value
  const use = async (projectDir: string): Promise<void> => {
    const options = {
      projectDir,
      cwd: maybe('/w'),
      version: maybe('1'),
      gitBranch: maybe('main'),
      durability: maybe('fsync' as const),
      clock: maybe(() => new Date()),
      createId: maybe(() => 'x'),
    }
    const session = await createSession({ ...options, sessionId: maybe('x') })
    await session.conversation({ tip: maybe('x'), renderAttachment: maybe(() => null) })
    await openSession({ ...options, sessionId: 'x', mode: maybe('read' as const) })
    await forkSession({
      ...options,
      sessionId: 'x',
      upTo: maybe('x'),
      title: maybe('x'),
      newSessionId: maybe('x'),
    })
    await listSessions({
      projectsDir: projectDir,
      cwd: maybe('/w'),
      limit: maybe(1),
      offset: maybe(1),
      archived: maybe(true),
    })
  }
  expect(use).toBeTypeOf('function')
})

test('what a session gives out', () => {
  const use = (session: Session, store: SessionStore, entry: Entry): unknown[] => {
    // @ts-expect-error the tip is moved with moveTip
    session.tip = null
    // @ts-expect-error moveTip takes a uuid or null
    void session.moveTip(undefined)
    const unknown: unknown = entry['field']
    // @ts-expect-error fields that nobody here knows are unknown
    const text: string = entry['field']
    return [unknown, text, store.load({ projectKey: 'p', sessionId: 's' })]
  }
  expect(use).toBeTypeOf('function')
})
