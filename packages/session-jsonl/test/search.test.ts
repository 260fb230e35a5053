import { appendFile, chmod, rm } from 'node:fs/promises'
import { getEventListeners } from 'node:events'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { archiveSession, renameSession, searchSessions } from '@loci/session-jsonl'
import type { SearchHit, SearchProgress } from '@loci/session-jsonl'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { SID, assistant, call, jsonl, result, rewind, text, user } from './lines.ts'
import type { Line } from './lines.ts'

type Options = Omit<Parameters<typeof searchSessions>[0], 'projectsDir' | 'query'>

let made: Tree | undefined
afterEach(async () => {
  vi.restoreAllMocks()
  setFaultHook(undefined)
  await made?.remove()
  made = undefined
})

const id = (nth: number): string => `${String(nth).padStart(8, '0')}-2222-4333-8444-555555555555`

/** Sessions of one folder; the nth was active in the nth hour. */
async function sessions(...transcripts: Line[][]): Promise<Tree> {
  const files: Record<string, TreeFile> = {}
  for (const [nth, lines] of transcripts.entries()) {
    const timestamp = new Date(Date.UTC(2026, 1, 1, nth)).toISOString()
    files[`p/${id(nth)}.jsonl`] = jsonl(...lines.map((line) => ({ ...line, sessionId: id(nth), timestamp })))
  }
  made = await tree({ 'p/': '', ...files })
  return made
}

async function found(at: Tree, query: string, options: Options = {}): Promise<SearchHit[]> {
  const hits: SearchHit[] = []
  for await (const hit of searchSessions({ projectsDir: at.root, query, ...options })) hits.push(hit)
  return hits
}

async function uuidsIn(transcript: TreeFile, query: string): Promise<string[]> {
  made = await tree({ [`p/${SID}.jsonl`]: transcript })
  return (await found(made, query)).map(({ uuid }) => uuid)
}

describe('what matches', () => {
  test.each([
    ['case', 'The Quick Fox', 'qUICK'],
    ['the inside of a word', 'unbelievable', 'liev'],
    ['all words, in any order', 'one two three', 'three one'],
    ['a phrase', 'say one two three', '"one two"'],
    ['a phrase over a line end', 'one\r\n\ttwo', '"one two"'],
    ['a phrase and a word', 'red big blue house', 'house "big blue"'],
    ['a quote without its pair', 'ab cd', 'cd "ab'],
    ['quotes in the text', 'he said "no"!', 'said no'],
    ['a backslash', String.raw`C:\new\table`, String.raw`c:\new\table`],
    ['a slash', 'src/index.ts', 'SRC/Index'],
    ['a character outside the first plane', 'ship it 🚀 now', '🚀'],
    ['umlauts', 'Grüße', 'GRÜSSE'],
    ['a letter and its mark', 'cafe\u0301', 'café'],
    ['a letter and its mark, the other way', 'café', 'cafe\u0301'],
    ['a mark behind a line end', 'x\n\u0301kappa', '\u0301kappa'],
    ['full width', 'ＡＢＣ１２３', 'abc123'],
    ['a ligature', 'ﬁle', 'FILE'],
    ['bold capitals', '𝐀𝐁', 'ab'],
    ['a long s', 'ſecret', 'secret'],
    ['the sign of kelvin', '300 \u212A', '300 k'],
    ['a hard space', 'one\u00A0two', '"one two"'],
    ['sigma', 'ΟΔΟΣ', 'οδός'.normalize('NFD').replace('\u0301', '')],
    ['Russian', 'Привет, мир', 'ПРИВЕТ'],
    ['Chinese', '请修复这个错误', '修复'],
    ['Japanese, half width', 'ﾃｽﾄ', 'テスト'],
    ['Korean, in jamo', '한국어'.normalize('NFD'), '한국어'],
    ['Turkish', 'İSTANBUL', 'istanbul'],
    ['Arabic', 'مرحبا بالعالم', 'بالعالم'],
    ['a control character between', 'a\u001b[31mred', '[31mred'],
  ])('%s', async (_, said, query) => {
    expect(await uuidsIn(jsonl(user('u', null, said)), query)).toEqual(['u'])
  })

  test.each([
    ['one word missing', 'one two', 'one three'],
    ['a phrase in another order', 'two one', '"one two"'],
    ['the name of a field', 'x', 'parentUuid'],
    ['an escape as it is spelled', 'a\nnb\t', '"\\n"'],
    ['a letter for the same with a mark', 'café', 'cafe'],
  ])('not: %s', async (_, said, query) => {
    expect(await uuidsIn(jsonl(user('u', null, said)), query)).toEqual([])
  })

  test('however JSON spells it', async () => {
    const line = JSON.stringify(user('u', null, 'SAID'))
    const spelled = (said: string): string => `${line.replace('SAID', said)}\n`
    expect(await uuidsIn(spelled(String.raw`caf\u00e9`), 'café')).toEqual(['u'])
    await made?.remove()
    expect(await uuidsIn(spelled(String.raw`\u0068\u0065llo`), 'hello')).toEqual(['u'])
    await made?.remove()
    expect(await uuidsIn(spelled(String.raw`src\/index \uD83D\uDE80`), 'src/index 🚀')).toEqual(['u'])
  })

  test('words may be in several texts of one entry, but not in two entries', async () => {
    const blocks = [text('alpha'), text('beta')]
    expect(await uuidsIn(jsonl(user('u', null, blocks)), 'beta alpha')).toEqual(['u'])
    await made?.remove()
    expect(await uuidsIn(jsonl(user('u', null, 'alpha'), user('v', 'u', 'beta')), 'beta alpha')).toEqual([])
  })
})

describe('where it looks', () => {
  const thinking = { type: 'thinking', thinking: 'secret thought', signature: 's' }
  const deep = { type: 'tool_use', id: 't', name: 'Edit', input: { edits: [{ new: 'deep value' }], n: 7 } }
  const nested = result('t', [{ type: 'image', source: {} }, text('nested result')])
  test.each([
    ['a prompt', user('u', null, 'hello'), 'hello', 'user'],
    ['an answer', assistant('u', null, [text('hello')]), 'hello', 'assistant'],
    ['the input of a call', assistant('u', null, [call('needle')]), 'needle', 'assistant'],
    ['deep in the input of a call', assistant('u', null, [deep]), '"deep value"', 'assistant'],
    ['a result', user('u', null, [result('t', 'output')]), 'output', 'tool'],
    ['a part of a result', user('u', null, [nested]), 'nested', 'tool'],
    ['a prompt beside a result', user('u', null, [result('t', 'a'), text('also')]), 'also', 'user'],
    ['a line of a subagent in this file', user('u', null, 'side', { isSidechain: true }), 'side', 'user'],
  ])('%s', async (_, line, query, role) => {
    made = await tree({ [`p/${SID}.jsonl`]: jsonl(user('first', null, '-'), line) })
    expect(await found(made, query)).toEqual([
      {
        sessionId: SID,
        path: made.path(`p/${SID}.jsonl`),
        uuid: 'u',
        role,
        snippet: expect.stringMatching(new RegExp(query.replaceAll('"', ''), 'i')),
        timestamp: line['timestamp'],
      },
    ])
  })

  test.each([
    ['what the model thought', assistant('u', null, [thinking]), 'thought'],
    ['an attachment', { ...user('u', null, 'pinned'), type: 'attachment' }, 'pinned'],
    ['a record outside the conversation', { type: 'mode', mode: 'plan', sessionId: SID }, 'plan'],
    ['what a message without content holds', { ...user('u', null, ''), message: 'loose' }, 'loose'],
  ])('not in %s', async (_, line, query) => {
    expect(await uuidsIn(jsonl(user('first', null, '-'), line), query)).toEqual([])
  })

  test('not in the files of subagents', async () => {
    made = await tree({
      [`p/${SID}.jsonl`]: jsonl(user('u', null, '-')),
      [`p/${SID}/subagents/agent-a0123456789abcdef.jsonl`]: jsonl(user('s', null, 'below')),
    })
    expect(await found(made, 'below')).toEqual([])
  })

  test('on abandoned branches, the newest line first', async () => {
    const transcript = jsonl(
      user('a', null, 'fox'),
      assistant('b', 'a', [text('a fox, abandoned')]),
      rewind('a'),
      assistant('c', 'a', [text('the fox')]),
    )
    expect(await uuidsIn(transcript, 'fox')).toEqual(['c', 'b', 'a'])
  })

  test('a title is a hit without uuid, before the entries; an old one is none', async () => {
    made = await tree({ [`p/${SID}.jsonl`]: jsonl(user('u', null, 'the plan')) })
    const address = { projectDir: made.path('p'), sessionId: SID }
    await renameSession({ ...address, title: 'Old plan' })
    await renameSession({ ...address, title: 'Grand  Plan' })
    expect(await found(made, 'PLAN')).toMatchObject([
      { uuid: '', role: 'user', snippet: 'Grand Plan', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
      { uuid: 'u' },
    ])
    expect(await found(made, 'old')).toEqual([])
  })

  test('a uuid that is repeated is given once', async () => {
    const lines = jsonl(user('u', null, 'fox one'), user('u', null, 'fox two'))
    made = await tree({ [`p/${SID}.jsonl`]: lines })
    expect(await found(made, 'fox')).toMatchObject([{ uuid: 'u', snippet: 'fox two' }])
  })

  test('archived sessions only if asked for', async () => {
    made = await tree({ [`p/${SID}.jsonl`]: jsonl(user('u', null, 'fox')) })
    await archiveSession({ projectDir: made.path('p'), sessionId: SID })
    expect(await found(made, 'fox')).toEqual([])
    expect(await found(made, 'fox', { archived: true })).toHaveLength(1)
  })

  test('in the sessions of a directory only, if one is given', async () => {
    const at = await sessions(
      [user('a', null, 'fox', { cwd: '/a' })],
      [user('b', null, 'fox', { cwd: '/b' })],
    )
    expect(await found(at, 'fox', { cwd: '/a' })).toMatchObject([{ uuid: 'a' }])
    expect(await found(at, 'fox', { cwd: ['/a', '/b'] })).toHaveLength(2)
  })

  test('without a directory there is nothing', async () => {
    made = await tree({})
    expect(await found(made, 'fox', {})).toEqual([])
  })
})

describe('damage', () => {
  const line = (uuid: string): string => JSON.stringify(user(uuid, null, `fox ${uuid}`))
  test.each([
    ['a torn line', `${line('a').slice(0, -5)}\n${line('b')}\n`, ['b']],
    [
      'a torn line with a record behind it',
      `${line('a').slice(0, 20)}${line('b')}\n${line('c')}\n`,
      ['c', 'b'],
    ],
    ['two records on a line', `${line('a')}${line('b')}\n`, ['b', 'a']],
    ['zeros in a line', `${line('a')}\0\0\0\0${line('b')}\n${line('c')}`, ['c', 'b', 'a']],
    ['a line that is no object', `7\n[]\n"fox"\n{}\n${line('a')}\n`, ['a']],
    ['no newline at the end', line('a'), ['a']],
    ['CRLF, blank lines and a byte order mark', `\uFEFF${line('a')}\r\n\r\n\n${line('b')}\r\n`, ['b', 'a']],
    ['a line without uuid', `${line('a').replace('"uuid"', '"uid"')}\n${line('b')}\n`, ['b', '']],
  ])('%s ends nothing', async (_, transcript, uuids) => {
    expect(await uuidsIn(transcript, 'fox')).toEqual(uuids)
  })

  test('bytes that are not UTF-8', async () => {
    const bytes = Buffer.from(`${line('a').replace('fox', 'fox X')}\n${line('b')}\n`)
    bytes[bytes.indexOf('X')] = 0xff
    expect(await uuidsIn(bytes, 'fox')).toEqual(['b', 'a'])
  })

  test('lines longer than what is asked about, and such that chunks cut', async () => {
    const long = user('long', null, `fox ${'x'.repeat(5 * 1024 * 1024)} hound`)
    const cut = Array.from({ length: 40 }, (_, nth) => user(`c${nth}`, null, `fox ${'yö'.repeat(20_000)}`))
    const transcript = jsonl(user('a', null, 'fox'), long, ...cut, user('z', null, 'fox'))
    const all = ['z', ...cut.map((each) => String(each['uuid'])).toReversed(), 'long', 'a']
    expect(await uuidsIn(transcript, 'fox')).toEqual(all)
    expect((await found(made as Tree, 'hound')).map(({ uuid }) => uuid)).toEqual(['long'])
  })

  test('a file that cannot be opened, and one that cannot be read to its end, are counted and passed over', async () => {
    const at = await sessions(
      [user('a', null, 'fox')],
      [user('b', null, 'fox'), user('c', null, 'x'.repeat(600_000)), user('d', null, 'fox')],
      [user('e', null, 'fox')],
    )
    const opens = new Map<string, number>()
    const reads = new Map<string, number>()
    setFaultHook((operation, path) => {
      const counts = operation === 'open' ? opens : reads
      counts.set(path, (counts.get(path) ?? 0) + 1)
      // The list has opened it once before.
      if (operation === 'open' && path.includes(id(2)) && opens.get(path) === 2)
        return Object.assign(new Error('no'), { code: 'EIO' })
      if (operation === 'read' && path.includes(id(1)) && opens.get(path) === 2) {
        const nth = (reads.get(`${path}#`) ?? 0) + 1
        reads.set(`${path}#`, nth)
        if (nth === 2) return Object.assign(new Error('no'), { code: 'EIO' })
      }
      return undefined
    })
    const seen: SearchProgress[] = []
    const hits = await found(at, 'fox', { onProgress: (progress) => seen.push(progress) })
    expect(hits.map(({ uuid }) => uuid)).toEqual(['b', 'a'])
    expect(seen).toEqual([
      { searched: 1, total: 3, unreadable: 1, sessionId: id(2) },
      { searched: 2, total: 3, unreadable: 2, sessionId: id(1) },
      { searched: 3, total: 3, unreadable: 2, sessionId: id(0) },
    ])
  })

  test('a session that is deleted meanwhile is passed over, and one that grows is read', async () => {
    const at = await sessions([user('a', null, 'fox')], [user('b', null, 'fox')], [user('c', null, 'fox')])
    const uuids: string[] = []
    const seen: SearchProgress[] = []
    const options = {
      projectsDir: at.root,
      query: 'fox',
      onProgress: (step: SearchProgress) => seen.push(step),
    }
    for await (const { uuid } of searchSessions(options)) {
      uuids.push(uuid)
      if (uuid !== 'c') continue
      await rm(at.path(`p/${id(1)}.jsonl`))
      await appendFile(at.path(`p/${id(0)}.jsonl`), jsonl(user('new', 'a', 'fox')))
    }
    expect(uuids).toEqual(['c', 'new', 'a'])
    expect(seen.at(-1)).toMatchObject({ searched: 3, unreadable: 0 })
  })

  test('a folder that cannot be read is an error', async () => {
    const at = await sessions([user('a', null, 'fox')])
    setFaultHook((operation) =>
      operation === 'readdir' ? Object.assign(new Error('no'), { code: 'EACCES' }) : undefined,
    )
    await expect(found(at, 'fox')).rejects.toMatchObject({ code: 'DISK_IO' })
  })
})

describe('order, limit, progress, signal', () => {
  const three = (): Promise<Tree> =>
    sessions(
      [user('a', null, 'fox'), user('b', 'a', 'fox')],
      [user('c', null, 'fox')],
      [user('d', null, 'fox'), user('e', 'd', 'hound'), user('f', 'e', 'fox')],
    )

  test('newest session first, and in it the newest line', async () => {
    expect((await found(await three(), 'fox')).map(({ uuid }) => uuid)).toEqual(['f', 'd', 'c', 'b', 'a'])
  })

  test('progress after each session, behind its hits', async () => {
    const seen: string[] = []
    const onProgress = ({ searched, total, sessionId }: SearchProgress): void =>
      void seen.push(`${searched}/${total} ${sessionId.slice(7, 8)}`)
    const options = { projectsDir: (await three()).root, query: 'fox', onProgress }
    for await (const { uuid } of searchSessions(options)) seen.push(uuid)
    expect(seen).toEqual(['f', 'd', '1/3 2', 'c', '2/3 1', 'b', 'a', '3/3 0'])
  })

  test.each([
    [0, [], 0],
    [1, ['f'], 1],
    [2, ['f', 'd'], 1],
    [3, ['f', 'd', 'c'], 2],
    [9, ['f', 'd', 'c', 'b', 'a'], 3],
  ])('limit %i gives %j and opens %i transcripts beyond the list', async (limit, uuids, count) => {
    const at = await three()
    const opened: string[] = []
    let closed = 0
    setFaultHook((operation, path) => {
      if (operation === 'open' && path.endsWith('.jsonl')) opened.push(path)
      if (operation === 'close' && path.endsWith('.jsonl')) closed += 1
      return undefined
    })
    expect((await found(at, 'fox', { limit })).map(({ uuid }) => uuid)).toEqual(uuids)
    expect(opened).toHaveLength(limit === 0 ? 0 : 3 + count)
    expect(closed).toBe(opened.length)
  })

  test('who stops listening closes the file', async () => {
    const at = await three()
    let open = 0
    setFaultHook((operation) => {
      if (operation === 'open') open += 1
      if (operation === 'close') open -= 1
      return undefined
    })
    for await (const { uuid } of searchSessions({ projectsDir: at.root, query: 'fox' })) if (uuid) break
    expect(open).toBe(0)
  })

  test('a signal ends it with its reason: before, while listing, while reading, between hits', async () => {
    const at = await three()
    const reason = new Error('enough')
    await expect(found(at, 'fox', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    for (const [operation, nth, during] of [
      ['readdir', 1, 'list'],
      ['open', 2, 'list'],
      ['open', 4, 'search'],
      ['read', 5, 'search'],
    ] as const) {
      const control = new AbortController()
      const counts = { readdir: 0, open: 0, read: 0, close: 0 }
      // The list goes on unheard: it closes its three files.
      let settle = (): void => undefined
      const listed = new Promise<void>((resolve) => (settle = resolve))
      setFaultHook((done) => {
        if (Object.hasOwn(counts, done)) counts[done as keyof typeof counts] += 1
        if (done === operation && counts[operation] === nth) control.abort(reason)
        if (counts.close === 3) settle()
        return undefined
      })
      await expect(found(at, 'fox', { signal: control.signal })).rejects.toBe(reason)
      await listed
      expect(getEventListeners(control.signal, 'abort')).toEqual([])
      expect(counts.open).toBe(during === 'list' ? 3 : 4)
      expect(counts.close).toBe(counts.open)
    }
    setFaultHook(undefined)
    const control = new AbortController()
    const uuids: string[] = []
    const search = searchSessions({ projectsDir: at.root, query: 'fox', signal: control.signal })
    const all = async (): Promise<void> => {
      for await (const { uuid } of search) {
        uuids.push(uuid)
        if (uuid === 'd') control.abort(reason)
      }
    }
    await expect(all()).rejects.toBe(reason)
    expect(uuids).toEqual(['f', 'd'])
  })

  test('a signal that is not used is left as it was', async () => {
    const { signal } = new AbortController()
    expect(await found(await three(), 'fox', { signal })).toHaveLength(5)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('it is ended in the middle of a file without hits', async () => {
    const at = await sessions(
      Array.from({ length: 2_000 }, (_, nth) => user(`u${nth}`, null, 'x'.repeat(1_000))),
    )
    const control = new AbortController()
    let opens = 0
    let reads = 0
    setFaultHook((operation) => {
      if (operation === 'open') opens += 1
      if (operation === 'read' && opens === 2 && (reads += 1) === 2) control.abort()
      return undefined
    })
    await expect(found(at, 'fox', { signal: control.signal })).rejects.toMatchObject({ name: 'AbortError' })
    expect(reads).toBe(2)
  })

  test('it is ended in the middle of a file, between two lines', async () => {
    const lines = Array.from({ length: 2_000 }, (_, nth) => user(`u${nth}`, null, 'fox'))
    const at = await sessions(lines)
    const control = new AbortController()
    let parsed = 0
    let opens = 0
    const parse = JSON.parse
    setFaultHook((operation) => {
      if (operation === 'open') opens += 1
      return undefined
    })
    vi.spyOn(JSON, 'parse').mockImplementation((source: string): unknown => {
      if (opens === 2 && source.includes('fox') && (parsed += 1) === 10) control.abort()
      return parse(source)
    })
    await expect(found(at, 'fox', { signal: control.signal })).rejects.toMatchObject({ name: 'AbortError' })
    expect(parsed).toBe(10)
  })

  test.each([
    [{ query: '' }],
    [{ query: ' \n' }],
    [{ query: '" "' }],
    [{ query: '"' }],
    [{ query: 7 }],
    [{ projectsDir: 7 }],
    [{ cwd: 7 }],
    [{ limit: -1 }],
    [{ limit: 1.5 }],
    [{ limit: '3' }],
    [{ signal: {} }],
    [{ onProgress: 1 }],
  ])('%j is a TypeError', async (wrong) => {
    const at = await three()
    const options = { projectsDir: at.root, query: 'fox', ...wrong } as Parameters<typeof searchSessions>[0]
    await expect(searchSessions(options).next()).rejects.toThrow(TypeError)
  })

  test('reading changes nothing', async () => {
    const at = await three()
    await chmod(at.path('p'), 0o755)
    const before = await at.snapshot()
    await found(at, 'fox')
    expect(await at.snapshot()).toEqual(before)
  })
})

test('lines without the words are not parsed', async () => {
  const filler = Array.from({ length: 50 }, (_, nth) => assistant(`f${nth}`, null, [text(`a\n"b" ü ${nth}`)]))
  const at = await sessions(...Array.from({ length: 5 }, () => [...filler, user('hit', null, 'fox')]))
  const parse = vi.spyOn(JSON, 'parse')
  const lines = async (query: string): Promise<number> => {
    parse.mockClear()
    await found(at, query)
    return parse.mock.calls.filter(([source]) => source.includes('"assistant"')).length
  }
  const byTheList = await lines('"no such thing"')
  expect(await lines('fox')).toBe(byTheList)
  // Nothing of a slash is plain: each line is parsed once.
  expect(await lines('/')).toBe(byTheList + 250)
})
