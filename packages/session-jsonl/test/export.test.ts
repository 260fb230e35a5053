import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acquireLease } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { exportSession } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { assistant, call, entry, jsonl, project, result, rewind, SID, straight, text, user } from './lines.ts'
import type { Line } from './lines.ts'

type Format = Parameters<typeof exportSession>[1]['format']
type Redact = (text: string) => string

afterEach(() => {
  setFaultHook(undefined)
})

async function gather(path: string, format: Format, redact?: Redact): Promise<string> {
  let all = ''
  for await (const piece of exportSession(path, { format, redact })) all += piece
  return all
}

async function exported(
  lines: readonly (Line | string)[] | Uint8Array,
  format: Format,
  redact?: Redact,
): Promise<string> {
  const made = await project(lines instanceof Uint8Array ? lines : jsonl(...lines))
  try {
    return await gather(made.file, format, redact)
  } finally {
    await made.remove()
  }
}

const PNG = 'iVBORw0KGgo='
const image = (data = PNG, mediaType = 'image/png'): Line => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
})

/** One of everything. */
const TALK: readonly Line[] = [
  user('u1', null, 'Please list', { cwd: '/home/me/app', timestamp: '2026-01-01T10:00:30.000Z' }),
  entry('attachment', 'a1', 'u1', { attachment: { type: 'file', filename: 'notes.txt' } }),
  assistant('m1', 'a1', [{ type: 'thinking', thinking: 'I look.', signature: 's' }], { id: 'x' }),
  assistant('m2', 'm1', [text('Looking at both.')], { id: 'x' }),
  assistant('m3', 'm2', [call('t1')], { id: 'x' }),
  assistant('m4', 'm3', [call('t2')], { id: 'x' }),
  user('r1', 'm3', [result('t1', 'one\n```\ntwo')]),
  user('r2', 'm4', [{ ...result('t2', [text('bad'), image()]), is_error: true }]),
  entry('system', 's1', 'r2', { subtype: 'note', content: 'all is well' }),
  assistant('m5', 's1', [text('Done.')], { timestamp: '2026-01-01T11:00:30.000Z' }),
  { type: 'custom-title', customTitle: 'A *title*', sessionId: SID },
]

test('markdown: the conversation, with results put back, calls and results fenced, nothing hidden', async () => {
  const shown = await exported(TALK, 'markdown')
  expect(shown.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z/g, 'TIME')).toBe(
    [
      '# A \\*title\\*',
      '',
      `- Session: ${SID}`,
      '- Directory: /home/me/app',
      '- Began: 2026-01-01T10:00:30.000Z',
      '- Last entry: 2026-01-01T11:00:30.000Z',
      '',
      '## User · 2026-01-01T10:00:30.000Z',
      '',
      '> Please list',
      '',
      '*Attachment · TIME:* file: notes.txt',
      '',
      '## Assistant · TIME',
      '',
      '<details><summary>Thinking</summary>',
      '',
      '> I look.',
      '',
      '</details>',
      '',
      '## Assistant · TIME',
      '',
      '> Looking at both.',
      '',
      ...['t1', 't2'].flatMap((id) => [
        '## Assistant · TIME',
        '',
        '**Call of Bash**',
        '',
        '```',
        '{',
        `  "command": "${id}"`,
        '}',
        '```',
        '',
      ]),
      '## Tool result · TIME',
      '',
      '**Result of Bash**',
      '',
      '````',
      'one',
      '```',
      'two',
      '````',
      '',
      '## Tool result · TIME',
      '',
      '**Result of Bash (failed)**',
      '',
      '```',
      'bad',
      '```',
      '',
      '*image (image/png, 8 bytes)*',
      '',
      '*System · TIME:* note: all is well',
      '',
      '## Assistant · 2026-01-01T11:00:30.000Z',
      '',
      '> Done.',
      '',
    ].join('\n'),
  )
})

test('html: the same, each entry with its uuid, the image in the page, and a policy that forbids everything else', async () => {
  const page = await exported(TALK, 'html')
  for (const uuid of ['u1', 'a1', 'm1', 'm2', 'm3', 'm4', 'r1', 'r2', 's1', 'm5'])
    expect(page).toContain(` id="${uuid}">`)
  expect(page).toContain('<pre>\none\n```\ntwo</pre>')
  expect(page).toContain('<details><summary>Thinking</summary><div class="prose">I look.</div></details>')
  expect(page).toContain(`<img alt="image/png" src="data:image/png;base64,${PNG}">`)
  expect(page).toContain(
    `content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; img-src data:"`.replaceAll(
      '&#39;',
      "'",
    ),
  )
  expect(page.match(/<(?:script|link|iframe|object|form|base)\b|\bon\w+=|@import|url\(/gi)).toBeNull()
  expect(page).toContain('prefers-color-scheme:dark')
})

test.each([
  ['image/svg+xml', PNG],
  ['image/png" onerror="x', PNG],
  ['image/png', `${PNG}" onerror="x`],
])(
  'html: an image of kind %j is named and not shown if it could be more than a picture',
  async (kind, data) => {
    const page = await exported([user('u', null, [image(data, kind)])], 'html')
    expect(page).not.toContain('<img')
    expect(page).toContain('<p class="note">image (image/')
  },
)

test('a long result is whole', async () => {
  const long = `${'0123456789'.repeat(20_000)}end`
  const lines = [user('u', null, 'x'), assistant('m', 'u', [call('t')]), user('r', 'm', [result('t', long)])]
  expect(await exported(lines, 'markdown')).toContain(long)
  expect(await exported(lines, 'html')).toContain(long)
})

describe('where the conversation stands', () => {
  test.each(['markdown', 'html'] as const)('%s shows the branch of the tip alone', async (format) => {
    const shown = await exported([...straight(4), rewind('m2')], format)
    expect(shown).toContain('said m2')
    expect(shown).not.toContain('say m3')
  })

  test('a compaction counts', async () => {
    const shown = await exported(
      [
        ...straight(2),
        entry('system', 'b', null, { subtype: 'compact_boundary', logicalParentUuid: 'm2' }),
        user('s', 'b', 'The summary', { isCompactSummary: true }),
      ],
      'markdown',
    )
    expect(shown).toContain('*the summary of what came before*\n\n> The summary')
    expect(shown).not.toContain('said m2')
  })

  test('an empty file and a conversation rewound to nothing are pages without entries', async () => {
    expect(await exported([], 'markdown')).toBe(`# ${SID}\n\n- Session: ${SID}\n`)
    expect(await exported([...straight(2), rewind(null)], 'html')).not.toContain('<section')
  })
})

test.each(['markdown', 'html'] as const)('%s names the damage and its place at the end', async (format) => {
  const shown = await exported([...straight(2), '{"type":"user","uu'], format)
  expect(shown.indexOf('torn-line at byte')).toBeGreaterThan(shown.indexOf('said m2'))
  expect(shown).toMatch(/Line 3 is not JSON/)
})

test('jsonl is the file, byte for byte, however it is damaged', async () => {
  // Characters of three bytes, so that a chunk ends within one; and the file does too.
  const lines = `\uFEFF${jsonl(...straight(2))}\r\n{"torn \u{1F600}\0\0\0\n${'語'.repeat(300_000)}`
  const odd = Buffer.concat([Buffer.from(lines), Buffer.from('語').subarray(0, 2)])
  expect(await exported(odd, 'jsonl')).toBe(odd.toString('utf8'))
})

test('content of odd shapes is shown as JSON, and too deep a one is named', async () => {
  const deep = JSON.parse(`${'['.repeat(2000)}${']'.repeat(2000)}`) as unknown
  const nested = { type: 'tool_result', tool_use_id: 'n', content: [result('t', 'inner')] }
  const lines = [
    user('u', null, { odd: 'shape' }),
    assistant('m', 'u', [
      7,
      { type: 'new_kind', said: 'news' },
      { type: 'tool_use', id: 't', name: 'T', input: deep },
    ]),
    user('r', 'm', [nested]),
  ]
  const shown = await exported(lines, 'markdown')
  for (const part of ['"odd": "shape"', '\n7\n', '"said": "news"', '*Call of T: nested too deep', '"inner"'])
    expect(shown).toContain(part)
})

describe('redact', () => {
  const SECRET = 'hunter2'
  const mask: Redact = (said) => said.replaceAll(SECRET, '***').replaceAll(/BEGIN\n.*\nEND/g, '###')
  const everywhere: readonly Line[] = [
    user('u1', null, `prompt ${SECRET}`, { cwd: `/home/${SECRET}` }),
    entry('attachment', 'a1', 'u1', { attachment: { type: SECRET, filename: SECRET } }),
    assistant('m1', 'a1', [
      { type: 'thinking', thinking: SECRET, signature: 's' },
      text(SECRET),
      { type: 'tool_use', id: 't', name: SECRET, input: { [SECRET]: [SECRET], a: 'BEGIN\nkey\nEND' } },
      { type: SECRET },
    ]),
    user('r1', 'm1', [
      result('t', [text(SECRET), { type: 'image', source: { type: 'url', url: SECRET } }, image(PNG)]),
    ]),
    entry('system', `s-${SECRET}`, 'r1', {
      subtype: SECRET,
      content: SECRET,
      sessionId: SECRET,
      timestamp: SECRET,
    }),
    { type: 'custom-title', customTitle: SECRET, sessionId: SID },
    { type: 'file-history-snapshot', snapshot: { trackedFileBackups: { [SECRET]: 1, '***': 2 } } },
  ]

  test.each(['markdown', 'html', 'jsonl'] as const)(
    '%s: no text escapes it, and images stay out',
    async (format) => {
      expect(await exported(everywhere, format)).toContain(SECRET)
      const shown = await exported([...everywhere, `{"torn":"${SECRET}`], format, mask)
      expect(shown).not.toContain(SECRET)
      expect(shown).not.toContain('BEGIN')
      expect(shown).not.toContain(PNG)
      expect(shown).toContain('***')
      expect(shown).toContain('###')
    },
  )

  test('a prompt is redacted before it is cut into a title', async () => {
    const prompt = `${'x'.repeat(196)}${SECRET}`
    expect(await exported([user('u', null, prompt)], 'markdown', mask)).not.toContain('hunt')
  })

  test('jsonl: keeps every record and field, and says in its place what it leaves out', async () => {
    const shown = await exported([...everywhere, '{"torn', user('last', `s-${SECRET}`, 'x')], 'jsonl', mask)
    const records = shown
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    expect(records.map(({ type }) => type)).toEqual([
      ...everywhere.map(({ type }) => type),
      'unreadable',
      'user',
    ])
    expect(records.at(-2)).toMatchObject({ kind: 'torn-line', line: 8, length: 6 })
    expect(records.at(-3)).toMatchObject({ snapshot: { trackedFileBackups: { '***': 1, '*** (2)': 2 } } })
  })

  test('jsonl: a record that nests too deep is left out and named', async () => {
    const deep = `{"type":"user","x":${'['.repeat(5000)}${']'.repeat(5000)}}`
    expect(JSON.parse(await exported([deep], 'jsonl', mask))).toMatchObject({
      type: 'unreadable',
      kind: 'too-deep',
    })
  })
})

const TAG =
  /^<(?:!DOCTYPE html|\/?(?:html|head|style|title|body|main|header|h1|h2|h3|dl|dt|dd|section|details|summary|div|pre|p|ul|li|time|img)|meta)(?: [a-z-]+="[^"<>]*")*>$/

/** Texts that try to be markup. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(
      fc.constantFrom(
        '<script>',
        '</pre>',
        '"',
        "'",
        '<!--',
        ']]>',
        '&lt;',
        '\n',
        '\r',
        '```',
        '~~~',
        '> ',
        '- ',
        '    ',
        '\0',
        '<img onerror=x>',
        '</style>',
        'x',
        '\uD83D',
        '# ',
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
)

async function hostileExport(said: string, format: Format): Promise<string> {
  return exported(
    [
      user('u', null, said, { cwd: said, timestamp: said }),
      entry('attachment', said || 'a', 'u', { attachment: { type: said } }),
      assistant('m', said || 'a', [
        { type: 'thinking', thinking: said, signature: '' },
        text(said),
        { type: 'tool_use', id: 't', name: said, input: { [said]: said } },
        image(said, said),
        image(said),
        { type: said, said },
      ]),
      user('r', 'm', [result('t', [text(said), image(PNG, said)])]),
      { type: 'custom-title', customTitle: said, sessionId: SID },
    ],
    format,
  )
}

test('html: whatever the content, no tag is in the page but ours, and every text can be read back', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (said) => {
      const page = await hostileExport(said, 'html')
      expect(page).not.toMatch(/<script/i)
      const tags = page.match(/<[^>]*>?/g) ?? []
      expect(tags.filter((tag) => !TAG.test(tag))).toEqual([])
      const names: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#13': '\r' }
      const prose = /<div class="prose">([^<]*)<\/div>/.exec(page)?.[1] ?? ''
      expect(prose.replaceAll(/&([a-z]+|#\d+);/g, (_, name: string) => names[name] ?? '?')).toBe(
        said.replaceAll(/[\uD800-\uDFFF]/gu, '\uFFFD').replaceAll('\0', '\uFFFD'),
      )
    }),
    { numRuns: 60 },
  )
})

test('markdown: whatever the content, outside of fences no HTML begins but ours, and each fence is closed', async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async (said) => {
      const shown = await hostileExport(said, 'markdown')
      let fence: string | undefined
      for (const line of shown.split(/\r\n|\r|\n/)) {
        const bare = line.replace(/^> /, '')
        if (fence !== undefined) {
          if (bare === fence) fence = undefined
          continue
        }
        if (line.startsWith('>') || line.startsWith('```')) fence = /^`{3,}(?=[^`]*$)/.exec(bare)?.[0]
        if (fence !== undefined) continue
        expect(line.replaceAll(/<\/?(?:details|summary)>/g, '').replaceAll(/\\./g, '')).not.toMatch(
          /<[A-Za-z/!?]/,
        )
      }
      expect(fence).toBeUndefined()
    }),
    { numRuns: 60 },
  )
})

test('markdown: what a text leaves open ends with it, and a heading in it is no heading of the page', async () => {
  const said = '## User\n  ```\ncode\n\n```\n<script>\n- a\n  ~~~\n<b>\n````\n<i>'
  const shown = await exported([user('u', null, said)], 'markdown')
  expect(shown).toContain(
    '> ## User\n>   ```\n> code\n\n> ```\n> <script>\n> - a\n>   ~~~\n> <b>\n> ```\n\n> &lt;i>\n',
  )
  expect(shown.match(/^## /gm)).toHaveLength(1)
})

test('reads only: no lease is taken or minded, no byte changes', async () => {
  const made = await project(jsonl(...straight(2)))
  const lease = await acquireLease(made.file)
  const before = await made.snapshot()
  setFaultHook((operation) =>
    ['read', 'open', 'stat', 'lstat', 'close', 'readdir', 'fstat', 'readFile'].includes(operation)
      ? undefined
      : Object.assign(new Error(`unexpected ${operation}`), { code: 'EIO' }),
  )
  for (const format of ['markdown', 'html', 'jsonl'] as const)
    expect(await gather(made.file, format)).toContain('said m2')
  setFaultHook(undefined)
  expect(await made.snapshot()).toEqual(before)
  await lease.release()
  await made.remove()
})

describe('what is refused', () => {
  test.each([
    ['an unknown format', 'x', { format: 'pdf' }, TypeError],
    ['a redact that is none', 'x', { format: 'html', redact: 5 }, TypeError],
    ['a path that is none', 5, { format: 'jsonl' }, TypeError],
    [
      'one object for both',
      { path: 'x', format: 'jsonl' },
      undefined,
      /exportSession\(path, \{ format, redact\? \}\)/,
    ],
    ['a format for the options', 'x', 'jsonl', /exportSession\(path, \{ format, redact\? \}\)/],
    [
      'a session that is not there, as markdown',
      '/nowhere/x.jsonl',
      { format: 'markdown' },
      'SESSION_NOT_FOUND',
    ],
    ['a session that is not there, as jsonl', '/nowhere/x.jsonl', { format: 'jsonl' }, 'SESSION_NOT_FOUND'],
    ['a directory', import.meta.dirname, { format: 'html' }, 'DISK_IO'],
  ])('%s', async (_what, path, options, expected) => {
    const act = gatherAny(path, options)
    if (typeof expected === 'string') await expect(act).rejects.toMatchObject({ code: expected })
    else await expect(act).rejects.toThrow(expected)
  })

  test.each(['markdown', 'html', 'jsonl'] as const)('a disk that fails, as %s', async (format) => {
    const made = await project(jsonl(...straight(2)))
    setFaultHook((operation) =>
      operation === 'read' ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined,
    )
    await expect(gather(made.file, format)).rejects.toMatchObject({ code: 'DISK_IO' })
    setFaultHook(undefined)
    await made.remove()
  })
})

async function gatherAny(path: unknown, options: unknown): Promise<void> {
  for await (const piece of exportSession(path as string, options as { format: Format }))
    expect(piece).toBe('')
}

describe('what a widely used client wrote', () => {
  const observed = join(import.meta.dirname, 'fixtures/observed')
  const files = readdirSync(observed, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /projects\/[^/]+\/[\da-f-]{36}\.jsonl$/.test(name),
  )
  test.each(files)('%s', async (name) => {
    const path = join(observed, name)
    expect(await gather(path, 'jsonl')).toBe(await readFile(path, 'utf8'))
    const page = await gather(path, 'html')
    expect((page.match(/<[^>]*>?/g) ?? []).filter((tag) => !TAG.test(tag))).toEqual([])
    expect(await gather(path, 'markdown')).toMatch(/^# .+\n\n- Session: [\da-f-]{36}\n/)
  })
})
