import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memory, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { times } from './thorough.ts'
import { parse } from 'yaml'

let work: Tree
beforeEach(async () => {
  work = await tree()
})
afterEach(() => work.remove())

const draft: MemoryDraft = { name: 'Tabs', description: 'prefers tabs', type: 'user', body: 'Tabs it is.' }

/** A hand-made file, read. */
async function read(text: string | Uint8Array, file = 'note.md'): Promise<Memory | undefined> {
  await writeFile(work.path(file), text)
  return (await openMemdir({ dir: work.root })).read(file)
}

async function kinds(): Promise<string[]> {
  return (await (await openMemdir({ dir: work.root })).list()).damage.map(({ kind }) => kind)
}

/** A hand-made file, then changed by a save; what the file holds after that. */
async function rewrite(text: string, change: Partial<MemoryDraft>): Promise<string> {
  const memdir = await openMemdir({ dir: work.root, sessionId: 'new-session' })
  const memory = await read(text)
  if (memory === undefined) throw new Error('not read')
  const { name, description, type, body, file, revision } = memory
  await memdir.save({ name, description, type, body, file, ...change }, { ifRevision: revision })
  return work.read('note.md')
}

describe('a new topic file', () => {
  test('has name, description, type, the type again with the origin, and the body', async () => {
    const memdir = await openMemdir({ dir: work.root, sessionId: 's-1', messageId: 'm-1' })
    await memdir.save(draft)
    expect(await work.read('user_tabs.md')).toBe(
      '---\nname: Tabs\ndescription: prefers tabs\ntype: user\nmetadata:\n  type: user\n' +
        '  originSessionId: s-1\n  originMessageId: m-1\n---\n\nTabs it is.\n',
    )
  })

  test('without a session holds no origin', async () => {
    await (await openMemdir({ dir: work.root })).save(draft)
    expect(await work.read('user_tabs.md')).toBe(
      '---\nname: Tabs\ndescription: prefers tabs\ntype: user\nmetadata:\n  type: user\n---\n\nTabs it is.\n',
    )
  })
})

// prettier-ignore
const AWKWARD = [
  'a: b', 'a #b', '"q"', "it's", '- x', '[x]', '{x}', '%x', '@x', 'yes', 'No', 'y', 'null', '~', '1.0', '007', '1e3', '0x1F',
  '12:30:45', '2026-01-01', '---', '...', 'line\nbreak', 'line\r\nbreak', '\n', 'tab\there', '🎻 emoji', '', ' ', ' padded ',
  'x'.repeat(5_000), '記憶'.repeat(2_000), '#x', '&x', '*x', '!x', '|', '>', '? x', ':', 'a:', '`x`', ',', 'back\\slash',
  '\u2028', '\u0085', '\uFEFFx', '\u007f', '\0', '\u202Ertl', 'a  b', '<<', '=', '.inf', 'trailing ', 'é', 'e\u0301', '\uD83D\uDE00',
]

describe('M08: whatever is in a field is read back as it was given', () => {
  test.each(AWKWARD.map((text) => [text]))('%j', async (text) => {
    const memdir = await openMemdir({ dir: work.root })
    const given: MemoryDraft = {
      name: `n${text}`,
      description: text,
      type: 'feedback',
      // A blank body is refused.
      body: text.trim() === '' ? `${text}b${text}` : text,
      file: 'x.md',
    }
    const { memory } = await memdir.save(given)
    expect(memory).toMatchObject(given)
    expect(await memdir.read('x.md')).toEqual(memory)
    expect((await memdir.list()).damage).toEqual([])
    // Readers that insist on a YAML version, and one that takes scalars for more than text where it can.
    const yaml = (await work.read('x.md')).split('\n---\n')[0]?.slice(4) ?? ''
    expect(yaml).not.toMatch(/[\u007f-\u009f\u2028\u2029\uFEFF\uFFFE\uFFFF]/)
    for (const version of ['1.1', '1.2'] as const) {
      expect(parse(yaml, { version, strict: true })).toEqual({
        name: `n${text}`,
        description: text,
        type: 'feedback',
        metadata: { type: 'feedback' },
      })
    }
    // Readers that go line by line find each key on a line of its own.
    expect(yaml.split('\n').map((line) => line.split(':')[0])).toEqual([
      'name',
      'description',
      'type',
      'metadata',
      '  type',
    ])
  })

  test('any text, in new files and over old ones', async () => {
    const memdir = await openMemdir({ dir: work.root, sessionId: 's' })
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...AWKWARD),
    )
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        text,
        fc.constantFrom('user', 'feedback', 'project', 'reference'),
        async (...fields) => {
          const [name, description, body, type] = fields
          const given = { name: `n${name}`, description, body: `${body}b`, type, file: 'x.md' } as const
          const ifRevision = (await memdir.read('x.md'))?.revision
          const { memory } = await memdir.save(given, { ifRevision })
          expect(memory).toMatchObject(given)
          expect(await memdir.read('x.md')).toMatchObject(given)
          expect(await memdir.verify()).toEqual([])
        },
      ),
      { numRuns: times(12, 100) },
    )
  })
})

describe('a topic file written elsewhere', () => {
  test('as the client leaves it', async () => {
    const text =
      '---\nname: likes-tabs\ndescription: user prefers tabs\nmetadata:\n  node_type: memory\n  type: user\n' +
      '  originSessionId: e8e274eb-8152-46f6-9cfd-a81a5e3f156c\n  modified: 2026-11-30T09:46:17.708Z\n---\n\nThe user prefers tabs.\n'
    expect(await read(text, 'likes-tabs.md')).toEqual({
      name: 'likes-tabs',
      description: 'user prefers tabs',
      type: 'user',
      body: 'The user prefers tabs.',
      file: 'likes-tabs.md',
      modifiedAtMs: expect.any(Number),
      revision: createHash('sha256').update(text).digest('hex'),
      originSessionId: 'e8e274eb-8152-46f6-9cfd-a81a5e3f156c',
    })
    expect(await kinds()).toEqual([])
  })

  test('with brackets and line breaks in its fields, without a type, without a blank line', async () => {
    expect(await read('---\nname: "we]ird [x]"\ndescription: "multi\\nline"\n---\nx\n')).toMatchObject({
      name: 'we]ird [x]',
      description: 'multi\nline',
      type: 'project',
      body: 'x',
    })
    expect(await kinds()).toEqual([])
  })

  test('metadata.type beats type', async () => {
    expect(await read('---\ntype: user\nmetadata:\n  type: feedback\n---\n')).toMatchObject({
      type: 'feedback',
    })
    expect(await read('---\ntype: user\nmetadata: x\n---\n')).toMatchObject({ type: 'user' })
  })

  test('with aliases, flow style, comments, and scalars that look like more than text', async () => {
    expect(await read('---\nname: &n 1.0\ndescription: *n\n---\n')).toMatchObject({
      name: '1.0',
      description: '1.0',
    })
    expect(await read('---\n{name: yes, metadata: {type: user}}\n---\n')).toMatchObject({
      name: 'yes',
      type: 'user',
    })
    expect(await read('---\n# only this\n---\nx')).toMatchObject({ name: 'note', body: 'x' })
  })

  test('with a byte order mark and CRLF', async () => {
    const text = '\uFEFF---\r\nname: Tabs\r\ntype: user\r\n---\r\n\r\none\r\ntwo\r\n'
    expect(await read(text)).toMatchObject({ name: 'Tabs', type: 'user', body: 'one\ntwo' })
    expect(await kinds()).toEqual([])
  })

  test.each([
    ['none at all', 'no frontmatter here\n', 'no front', 'no-front-matter', 1],
    ['an empty file', '', '', 'no-front-matter', 1],
    ['never closed', '---\nname: x\nbody\n', '---\nname: x', 'front-matter', 1],
    ['a colon too many', '---\nname: x\ndescription: a: b\n---\nbody\n', '---\nname: x', 'front-matter', 3],
    ['a key twice', '---\nname: x\nname: y\n---\nbody\n', '---\nname: x', 'front-matter', 3],
    ['indented by tabs', '---\nmetadata:\n\ttype: user\n---\nbody\n', '---\nmetadata', 'front-matter', 3],
    ['no mapping', '---\njust text\n---\nbody\n', '---\njust text', 'front-matter', 2],
    ['a list', '---\n- a\n---\nbody\n', '---\n- a', 'front-matter', 2],
  ])(
    'M08: broken front matter, %s, leaves it listed as plain text and is reported',
    async (_, text, start, kind, line) => {
      const memory = await read(text)
      expect(memory).toMatchObject({
        name: 'note',
        description: '',
        type: 'project',
        body: text.replace(/\n$/, ''),
      })
      expect(memory?.body.startsWith(start)).toBe(true)
      const { memories, damage } = await (await openMemdir({ dir: work.root })).list()
      // One sentence; the line is named once, in `line`.
      expect(damage[0]?.message).toMatch(/^The [^\n]*[^:.\s]$/)
      expect(damage[0]?.message).not.toMatch(/line \d|column \d/)
      expect(memories).toEqual([memory])
      expect(damage).toEqual([{ kind, line, path: work.path('note.md'), message: expect.any(String) }])
    },
  )

  test('an unknown type is reported', async () => {
    expect(await read('---\nname: x\ntype: note\n---\n')).toMatchObject({ name: 'x', type: 'project' })
    expect(await kinds()).toEqual(['unknown-type'])
  })

  test('bytes that are not UTF-8 are shown as U+FFFD, reported, and never rewritten', async () => {
    const bytes = Buffer.concat([
      Buffer.from('---\nname: caf'),
      Buffer.from([0xe9]),
      Buffer.from('\n---\nx\n'),
    ])
    const memory = await read(bytes)
    expect(memory).toMatchObject({ name: 'caf\uFFFD' })
    expect(await kinds()).toEqual(['not-utf8'])
    const memdir = await openMemdir({ dir: work.root })
    await expect(
      memdir.save({ ...draft, file: 'note.md' }, { ifRevision: memory?.revision }),
    ).rejects.toMatchObject({
      code: 'MEMORY_INVALID',
    })
    expect(await memdir.read('note.md')).toEqual(memory)
  })
})

describe('a rewrite', () => {
  const MADE =
    '---\n# mine\npriority: 007   # high\nname:   tabs # the name\n\ntags: [a, "b"]\nlist:\n- x\n# before\nmetadata:\n' +
    '    node_type: memory\n    type:   user\n    on: yes\n    originSessionId: old\ndescription: "prefers tabs"\n---\nBody\n\n'

  test('keeps what is not ours: keys, values, comments, order', async () => {
    const text = await rewrite(MADE, { name: 'a: b', description: 'new', type: 'feedback', body: 'New body' })
    expect(text.split('\n')).toEqual([
      '---',
      '# mine',
      'priority: 007 # high',
      'name: "a: b" # the name',
      '',
      'tags: [a, "b"]',
      'list:',
      '  - x',
      '# before',
      'metadata:',
      '  node_type: memory',
      '  type: feedback',
      '  on: yes',
      '  originSessionId: old',
      'description: new',
      'type: feedback',
      '---',
      '',
      'New body',
      '',
    ])
  })

  test('leaves front matter whose fields are the same byte for byte, and likewise the body', async () => {
    const typed = MADE.replace('description:', 'type: user\ndescription:')
    const [head] = typed.split('Body')
    expect(await rewrite(typed, { body: 'Other' })).toBe(`${head}\nOther\n`)
    expect((await rewrite(typed, { name: 'other' })).endsWith('---\nBody\n\n')).toBe(true)
    expect(await rewrite(typed, {})).toBe(typed)
  })

  test('keeps byte order mark and CRLF', async () => {
    const text =
      '\uFEFF---\r\nname: x\r\ntype: user\r\nmetadata:\r\n  type: user\r\n  originSessionId: o\r\ndescription: d\r\n---\r\n\r\none\r\n'
    expect(await rewrite(text, { body: 'one\ntwo' })).toBe(text.replace('one\r\n', 'one\r\ntwo\r\n'))
    expect(await rewrite(text, { name: 'z' })).toBe(text.replace('name: x', 'name: z'))
  })

  test('puts front matter before plain text, which stays as it was', async () => {
    const text = await rewrite('just text\n', { name: 'Note' })
    expect(text).toMatch(/^---\nname: Note\n[^]*\n---\n\njust text\n$/)
  })

  test('leaves metadata that is no mapping alone', async () => {
    expect(await rewrite('---\nname: x\ndescription: d\nmetadata: mine\n---\nb\n', { type: 'user' })).toBe(
      '---\nname: x\ndescription: d\nmetadata: mine\ntype: user\n---\nb\n',
    )
  })

  test('keeps the origin: who changes a memory later did not first save it', async () => {
    const text = await rewrite('---\nname: x\n---\nb\n', {})
    expect(text).toContain('originSessionId: new-session')
    const memdir = await openMemdir({ dir: work.root, sessionId: 'third', messageId: 'm' })
    const memory = await memdir.read('note.md')
    await memdir.save({ ...draft, file: 'note.md' }, { ifRevision: memory?.revision })
    const after = await memdir.read('note.md')
    expect(after).toMatchObject({ originSessionId: 'new-session' })
    expect(after?.originMessageId).toBeUndefined()
  })

  test('of a file whose front matter ends it without a line end', async () => {
    expect(await rewrite('---\nname: x\n---', { body: 'text' })).toMatch(/\n---\n\ntext\n$/)
  })
})
