import { appendFile, mkdir, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises'
import { listSessions, openSession, sessionInfo, verifySession } from '@loci/session-jsonl'
import type { SessionInfo } from '@loci/session-jsonl'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { TreeFile } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { assistant, entry, jsonl, lastPrompt, result, rewind, SID, straight, text, user } from './lines.ts'
import type { Line } from './lines.ts'

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const at = (time: string, ...lines: Line[]): Line[] =>
  lines.map((line) => ({ ...line, timestamp: time, sessionId: undefined }))
const prompt = (said: unknown, fields: Line = {}): Line => user('m1', null, said, fields)

afterEach(() => setFaultHook(undefined))

async function infoOf(
  transcript: TreeFile,
  others: Record<string, TreeFile> = {},
): Promise<Omit<SessionInfo, 'path'>> {
  const made = await tree({ [`p/${SID}.jsonl`]: transcript, ...others })
  try {
    const info = await sessionInfo(made.path(`p/${SID}.jsonl`))
    if (info === undefined) throw new Error('not listed')
    const { path, ...rest } = info
    expect(path).toBe(made.path(`p/${SID}.jsonl`))
    return rest
  } finally {
    await made.remove()
  }
}

async function listOf(
  made: { root: string },
  options: Partial<Parameters<typeof listSessions>[0]> = {},
): Promise<string[]> {
  const list = await listSessions({ projectsDir: made.root, ...options })
  return list.map(({ sessionId }) => sessionId)
}

describe('what a list shows of a session', () => {
  test('all of it, from a small file', async () => {
    const bytes = jsonl(
      {
        type: 'queue-operation',
        operation: 'enqueue',
        timestamp: '2026-01-01T00:00:00.000Z',
        sessionId: SID,
      },
      { ...prompt('Make\nit so'), cwd: '/w', gitBranch: 'main', timestamp: '2026-01-01T00:00:01.000Z' },
      {
        ...assistant('m2', 'm1', [text('ok')]),
        cwd: '/w/sub',
        gitBranch: 'side',
        timestamp: '2026-01-01T00:00:05.000Z',
      },
      { type: 'custom-title', customTitle: 'First', sessionId: SID },
      { type: 'custom-title', customTitle: 'Second', sessionId: SID },
      { type: 'tag', tag: 'blue', sessionId: SID },
      { ...lastPrompt('m2'), lastPrompt: 'And\nthen' },
    )
    expect(await infoOf(bytes)).toEqual({
      sessionId: SID,
      summary: 'Second',
      customTitle: 'Second',
      tag: 'blue',
      firstPrompt: 'Make it so',
      lastPrompt: 'And then',
      cwd: '/w',
      lastCwd: '/w/sub',
      gitBranch: 'side',
      createdAtMs: Date.UTC(2026, 0, 1),
      lastActivityMs: Date.UTC(2026, 0, 1, 0, 0, 5),
      sizeBytes: Buffer.byteLength(bytes),
      archived: false,
      damaged: false,
    })
  })

  test('the summary is the title, else the last prompt, else the first', async () => {
    expect(await infoOf(jsonl(prompt('one')))).toMatchObject({ summary: 'one' })
    expect(await infoOf(jsonl(prompt('one'), { ...lastPrompt('m1'), lastPrompt: 'two' }))).toMatchObject({
      summary: 'two',
    })
    const none = await infoOf(jsonl(entry('system', 's', null)))
    expect(none.summary).toBe('')
    expect(none).not.toHaveProperty('firstPrompt')
  })

  test('an empty title or tag takes back the one before', async () => {
    const info = await infoOf(
      jsonl(
        prompt('one'),
        { type: 'custom-title', customTitle: 'T' },
        { type: 'tag', tag: 'x' },
        { type: 'custom-title', customTitle: '' },
        { type: 'tag', tag: '' },
      ),
    )
    expect(info).toMatchObject({ summary: 'one' })
    expect(info).not.toHaveProperty('customTitle')
    expect(info).not.toHaveProperty('tag')
  })

  test('after a rewind to nothing the first prompt', async () => {
    expect(await infoOf(jsonl(prompt('one'), lastPrompt('m1'), rewind(null)))).toMatchObject({
      summary: 'one',
    })
  })

  test('the last prompt is the newest that can be seen, said by a record or by its own line', async () => {
    const named = { ...lastPrompt('m1'), lastPrompt: 'named' }
    const { uuid, timestamp, ...longAnswer } = assistant('m3', 'm2', 'y'.repeat(70_000))
    const table: [lines: Line[], expected: string | undefined][] = [
      [[prompt('one'), named, user('m2', 'm1', 'two')], 'two'],
      [[prompt('one'), user('m2', 'm1', 'two'), named], 'named'],
      [[prompt('one'), user('m2', 'm1', 'two'), { ...named, lastPrompt: '' }], 'two'],
      [[prompt('one'), named, rewind(null)], undefined],
      [[prompt('one'), named, rewind(null), user('m2', null, 'two')], 'two'],
      [[prompt('one'), user('m2', 'm1', [result('t')]), user('m3', 'm2', 'meta', { isMeta: true })], 'one'],
      [[prompt('one'), user('m2', 'm1', 'x'.repeat(100_000)), { ...longAnswer, uuid, timestamp }], 'one'],
    ]
    for (const [lines, expected] of table) {
      const info = await infoOf(jsonl(...lines))
      expect(info.lastPrompt).toBe(expected)
      expect(info.summary).toBe(expected ?? 'one')
    }
  })

  test('titles in the text of a conversation are none', async () => {
    const said = '"customTitle":"fake","tag":"fake","lastPrompt":"fake"'
    const info = await infoOf(
      jsonl(prompt(`{${said}}\n{${said}}`), {
        ...assistant('m2', 'm1', []),
        nested: { customTitle: 'fake' },
      }),
    )
    expect(info).not.toHaveProperty('customTitle')
    expect(info).not.toHaveProperty('tag')
  })

  test('where it was forked from: our record, else the field of the SDK', async () => {
    const sdk = prompt('one', { forkedFrom: { sessionId: 'there', messageUuid: 'x' } })
    expect(await infoOf(jsonl(sdk))).toMatchObject({ forkedFrom: 'there' })
    const ours = { type: 'forked-from', sessionId: SID, sourceSessionId: 'here', upTo: 'm1' }
    expect(await infoOf(jsonl(ours, sdk))).toMatchObject({ forkedFrom: 'here' })
  })

  test('no file is undefined; a name is taken as it is', async () => {
    expect(await sessionInfo('/nowhere/x.jsonl')).toBeUndefined()
  })

  test('archived, by its mark; a mark that cannot be read is none, and damage', async () => {
    const mark = (value: string): Record<string, TreeFile> => ({ [`p/${SID}/archived.json`]: value })
    const bytes = jsonl(prompt('one'))
    expect(await infoOf(bytes, mark('{"archived":true,"at":"x","by":"sdk"}'))).toMatchObject({
      archived: true,
      damaged: false,
    })
    expect(await infoOf(bytes, mark('{"archived":false}'))).toMatchObject({ archived: false, damaged: false })
    expect(await infoOf(bytes, mark('{"arch'))).toMatchObject({ archived: false, damaged: true })
    const made = await tree({ [`p/${SID}.jsonl`]: bytes, ...mark('[]') })
    expect(await verifySession(made.path(`p/${SID}.jsonl`))).toMatchObject([
      { kind: 'archive-mark', path: made.path(`p/${SID}/archived.json`) },
    ])
    await made.remove()
  })
})

describe('the first prompt', () => {
  const table: [name: string, lines: Line[], expected: string | undefined][] = [
    ['a string', [prompt('hi')], 'hi'],
    ['the first text block', [prompt([{ type: 'image' }, text('hi'), text('ho')])], 'hi'],
    ['is one line', [prompt(' a\r\n\nb\nc ')], 'a b c'],
    ['at most 200 units and …', [prompt('x'.repeat(201))], `${'x'.repeat(200)}…`],
    ['exactly 200 units as they are', [prompt('x'.repeat(200))], 'x'.repeat(200)],
    ['never ends in half an emoji', [prompt(`${'x'.repeat(199)}😀y`)], `${'x'.repeat(199)}…`],
    ['half an emoji becomes U+FFFD', [prompt('x\ud83d')], 'x\uFFFD'],
    ['not a line that the program added', [prompt('no', { isMeta: true }), prompt('hi')], 'hi'],
    ['not a summary', [prompt('no', { isCompactSummary: true }), prompt('hi')], 'hi'],
    ['not a subagent', [prompt('no', { isSidechain: true }), prompt('hi')], 'hi'],
    [
      'not a tool result',
      [prompt([{ type: 'tool_result', tool_use_id: 't', content: 'no' }, text('no')]), prompt('hi')],
      'hi',
    ],
    ['not an interruption', [prompt([text('[Request interrupted by user]')]), prompt('hi')], 'hi'],
    [
      'not the output of a local command',
      [prompt('<local-command-stdout>no</local-command-stdout>'), prompt('hi')],
      'hi',
    ],
    [
      'not what an editor adds',
      [
        prompt('<ide_opened_file>no\nno</ide_opened_file>'),
        prompt([text('<ide_selection>no</ide_selection>\nhi')]),
      ],
      'hi',
    ],
    [
      'a command only if there is nothing else',
      [prompt('<command-name>/clear</command-name>\n<command-args>x</command-args>'), prompt('hi')],
      'hi',
    ],
    [
      'else the command',
      [prompt('<command-message>clear</command-message><command-name>/clear</command-name>')],
      '/clear',
    ],
    ['blanks are none', [prompt(' \n'), prompt('hi')], 'hi'],
    ['none at all', [assistant('m2', null, 'hi')], undefined],
  ]
  test.each(table)('%s', async (_name, lines, expected) => {
    expect((await infoOf(jsonl(...lines))).firstPrompt).toBe(expected)
  })

  test('S12: titles and prompts of emoji are never cut in half, at any length', async () => {
    for (let length = 190; length <= 201; length += 1) {
      const info = await infoOf(
        jsonl(prompt('x'.repeat(length) + '😀'.repeat(10)), {
          ...lastPrompt('m1'),
          lastPrompt: 'x'.repeat(length) + '😀'.repeat(10),
        }),
      )
      for (const shown of [info.firstPrompt, info.lastPrompt, info.summary]) {
        expect(shown).not.toMatch(/[\uD800-\uDFFF]/u)
        expect(shown?.length).toBeLessThanOrEqual(201)
      }
    }
  })
})

describe('large transcripts', () => {
  const filler = (bytes: number): Line => ({ type: 'api-request', sessionId: SID, filler: 'x'.repeat(bytes) })

  test('title, tag and last prompt come from the tail, else from the head', async () => {
    const inHead = [{ type: 'custom-title', customTitle: 'Head', sessionId: SID }, prompt('one')]
    expect(await infoOf(jsonl(...inHead, filler(300_000)))).toMatchObject({
      customTitle: 'Head',
      firstPrompt: 'one',
    })
    const inBoth = jsonl(...inHead, filler(300_000), {
      type: 'custom-title',
      customTitle: 'Tail',
      sessionId: SID,
    })
    expect(await infoOf(inBoth)).toMatchObject({ customTitle: 'Tail' })
  })

  test('a prompt that the window cuts gives its beginning', async () => {
    for (const content of ['long '.repeat(40_000), [text('long '.repeat(40_000))]]) {
      const info = await infoOf(jsonl({ type: 'mode', sessionId: SID }, prompt(content), ...straight(2)))
      expect(info.firstPrompt).toBe(`${'long '.repeat(40).trim()}…`)
    }
  })

  test('a cut in the middle of an escape takes nothing of it', async () => {
    for (let before = 0; before < 12; before += 1) {
      const head = JSON.stringify({ type: 'mode', pad: '' })
      const long = `{"type":"user","uuid":"m1","parentUuid":null,"message":{"role":"user","content":"${String.raw`\u00e9`.repeat(200_000)}"}}`
      const bytes = `${head.replace('""', `"${'p'.repeat(65_536 - 300 - head.length - before)}"`)}\n${long}\n`
      expect((await infoOf(bytes)).firstPrompt).toMatch(/^é{1,200}…?$/)
    }
  })

  test('S10: without a prompt in the head it reads on, to 1 MiB and no further', async () => {
    const records = Array.from({ length: 120 }, (_, index) => ({
      type: 'file-history-snapshot',
      messageId: `${index}`,
      snapshot: 'x'.repeat(5_000),
    }))
    const near = jsonl(...records, { ...prompt('found'), cwd: '/w' })
    expect(near.length).toBeGreaterThan(600_000)
    expect(await infoOf(near)).toMatchObject({ firstPrompt: 'found', cwd: '/w' })
    const far = await infoOf(
      jsonl(...records, ...records, { ...prompt('beyond'), cwd: '/w' }, filler(200_000)),
    )
    expect(far).not.toHaveProperty('firstPrompt')
  })

  test('reads at most 64 KiB from each end, whatever the size', async () => {
    const made = await tree({ [`p/${SID}.jsonl`]: jsonl(prompt('one'), filler(3_000_000), ...straight(2)) })
    let reads = 0
    setFaultHook((operation) => {
      if (operation === 'read') reads += 1
      return undefined
    })
    await sessionInfo(made.path(`p/${SID}.jsonl`))
    // Head and tail.
    expect(reads).toBe(2)
    await made.remove()
  })

  test('the last activity is told from the end of a line that the window cuts', async () => {
    // As the client writes it: the time after the message, which here looks like more of them.
    const last = {
      parentUuid: 'm1',
      isSidechain: false,
      type: 'user',
      message: { role: 'user', content: '"timestamp":"2030-01-01T00:00:00.000Z"}\\'.repeat(3_000) },
      uuid: 'm2',
      timestamp: '2026-03-01T00:00:00.000Z',
      nested: { timestamp: '2031-01-01T00:00:00.000Z' },
    }
    const first = { ...prompt('one'), timestamp: '2026-01-01T00:00:00.000Z' }
    const info = await infoOf(jsonl(first, last, { type: 'mode', sessionId: SID }))
    expect(info.lastActivityMs).toBe(Date.UTC(2026, 2, 1))
  })

  test('records that were written after the last entry are no activity', async () => {
    const times = ['2026-01-01', '2026-01-02', '2026-01-03'].map((day) => `${day}T00:00:00.000Z`)
    const info = await infoOf(
      jsonl(
        { ...prompt('one'), timestamp: times[0] },
        { type: 'queue-operation', operation: 'enqueue', timestamp: times[1] },
        user('s', 'm1', 'agent', { isSidechain: true, timestamp: times[2] }),
      ),
    )
    expect(info.lastActivityMs).toBe(Date.UTC(2026, 0, 1))
  })

  test('where the last 1 MiB hold no entry: the newest time in them, else the time of the file', async () => {
    const old = { ...prompt('one'), timestamp: '2026-01-01T00:00:00.000Z' }
    const timed = { type: 'queue-operation', operation: 'x', timestamp: '2026-02-01T00:00:00.000Z' }
    expect((await infoOf(jsonl(old, filler(1_100_000), timed))).lastActivityMs).toBe(Date.UTC(2026, 1, 1))
    const made = await tree({ [`p/${SID}.jsonl`]: jsonl(old, filler(1_100_000)) })
    await utimes(made.path(`p/${SID}.jsonl`), 1_000_000, 1_000_000.5)
    expect(await sessionInfo(made.path(`p/${SID}.jsonl`))).toMatchObject({ lastActivityMs: 1_000_000_500 })
    await made.remove()
  })
})

describe('damage in a list', () => {
  const good = jsonl(...straight(3))
  test.each([
    ['nothing', good, false],
    ['a last line without newline', good.trimEnd(), false],
    ['a byte order mark and CR', `\uFEFF${good.replaceAll('\n', '\r\n')}`, false],
    ['text that looks like two lines in one', jsonl(prompt('a }{'), ...straight(2)), false],
    ['a torn last line', `${good}{"type":"us`, true],
    ['a torn line in the middle', `{"type":"us\n${good}`, true],
    ['zeros', `${good}\0\0\0`, true],
    ['zeros between records', good.replace('\n', '\0\0\0'), true],
    ['two records on one line', good.replace('\n', ''), true],
    ['no object', `${good}[]\n`, true],
  ])('%s', async (_name, bytes, damaged) => {
    expect((await infoOf(bytes)).damaged).toBe(damaged)
  })
  test('a line that the window cuts is none', async () => {
    expect((await infoOf(jsonl(prompt('x'.repeat(400_000)), ...straight(2)))).damaged).toBe(false)
  })
  test('S03: list and load agree on the newest turn, whatever stands after it', async () => {
    const lines = straight(20)
    const made = await tree({
      [`p/${SID}.jsonl`]: `${jsonl(...lines)}${'\0'.repeat(300)}${jsonl({ ...user('m21', 'm20', 'new'), timestamp: '2027-01-01T00:00:00.000Z' })}{"torn`,
    })
    const session = await openSession({ projectDir: made.path('p'), sessionId: SID, mode: 'read' })
    expect(await sessionInfo(session.path)).toMatchObject({
      lastActivityMs: Date.parse((await session.chain()).at(-1)?.timestamp ?? ''),
      damaged: true,
    })
    await session.close()
    await made.remove()
  })
})

describe('a list', () => {
  test('S10: is of every transcript with a conversation, whatever it begins with', async () => {
    const made = await tree({
      [`a/${id(1)}.jsonl`]: jsonl({ type: 'mode' }, prompt('one', { cwd: '/w' })),
      [`a/${id(2)}.jsonl`]: `{"torn\n${jsonl(prompt('two', { cwd: '/w' }))}`,
      [`a/${id(3)}.jsonl`]: `\n${jsonl(prompt('three', { cwd: '/w' }))}`,
      [`b/${id(4)}.jsonl`]: jsonl(
        ...Array.from({ length: 120 }, () => ({ type: 'file-history-snapshot', x: 'y'.repeat(1_000) })),
        prompt('four', { cwd: '/w' }),
      ),
      [`b/${id(5)}.jsonl`]: '',
      [`b/${id(6)}.jsonl`]: jsonl({ type: 'custom-title', customTitle: 'no conversation' }),
      [`b/${id(7)}.jsonl`]: jsonl(prompt('agent', { isSidechain: true })),
      [`b/agent-1234.jsonl`]: jsonl(prompt('not a session')),
      [`b/notes.txt`]: 'x',
      [`b/${id(8)}.jsonl/x`]: 'a directory',
      [`b/${id(1)}/subagents/${id(9)}.jsonl`]: jsonl(prompt('side file')),
      'loose.jsonl': jsonl(prompt('not in a folder')),
    })
    const list = await listSessions({ projectsDir: made.root, cwd: '/w' })
    expect(Object.fromEntries(list.map(({ sessionId, firstPrompt }) => [sessionId, firstPrompt]))).toEqual({
      [id(1)]: 'one',
      [id(2)]: 'two',
      [id(3)]: 'three',
      [id(4)]: 'four',
    })
    expect((await listOf(made)).toSorted()).toEqual([id(1), id(2), id(3), id(4)])
    await made.remove()
  })

  test('without the directory is empty; one that cannot be read is an error', async () => {
    const made = await tree({ [`a/${id(1)}.jsonl`]: jsonl(prompt('one')) })
    expect(await listSessions({ projectsDir: made.path('nowhere') })).toEqual([])
    for (const denied of [made.root, made.path('a')]) {
      setFaultHook((operation, path) =>
        operation === 'readdir' && path === denied
          ? Object.assign(new Error('EACCES'), { code: 'EACCES' })
          : undefined,
      )
      await expect(listSessions({ projectsDir: made.root })).rejects.toMatchObject({
        code: 'DISK_IO',
        details: { path: denied, errno: 'EACCES' },
      })
    }
    await made.remove()
  })

  test('one transcript that cannot be read hides neither itself nor the others', async () => {
    const made = await tree({
      [`-w/${id(1)}.jsonl`]: jsonl(prompt('one', { cwd: '/w' })),
      [`-w/${id(2)}.jsonl`]: jsonl(prompt('two', { cwd: '/w' })),
    })
    setFaultHook((operation, path) =>
      operation === 'open' && path.includes(id(1))
        ? Object.assign(new Error('EACCES'), { code: 'EACCES' })
        : undefined,
    )
    const list = await listSessions({ projectsDir: made.root })
    expect(list.toSorted((a, b) => (a.sessionId < b.sessionId ? -1 : 1))).toMatchObject([
      { sessionId: id(1), damaged: true, summary: '' },
      { sessionId: id(2), damaged: false },
    ])
    expect(await listOf(made, { cwd: '/w' })).toHaveLength(2)
    expect(await listOf(made, { cwd: '/v' })).toHaveLength(0)
    await made.remove()
  })

  test('S11: is in the order of the newest entries, whatever the times of the files', async () => {
    const made = await tree({
      [`a/${id(1)}.jsonl`]: jsonl(...at('2026-01-03T00:00:00.000Z', ...straight(2))),
      [`a/${id(2)}.jsonl`]: jsonl(...at('2026-01-02T00:00:00.000Z', ...straight(2))),
      [`b/${id(3)}.jsonl`]: jsonl(...at('2026-01-01T00:00:00.000Z', ...straight(2))),
    })
    await utimes(made.path(`a/${id(1)}.jsonl`), 1_800_000_000, 1_800_000_000)
    await utimes(made.path(`b/${id(3)}.jsonl`), 1_900_000_000, 1_900_000_000)
    await appendFile(made.path(`a/${id(2)}.jsonl`), jsonl({ type: 'custom-title', customTitle: 'T' }))
    const session = await openSession({ projectDir: made.path('b'), sessionId: id(3) })
    const before = (await stat(session.path)).mtimeMs
    await session.conversation()
    await session.close()
    expect((await stat(session.path)).mtimeMs).toBe(before)
    expect(await listOf(made)).toEqual([id(1), id(2), id(3)])
    for (let limit = 0; limit <= 4; limit += 1) {
      expect(await listOf(made, { limit })).toEqual([id(1), id(2), id(3)].slice(0, limit))
      expect(await listOf(made, { limit: 1, offset: limit })).toEqual(
        [id(1), id(2), id(3)].slice(limit, limit + 1),
      )
    }
    await made.remove()
  })

  test('with a limit it reads no more than it must', async () => {
    const day = 86_400_000
    const files = Array.from(
      { length: 60 },
      (_, n) =>
        [`a/${id(n)}.jsonl`, jsonl(...at(new Date(day * (100 - n)).toISOString(), ...straight(1)))] as const,
    )
    const made = await tree(Object.fromEntries(files))
    for (let n = 0; n < 60; n += 1)
      await utimes(made.path(`a/${id(n)}.jsonl`), 86_400 * (100 - n), 86_400 * (100 - n))
    let opened = 0
    setFaultHook((operation, path) => {
      if (operation === 'open' && path.endsWith('.jsonl')) opened += 1
      return undefined
    })
    expect(await listOf(made, { limit: 3 })).toEqual([id(0), id(1), id(2)])
    expect(opened).toBeLessThanOrEqual(16)
    await made.remove()
  })

  test('S11: with a limit it looks behind files that were only touched', async () => {
    const files = Array.from(
      { length: 40 },
      (_, n) =>
        [`a/${id(n)}.jsonl`, jsonl(...at(`2026-01-01T00:00:${10 + n}.000Z`, ...straight(1)))] as const,
    )
    const made = await tree(Object.fromEntries(files))
    const newest = Date.UTC(2026, 0, 1, 0, 0, 49) / 1_000
    for (let n = 0; n < 40; n += 1) {
      const touched = n < 30 ? newest + 1_000 + n : newest
      await utimes(made.path(`a/${id(n)}.jsonl`), touched, touched)
    }
    expect(await listOf(made, { limit: 2 })).toEqual([id(39), id(38)])
    await made.remove()
  })

  test('never has more than 16 transcripts open at once', async () => {
    const made = await tree(
      Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`a/${id(n)}.jsonl`, jsonl(prompt('x'))])),
    )
    let open = 0
    let most = 0
    setFaultHook((operation, path) => {
      if (!path.endsWith('.jsonl')) return undefined
      if (operation === 'open') most = Math.max(most, (open += 1))
      if (operation === 'close') open -= 1
      return undefined
    })
    expect(await listOf(made)).toHaveLength(100)
    expect(most).toBeLessThanOrEqual(16)
    expect(open).toBe(0)
    await made.remove()
  })

  test('archived sessions are in it only if wanted, beside the others', async () => {
    const made = await tree({
      [`a/${id(1)}.jsonl`]: jsonl(prompt('one')),
      [`a/${id(2)}.jsonl`]: jsonl(prompt('two')),
      [`a/${id(2)}/archived.json`]: '{"archived":true}',
    })
    expect(await listOf(made)).toEqual([id(1)])
    expect((await listOf(made, { archived: true })).toSorted()).toEqual([id(1), id(2)])
    expect(await listOf(made, { archived: false })).toEqual([id(1)])
    await made.remove()
  })

  test('wrong types are a TypeError', async () => {
    const bad: unknown[] = [
      { projectsDir: 7 },
      { projectsDir: '/x', limit: -1 },
      { projectsDir: '/x', limit: 1.5 },
      { projectsDir: '/x', offset: '1' },
      { projectsDir: '/x', cwd: 7 },
      { projectsDir: '/x', cwd: [7] },
    ]
    for (const options of bad)
      await expect(listSessions(options as Parameters<typeof listSessions>[0])).rejects.toBeInstanceOf(
        TypeError,
      )
  })
})

describe('whose sessions', () => {
  test('S15, S19: by the directory that is recorded, else by the folder', async () => {
    const made = await tree({
      [`-w-a-b/${id(1)}.jsonl`]: jsonl(prompt('one', { cwd: '/w/a-b' })),
      [`-w-a-b/${id(2)}.jsonl`]: jsonl(prompt('two', { cwd: '/w/a/b' })),
      [`-w-a-b/${id(3)}.jsonl`]: jsonl(prompt('none')),
      [`elsewhere/${id(4)}.jsonl`]: jsonl(prompt('four', { cwd: '/w/a-b' })),
    })
    expect((await listOf(made, { cwd: '/w/a-b' })).toSorted()).toEqual([id(1), id(3), id(4)])
    expect((await listOf(made, { cwd: '/w/a/b/' })).toSorted()).toEqual([id(2), id(3)])
    expect((await listOf(made, { cwd: ['/w/a/b', '/w/a-b'] })).toSorted()).toEqual([
      id(1),
      id(2),
      id(3),
      id(4),
    ])
    expect(await listOf(made, { cwd: '/w/a_b' })).toEqual([id(3)])
    expect(await listOf(made, { cwd: '/w/a' })).toEqual([])
    expect(await listOf(made, { cwd: [] })).toEqual([])
    const shown = await listSessions({ projectsDir: made.root, cwd: '/w/a/b' })
    expect(shown.map(({ cwd }) => cwd).filter((cwd) => cwd !== undefined)).toEqual(['/w/a/b'])
    await made.remove()
  })

  test('a folder that says whose it is counts as that project’s, whatever its name', async () => {
    const made = await tree({
      [`-w-a-b-x1/${id(1)}.jsonl`]: jsonl(prompt('one')),
      '-w-a-b-x1/.project.json': '{"root":"/w/a-b"}',
      [`-w-a-b/${id(2)}.jsonl`]: jsonl(prompt('two')),
      '-w-a-b/.project.json': '{"root":"/w/a/b"}',
    })
    expect(await listOf(made, { cwd: '/w/a-b' })).toEqual([id(1)])
    expect(await listOf(made, { cwd: '/w/a/b' })).toEqual([id(2)])
    await made.remove()
  })

  test('S10: a session is found by its directory however long its first prompt, and whatever follows', async () => {
    const first = (length: number): Line => {
      const { message, ...rest } = prompt('x'.repeat(length))
      // As the client writes it: the directory after the message.
      return { type: 'user', message, ...rest, cwd: '/w/p' }
    }
    const blob = { type: 'api-request-blob', message: 'y'.repeat(100_000), sessionId: SID }
    const elsewhere = user('m2', 'm1', 'on', { cwd: '/w/p/sub' })
    for (const length of [60_000, 70_000, 900_000, 2_000_000]) {
      const made = await tree({ [`-w-p/${SID}.jsonl`]: jsonl(first(length), blob, elsewhere) })
      expect(await listOf(made, { cwd: '/w/p' })).toEqual([SID])
      const [info] = await listSessions({ projectsDir: made.root })
      if (length < 1_000_000) expect(info).toMatchObject({ cwd: '/w/p', lastCwd: '/w/p/sub' })
      await made.remove()
    }
  })

  test('S18: under any spelling that leads there; a link that leads nowhere is what it says', async () => {
    const made = await tree({ 'real/': '', link: { link: 'real' }, 'projects/': '' })
    const [real, link] = [made.path('real'), made.path('link')]
    await mkdir(made.path('projects/p'))
    await writeFile(made.path(`projects/p/${id(1)}.jsonl`), jsonl(prompt('one', { cwd: link })))
    await writeFile(made.path(`projects/p/${id(2)}.jsonl`), jsonl(prompt('two', { cwd: real })))
    const projects = { root: made.path('projects') }
    for (const cwd of [real, link]) expect(await listOf(projects, { cwd })).toHaveLength(2)
    await unlink(made.path('link'))
    await symlink(made.path('gone'), made.path('link'))
    expect(await listOf(projects, { cwd: link })).toEqual([id(1)])
    expect(await listOf(projects, { cwd: real })).toEqual([id(2)])
    await made.remove()
  })

  test('S29: a session that went on elsewhere is listed there and where it began, and says so', async () => {
    const lines = straight(3).map((line, index) => ({ ...line, cwd: ['/w/p', '/w/p/sub', '/w/tree'][index] }))
    const made = await tree({ [`-w-p/${SID}.jsonl`]: jsonl(...lines) })
    expect(await listOf(made, { cwd: '/w/p' })).toEqual([SID])
    expect(await listOf(made, { cwd: '/w/tree' })).toEqual([SID])
    expect(await listOf(made, { cwd: '/w/p/sub' })).toEqual([])
    expect(await sessionInfo(made.path(`-w-p/${SID}.jsonl`))).toMatchObject({
      cwd: '/w/p',
      lastCwd: '/w/tree',
    })
    await made.remove()
  })

  test('a folder and a transcript behind links are found', async () => {
    const made = await tree({
      'store/p/': '',
      [`store/p/${id(1)}.jsonl`]: jsonl(prompt('one')),
      [`file.jsonl`]: jsonl(prompt('two')),
      'projects/linked': { link: '../store/p' },
      [`projects/q/${id(2)}.jsonl`]: { link: '../../file.jsonl' },
      'projects/dangling': { link: 'nowhere' },
      [`projects/q/${id(3)}.jsonl`]: { link: 'nowhere' },
    })
    expect((await listOf({ root: made.path('projects') })).toSorted()).toEqual([id(1), id(2)])
    await made.remove()
  })
})
