import { readFile, stat } from 'node:fs/promises'
import { createSession, openSession, readTranscript, verifySession } from '@loci/session-jsonl'
import type { TranscriptItem } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { gluedObjects } from '../src/glued-objects.ts'
import { TranscriptParser } from '../src/transcript.ts'
import { chainOf, jsonl, lastPrompt, often, project, reading, SID, straight, user } from './lines.ts'

async function itemsAt(path: string): Promise<TranscriptItem[]> {
  const items: TranscriptItem[] = []
  for await (const item of readTranscript(path)) items.push(item)
  return items
}

async function itemsOf(bytes: string | Uint8Array): Promise<TranscriptItem[]> {
  const made = await tree({ 't.jsonl': bytes })
  try {
    return await itemsAt(made.path('t.jsonl'))
  } finally {
    await made.remove()
  }
}

/** What was found, as `type@offset` for a record and `kind!offset+length:line` for damage. */
function outline(items: readonly TranscriptItem[]): string[] {
  return items.map(({ record, damage, offset, length, line }) =>
    record ? `${record.type}@${offset}` : `${damage?.kind}!${offset}+${length}:${line}`,
  )
}

const A = '{"type":"a","sessionId":"s"}'
const B = '{"type":"b","sessionId":"s"}'

describe('what a line can be', () => {
  const table: [name: string, bytes: string | Uint8Array, expected: string[]][] = [
    ['nothing', '', []],
    ['newlines only', '\n\n\r\n', []],
    ['two records', `${A}\n${B}\n`, ['a@0', 'b@29']],
    ['a last record without newline', `${A}\n${B}`, ['a@0', 'b@29']],
    ['CR before LF, and blank lines', `${A}\r\n\r\n ${B} \r\n`, ['a@0', 'b@33']],
    ['a byte order mark', `\uFEFF${A}\n\uFEFF${B}\n`, ['a@3', 'b@35']],
    ['a torn last line', `${A}\n{"type":"b","x":"y`, ['a@0', 'torn-line!29+18:2']],
    ['a torn line in the middle', `${A}\n{"type":\n${B}\n`, ['a@0', 'torn-line!29+8:2', 'b@38']],
    ['two records on one line', `${A}${B}\n`, ['a@0', 'glued-lines!28+28:1', 'b@28']],
    [
      'three records on one line',
      `${A} ${B}${A}\n`,
      ['a@0', 'glued-lines!29+28:1', 'b@29', 'glued-lines!57+28:1', 'a@57'],
    ],
    ['a record after the stub of another', `{"type":"x","m":{"t${A}\n`, ['torn-line!0+19:1', 'a@19']],
    [
      'a record after a stub cut inside a string',
      `{"m":[{"type":"text","text":"q${A}\n`,
      ['torn-line!0+30:1', 'a@30'],
    ],
    [
      'a stub that holds a whole object',
      `{"m":{"type":"text","text":"q"}\n${A}\n`,
      ['torn-line!0+31:1', 'a@32'],
    ],
    ['a record and rubbish after it', `${A}oops\n${B}\n`, ['a@0', 'torn-line!28+4:1', 'b@33']],
    [
      'no objects',
      `[1]\n"s"\n7\nnull\n${A}\n`,
      ['not-an-object!0+3:1', 'not-an-object!4+3:2', 'not-an-object!8+1:3', 'not-an-object!10+4:4', 'a@15'],
    ],
    ['an object without a type', `{"a":1}\n{"type":7}\n${A}\n`, ['no-type!0+7:1', 'no-type!8+10:2', 'a@19']],
    ['zeros on a line of their own', `${A}\n\0\0\0\n${B}\n`, ['a@0', 'zero-run!29+3:2', 'b@33']],
    ['zeros before a record', `${A}\n\0\0\0${B}\n`, ['a@0', 'zero-run!29+3:2', 'b@32']],
    ['zeros between two records', `${A}\0\0${B}\n`, ['a@0', 'zero-run!28+2:1', 'b@30']],
    ['zeros at the end', `${A}\n\0\0\0\0`, ['a@0', 'zero-run!29+4:2']],
    [
      'a record torn by zeros: one place, one note',
      `{"type":"x\0\0\0y"}\n${A}\n`,
      ['torn-line!0+16:1', 'a@17'],
    ],
    [
      'bytes that are not UTF-8',
      Buffer.from(`{"type":"a","x":"\xff"}\n`, 'latin1'),
      ['invalid-utf8!0+20:1', 'a@0'],
    ],
  ]
  test.each(table)('%s', async (_name, bytes, expected) => {
    expect(outline(await itemsOf(bytes))).toEqual(expected)
  })

  test('damage has the path, the line from 1 and a message for people', async () => {
    const made = await project(`${A}\n{"type":\n`)
    const [, item] = await itemsAt(made.file)
    expect(item?.damage).toEqual({
      kind: 'torn-line',
      path: made.file,
      offset: 29,
      line: 2,
      message: 'Line 2 is not JSON, as a write cut short leaves it',
    })
    await made.remove()
  })

  test('a transcript that is not there is SESSION_NOT_FOUND', async () => {
    await expect(itemsAt('/nowhere/x.jsonl')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    await expect(verifySession('/nowhere/x.jsonl')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
})

describe('what stands behind or inside a stub', () => {
  const own = JSON.stringify(user('u9', null, 'good'))
  const other = own.replace(SID, 'other')
  const inside = (value: string): string =>
    `{"type":"user","uuid":"t1","sessionId":"${SID}","x":{"y":${value},"z":"to`
  const table: [name: string, line: string, found: string[]][] = [
    ['a record inside the stub', inside(own), ['torn-line']],
    ['another session’s record behind it', `{"type":"user","x":${other}`, ['torn-line']],
    ['a value that is no record', `{"type":"user","x":{"type":"text","text":"q"}`, ['torn-line']],
    ['a record behind it', `{"type":"user","x":{"l":1},"y":"${own}`, ['torn-line', 'u9']],
    [
      'two behind it',
      `{"type":"us${own}${own.replace('u9', 'u8')}`,
      ['torn-line', 'u9', 'glued-lines', 'u8'],
    ],
    ['a record, a stub, a record', `${own}{"x":{"l":1},"${own}`, ['u9', 'torn-line', 'u9']],
    [
      'a line of the file history',
      `{"type":"us{"type":"file-history-delta","messageId":"m"}`,
      ['torn-line', 'file-history-delta'],
    ],
    [
      'a record behind more objects than anybody counts',
      `{"type":"user","matches":[${'{"l":1},'.repeat(20_000)}{"l":${own}`,
      ['torn-line', 'u9'],
    ],
  ]
  test.each(table)('%s', async (_name, line, found) => {
    const made = await project(`${line}\n`)
    const items = await itemsAt(made.file)
    expect(items.map(({ record, damage }) => record?.['uuid'] ?? record?.type ?? damage?.kind)).toEqual(found)
    await made.remove()
  })

  const crafted: [name: string, line: string][] = [
    ['objects that open', '{"a":'.repeat(50_000)],
    ['objects and arrays that open', `${'{"a":'.repeat(50_000)}[${'"a",'.repeat(50_000)}`],
    ['objects that close', '}'.repeat(200_000)],
    ['whole objects that are no JSON', '{"a":tru}'.repeat(30_000)],
    ['whole objects', `x${'{"a":1}'.repeat(30_000)}`],
    ['quotes and backslashes', '{"\\"'.repeat(50_000)],
    ['brackets that do not match', '{"a":[}'.repeat(50_000)],
  ]
  test.each(crafted)('of %s no character is looked at more than five times', (_name, line) => {
    const { looked } = gluedObjects(line, 0, line.length, ({ start, end }) => {
      try {
        return JSON.parse(line.slice(start, end)) !== undefined
      } catch {
        return false
      }
    })
    expect(looked).toBeLessThanOrEqual(5 * line.length)
  })
})

test('a line that alternates with zeros is looked through for its end once', () => {
  const chunk = Buffer.from('x\0'.repeat(10_000))
  const indexOf = vi.spyOn(chunk, 'indexOf')
  expect(new TranscriptParser('x').push(chunk)).toEqual([])
  expect(indexOf.mock.calls.filter(([value]) => Number(value) === 0x0a)).toHaveLength(1)
})

test('where the chunks of the reader end makes no difference', async () => {
  const chunk = 256 * 1024
  const damaged = Buffer.from(`${A}\n\0\0{"type":"é\u2028","t\0\0${B}${A}\n{"tor${B}\r\n\uFEFF${B}\n${A}`)
  const lone = outline(await itemsOf(damaged))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: damaged.length }), async (before) => {
      // A line of blanks, so long that the first chunk ends after `before` bytes of what follows.
      const filler = Buffer.alloc(chunk - before, ' ')
      filler[filler.length - 1] = 0x0a
      const items = await itemsOf(Buffer.concat([filler, damaged]))
      const moved = items.map((item) => ({
        ...item,
        offset: item.offset - filler.length,
        line: item.line - 1,
      }))
      expect(outline(moved)).toEqual(lone)
    }),
    { numRuns: often(60, 25) },
  )
})

const junk = fc
  .array(
    fc.oneof(
      fc.constantFrom(A, B, '\n', '\0', '{"', '"', '}', '{', '[', '\r', '\uFEFF', 'é', '\\', '{"type":"'),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

test('whatever stands between them, records on lines of their own are read, in order, where they lie', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(junk, { minLength: 1, maxLength: 5 }), async (gaps) => {
      const good = gaps.map((_, index) => JSON.stringify({ type: 'good', sessionId: 's', index }))
      const bytes = Buffer.from(gaps.map((gap, index) => `${gap}\n${good[index]}\n`).join(''))
      const found: string[] = []
      let last = 0
      for (const { record, damage, offset, length } of await itemsOf(bytes)) {
        expect(length).toBeGreaterThan(0)
        if (damage) continue
        const json = bytes.toString('utf8', offset, offset + length)
        expect(JSON.parse(json)).toEqual(record)
        expect(offset).toBeGreaterThanOrEqual(last)
        last = offset + length
        if (record?.type === 'good') found.push(json)
      }
      expect(found).toEqual(good)
    }),
    { numRuns: often(120, 40) },
  )
})

test('S02: after a hard kill the stub is fenced off, and nothing but it is lost', async () => {
  const stub = '{"type":"user","uuid":"m6","parentUuid":"'.slice(0, 40)
  const made = await project(jsonl(...straight(5)) + stub)
  const before = await readFile(made.file)
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  expect(await readFile(made.file)).toEqual(before)
  const appended = await session.append({ type: 'assistant', message: { role: 'assistant', content: 'on' } })
  await session.close()

  const items = await itemsAt(made.file)
  expect(items.filter(({ record }) => record)).toHaveLength(6)
  const damage = await verifySession(made.file)
  expect(damage).toMatchObject([{ kind: 'torn-line', line: 6, offset: before.length - 40 }])
  const after = await readFile(made.file)
  expect(after.subarray(0, before.length)).toEqual(before)
  const reopened = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
  expect((await reopened.chain()).map(({ uuid }) => uuid)).toEqual([
    'm1',
    'm2',
    'm3',
    'm4',
    'm5',
    appended.uuid,
  ])
  await reopened.close()
  await made.remove()
})

test('S02: a last record without its newline counts, and the next one begins its own line', async () => {
  const made = await project(jsonl(...straight(5)).trimEnd())
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  expect(session.tip).toBe('m5')
  await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
  expect(await session.chain()).toHaveLength(6)
  expect(await session.damage()).toEqual([])
  await session.close()
  await made.remove()
})

describe('S03: zero runs, as a power cut leaves them', () => {
  const lines = straight(20).map((line) => JSON.stringify(line))
  const others = lines.filter((_, index) => index !== 7)
  test('in place of a record: the others load, the gap is bridged and named', async () => {
    const bytes = `${others.slice(0, 7).join('\n')}\n${'\0'.repeat(300)}\n${others.slice(7).join('\n')}\n`
    expect(await chainOf(bytes)).toHaveLength(19)
    const damage = await reading(bytes, (session) => session.damage())
    expect(damage.map(({ kind, line }) => [kind, line])).toEqual([
      ['zero-run', 8],
      ['missing-parent', 9],
    ])
  })
  test('before a record on its line: the record loads', async () => {
    const bytes = `${lines.slice(0, 8).join('\n')}\n${'\0'.repeat(9_000)}${lines.slice(8).join('\n')}\n`
    expect(await chainOf(bytes)).toHaveLength(20)
    expect(await reading(bytes, (session) => session.damage())).toMatchObject([{ kind: 'zero-run', line: 9 }])
  })
  test('at the end: everything loads, and the next append begins its own line', async () => {
    const made = await project(`${lines.join('\n')}\n${'\0'.repeat(140_000)}`)
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
    expect(await session.chain()).toHaveLength(21)
    expect(await session.damage()).toMatchObject([{ kind: 'zero-run', line: 21 }])
    await session.close()
    await made.remove()
  })
})

test('S27: byte order marks and CR are taken off on reading; an empty file is an empty conversation', async () => {
  const plain = jsonl(...straight(4))
  expect(await chainOf(`\uFEFF${plain.replaceAll('\n', '\r\n')}`)).toEqual(['m1', 'm2', 'm3', 'm4'])
  expect(await reading(`\uFEFF${plain.replaceAll('\n', '\r\n')}`, (session) => session.damage())).toEqual([])
  for (const bytes of ['', '\n\n', '\uFEFF', '\r\n']) {
    expect(
      await reading(bytes, async (session) => [
        session.tip,
        await session.conversation(),
        await session.damage(),
      ]),
    ).toEqual([null, [], []])
  }
})

test('S08: only a byte 0x0A ends a line; text comes back as it was, escaped for readers that think otherwise', async () => {
  const odd = 'a\u2028b\u2029c\u0085d\u000Be\u000Cf\rg'
  const made = await project(undefined)
  const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
  await session.append({ type: 'user', message: { role: 'user', content: odd } })
  await session.record({ type: 'note', [odd]: odd })
  const bytes = await readFile(made.file, 'utf8')
  expect(bytes.split('\n')).toHaveLength(3)
  expect(bytes).not.toMatch(/[\u2028\u2029]/)
  expect(await session.conversation()).toEqual([{ role: 'user', content: odd }])
  expect(await session.records('note')).toEqual([{ type: 'note', [odd]: odd, sessionId: SID }])
  await session.close()
  await made.remove()
  // As a writer that does not escape leaves it.
  expect(await reading(jsonl(user('m1', null, odd)), (read) => read.conversation())).toEqual([
    { role: 'user', content: odd },
  ])
})

test('reading never changes a file: not its bytes, not its time', async () => {
  const made = await project(`${A}${B}\n\0\0${jsonl(...straight(3), lastPrompt('m1'))}{"torn`)
  const before = [await readFile(made.file), (await stat(made.file, { bigint: true })).mtimeNs]
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
  await session.chain()
  await session.conversation()
  await session.tips()
  await session.damage()
  await session.close()
  await verifySession(made.file)
  const writer = await openSession({ projectDir: made.projectDir, sessionId: SID })
  await writer.chain()
  await writer.close()
  expect([await readFile(made.file), (await stat(made.file, { bigint: true })).mtimeNs]).toEqual(before)
  await made.remove()
})

test('lines of another session are read and flagged, one note for each id', async () => {
  const lines = straight(4).map((line, index) => (index < 2 ? { ...line, sessionId: 'older' } : line))
  const damage = await reading(jsonl(...lines), (session) => session.damage())
  expect(damage).toMatchObject([{ kind: 'foreign-session', line: 1 }])
  expect(damage[0]?.message).toContain('Line 1 and 1 more')
  expect(await chainOf(jsonl(...lines))).toHaveLength(4)
})
