import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import {
  createSession,
  exportSession,
  forkSession,
  listSessions,
  openSession,
  readTranscript,
  renameSession,
  searchSessions,
  sessionInfo,
  tagSession,
  verifySession,
} from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  assistant,
  call,
  jsonl,
  often,
  project,
  reading,
  result,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'

// What was reported of other products, and its kind: what the bytes of a file can be.

const say = (content: unknown): { type: 'user'; message: { role: 'user'; content: unknown } } => ({
  type: 'user',
  message: { role: 'user', content },
})

describe('S02: a last line that a kill cut short', () => {
  test('S02: wherever it was cut, the five before it and the next one load, and its stub stays', async () => {
    const five = jsonl(...straight(5))
    const sixth = Buffer.from(jsonl(user('m6', 'm5', 'é \u2028 😀 {"type":"user"} }\n')))
    const ends = new Set([1, 2, 40, sixth.length - 2, sixth.length - 1])
    for (let end = 3; end < sixth.length; end += often(1, 13)) ends.add(end)
    for (const end of ends) {
      const before = Buffer.concat([Buffer.from(five), sixth.subarray(0, end)])
      const made = await project(before)
      await (await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })).close()
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      expect(await readFile(made.file)).toEqual(before)
      const { uuid } = await session.append(say('on'))
      await session.close()
      const whole = end === sixth.length - 1
      const read = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
      expect((await read.chain()).map((entry) => entry.uuid)).toEqual([
        'm1',
        'm2',
        'm3',
        'm4',
        'm5',
        ...(whole ? ['m6'] : []),
        uuid,
      ])
      expect(await read.damage()).toMatchObject(
        whole ? [] : [{ kind: 'torn-line', line: 6, offset: five.length }],
      )
      await read.close()
      expect((await readFile(made.file)).subarray(0, before.length)).toEqual(before)
      await made.remove()
    }
  })

  test('S02: rename and tag, which take no lease, begin a line of their own too', async () => {
    const made = await project(`${jsonl(...straight(5))}{"type":"us`)
    await renameSession({ projectDir: made.projectDir, sessionId: SID, title: 'Kept' })
    await tagSession({ projectDir: made.projectDir, sessionId: SID, tag: 'kept' })
    expect(await sessionInfo(made.file)).toMatchObject({ customTitle: 'Kept', tag: 'kept' })
    expect(await verifySession(made.file)).toMatchObject([{ kind: 'torn-line', line: 6 }])
    await made.remove()
  })
})

describe('S03: zeros that a power cut left', () => {
  const lines = straight(20).map((line) => JSON.stringify(line))
  const join = (...parts: string[]): string => parts.join('\n')
  const before = join(...lines.slice(0, 7))
  const files: [name: string, bytes: string, chain: number][] = [
    ['in place of the eighth', join(before, '\0'.repeat(300), ...lines.slice(8), ''), 19],
    [
      'before the ninth, on its line',
      join(...lines.slice(0, 8), '\0'.repeat(9_000) + join(...lines.slice(8), '')),
      20,
    ],
    ['140,000 at the end', join(...lines, '\0'.repeat(140_000)), 20],
    ['30,000 at the end, on the last line', join(...lines) + '\0'.repeat(30_000), 20],
    [
      '140,000 before the last record',
      join(...lines.slice(0, 19), '\0'.repeat(140_000) + (lines[19] ?? ''), ''),
      20,
    ],
  ]
  test.each(files)(
    'S03: %s: all that parses loads, and the list agrees on the newest turn',
    async (_name, bytes, length) => {
      const made = await project(bytes)
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
      const chain = await session.chain()
      expect(chain).toHaveLength(length)
      expect((await session.damage()).filter(({ kind }) => kind === 'zero-run')).toHaveLength(1)
      await session.close()
      const [info] = await listSessions({ projectsDir: made.root })
      expect(info).toMatchObject({ firstPrompt: 'say m1' })
      // Zeros that fill the window of a list: `reports-sizes.long.test.ts`.
      if (!bytes.endsWith('\0'.repeat(70_000)))
        expect(info?.lastActivityMs).toBe(Date.parse(chain.at(-1)?.timestamp ?? ''))
      await made.remove()
    },
  )
})

describe('S08: what other readers take for line ends', () => {
  const odd = [
    '\u2028',
    '\u2029',
    '\u0085',
    '\u000B',
    '\u000C',
    '\r',
    '\r\n',
    '\n',
    '\u001C',
    '\u001D',
    '\u001E',
    '\0',
  ]
  test.each(odd.map((unit) => [JSON.stringify(unit), unit]))(
    'S08: a result with %s is one line for whole-file and streaming readers, and comes back as it was',
    async (_name, unit) => {
      const said = `before${unit}after`
      const made = await project(undefined)
      const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
      await session.append(say(said))
      await session.append({ type: 'assistant', message: { role: 'assistant', content: [call('t1')] } })
      await session.append(say([result('t1', said)]))
      await session.record({ type: 'x-note', [said]: said })
      const sent = await session.conversation()
      await session.close()
      expect(sent[0]).toEqual({ role: 'user', content: said })
      expect(sent[2]).toEqual({ role: 'user', content: [result('t1', said)] })

      const whole = await readFile(made.file, 'utf8')
      // U+0085 is left as it is: it ends a line for few, and escaping it is not asked for.
      for (const raw of odd) if (raw !== '\n' && raw !== '\u0085') expect(whole).not.toContain(raw)
      expect(whole.split('\n')).toHaveLength(5)
      const streamed: unknown[] = []
      for await (const line of createInterface({ input: createReadStream(made.file) }))
        streamed.push(JSON.parse(line))
      expect(streamed).toHaveLength(4)
      const records: unknown[] = []
      for await (const { record } of readTranscript(made.file)) records.push(record)
      expect(records).toEqual(streamed)

      const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
      const fork = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
      expect(await fork.conversation()).toEqual(sent)
      expect(await fork.records('x-note')).toMatchObject([{ [said]: said }])
      await fork.close()
      await made.remove()
    },
  )

  test('S08: files in which they stand raw, as other writers leave them, load the same', async () => {
    const said = `a${odd.join('b')}c`
    const lines = [
      user('m1', null, said),
      assistant('m2', 'm1', [call('t1')]),
      user('m3', 'm2', [result('t1', said)]),
    ]
    // JSON.stringify leaves U+2028, U+2029 and U+0085 as they are.
    expect(jsonl(...lines)).toContain('\u2028')
    const sent = await reading(jsonl(...lines), (session) => session.conversation())
    expect(sent[0]).toEqual({ role: 'user', content: said })
    expect(sent[2]).toEqual({ role: 'user', content: [result('t1', said)] })
  })

  test('S08: any text at all comes back as it was, one line an entry', async () => {
    const unit = fc.oneof(fc.constantFrom(...odd), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit, minLength: 1 }), { minLength: 1, maxLength: 4 }),
        async (said) => {
          const made = await project(undefined)
          const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
          for (const content of said) await session.append(say(content))
          await session.close()
          expect((await readFile(made.file, 'latin1')).split('\n')).toHaveLength(said.length + 1)
          const read = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
          expect((await read.chain()).map(({ message }) => message)).toEqual(
            said.map((content) => ({ role: 'user', content })),
          )
          await read.close()
          await made.remove()
        },
      ),
      { numRuns: often(300, 40) },
    )
  })
})

describe('S12: half an emoji', () => {
  const halves: [name: string, message: Line][] = [
    ['at the end of a text', { role: 'user', content: 'end \uD83D' }],
    ['at the beginning of one', { role: 'user', content: [text('\uDE00 begin')] }],
    ['in a key, deep', { role: 'user', content: [text('x')], extra: { a: [{ '\uD83D key': '\uDE00' }] } }],
    ['two, the wrong way round', { role: 'user', content: '\uDE00\uD83D' }],
    [
      'in a result',
      { role: 'user', content: [result('t0', [text('\uD83D')]), result('t1', '\uDE00'), text('x')] },
    ],
  ]
  test.each(halves)(
    'S12: %s: appended, loaded, sent, found, exported and listed, all well-formed',
    async (_name, message) => {
      const made = await project(
        jsonl(user('m1', null, 'hi'), assistant('m2', 'm1', [call('t0'), call('t1')])),
      )
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      const { uuid } = await session.append({ type: 'user', message })
      await session.close()
      const again = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
      const out: unknown[] = [await again.conversation(), await sessionInfo(made.file)]
      // What was said is kept as it was, for whoever can tell more of it.
      expect((await again.entry(uuid))?.message).toEqual(message)
      await again.close()
      for await (const hit of searchSessions({ projectsDir: made.root, query: 'x' })) out.push(hit)
      for (const format of ['markdown', 'html'] as const)
        for await (const piece of exportSession(made.file, { format })) out.push(piece)
      expect(JSON.stringify(out)).not.toMatch(/[\uD800-\uDFFF]/u)
      expect(JSON.stringify(out)).not.toMatch(/\\u[dD][89a-fA-F]/)
      expect(await verifySession(made.file)).toEqual([])
      await made.remove()
    },
  )

  test('S12: titles, tags, prompts and snippets of ten emoji, cut before at every length, end in whole ones', async () => {
    const ten = '😀'.repeat(10)
    for (let length = 1; length <= 10; length += 1) {
      const cut = ten.slice(0, length)
      const made = await project(
        jsonl(user('m1', null, `word ${cut}`), assistant('m2', 'm1', `${'x'.repeat(90 + length)}word${ten}`)),
      )
      await renameSession({ projectDir: made.projectDir, sessionId: SID, title: `word ${cut}` })
      await tagSession({ projectDir: made.projectDir, sessionId: SID, tag: cut })
      const shown: unknown[] = await listSessions({ projectsDir: made.root })
      for await (const hit of searchSessions({ projectsDir: made.root, query: 'word' })) shown.push(hit)
      expect(shown).toHaveLength(4)
      expect(JSON.stringify(shown)).not.toMatch(/\\u[dD][89a-fA-F]/)
      const { path } = await forkSession({ projectDir: made.projectDir, sessionId: SID, title: cut })
      expect(JSON.stringify(await sessionInfo(path))).not.toMatch(/\\u[dD][89a-fA-F]/)
      await made.remove()
    }
  })
})

describe('S27: byte order marks, CRLF and files that hold nothing', () => {
  const four = jsonl(...straight(4))
  const dressed: [name: string, bytes: string][] = [
    ['a byte order mark', `\uFEFF${four}`],
    ['CRLF', four.replaceAll('\n', '\r\n')],
    ['both, and empty lines', `\uFEFF\r\n${four.replaceAll('\n', '\r\n\r\n')}`],
    ['a mark on each line', `\uFEFF${four.trimEnd().replaceAll('\n', '\n\uFEFF')}\n`],
  ]
  test.each(dressed)(
    'S27: %s: load, list, append, rename, fork and verify as without',
    async (_name, bytes) => {
      const made = await project(bytes)
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'm3', 'm4'])
      await session.append(say('on'))
      await session.close()
      await renameSession({ projectDir: made.projectDir, sessionId: SID, title: 'Dressed' })
      expect(await listSessions({ projectsDir: made.root })).toMatchObject([
        { customTitle: 'Dressed', firstPrompt: 'say m1', damaged: false },
      ])
      expect((await readFile(made.file, 'utf8')).startsWith(bytes)).toBe(true)
      const { path } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
      for (const file of [made.file, path]) expect(await verifySession(file)).toEqual([])
      await made.remove()
    },
  )
  test.each(['', '\n\n\n', '\uFEFF', '\r\n\r\n', ' \t\n'])(
    'S27: a file of %j has no messages and is no error',
    async (bytes) => {
      const made = await project(bytes)
      expect(await verifySession(made.file)).toEqual([])
      expect(await listSessions({ projectsDir: made.root })).toEqual([])
      expect(await sessionInfo(made.file)).toMatchObject({ summary: '', damaged: false })
      for (const format of ['markdown', 'html', 'jsonl'] as const)
        for await (const piece of exportSession(made.file, { format })) expect(typeof piece).toBe('string')
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      expect([session.tip, await session.chain(), await session.tips()]).toEqual([null, [], []])
      await session.append(say('first'))
      expect(await session.chain()).toHaveLength(1)
      await session.close()
      expect((await readFile(made.file, 'utf8')).startsWith(bytes)).toBe(true)
      expect(await verifySession(made.file)).toEqual([])
      await made.remove()
    },
  )
})
