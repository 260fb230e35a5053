import { mkdir, writeFile } from 'node:fs/promises'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ageText } from '../src/agent/tools/age-text.ts'
import { missingFiles, namedFiles } from '../src/agent/tools/named-files.ts'
import { parseSearchHits } from '../src/offline-model/memory-text.ts'

describe('files that a memory names', () => {
  test.each([
    ['In `src/agent/turn.ts` it begins.', ['src/agent/turn.ts']],
    [
      'See src/a.ts, ./src/b.ts; (docs/c.md) and "d/e.json".',
      ['src/a.ts', 'src/b.ts', 'docs/c.md', 'd/e.json'],
    ],
    ['src/a.ts:12 and `src/b.ts:3:4` and src/c.ts#L10-L20', ['src/a.ts', 'src/b.ts', 'src/c.ts']],
    ['**src/a.ts** and _docs/b.md_', ['src/a.ts', 'docs/b.md']],
    ['.github/workflows/ci.yml', ['.github/workflows/ci.yml']],
    ['`docs/größe/説明.md`', ['docs/größe/説明.md']],
    ['/work/p/src/a.ts', ['/work/p/src/a.ts']],
    ['src/a.ts src/a.ts', ['src/a.ts']],
    ['Ends with src/a.ts.', ['src/a.ts']],
  ])('%s', (body, files) => {
    expect(namedFiles(body)).toEqual(files)
  })

  test.each([
    'https://example.com/a/b.html and file:///a/b.ts',
    'example.com/a/b.html, www.example.com/x.js',
    '`src/**/*.ts`, src/{a,b}.ts, src/[id]/page.ts, src/<name>.ts',
    '$HOME/a.ts, ~/b/c.ts, %APPDATA%/d.ts, src\\a.ts',
    '../other/a.ts and src/../a.ts and a//b.ts',
    '@loci/disk/index.js, @scope/pkg',
    'and/or, read/write, origin/main, application/json, TCP/IP. I/O',
    'package.json, `turn.ts`, Math.max, 1.2.3, e.g. this',
    'application/vnd.ms-excel, HTTP/1.1, 12/31.2031',
    'git show HEAD~1:src/a.ts, user@host:src/a.ts',
    '`npm run src/a.ts`',
    '```\nsrc/in-a-block.ts\n```',
    '~~~sh\ncat src/in-a-block.ts\n~~~~',
    '```\nsrc/unclosed.ts',
    'src/agent/, packages/memdir',
    `src/${'x'.repeat(400)}.ts`,
    '',
  ])('none in %j', (body) => {
    expect(namedFiles(body)).toEqual([])
  })

  test('no more than twenty, and text of any kind is gone through in one pass', () => {
    const many = Array.from({ length: 50 }, (_, n) => `src/f${n}.ts`)
    expect(namedFiles(many.join('\n'))).toEqual(many.slice(0, 20))
    for (const text of ['```\n', '`', 'a/', './', '(', '~~~\n`', 'a.b/c.d:1']) {
      expect(namedFiles(text.repeat(20_000)).length).toBeLessThanOrEqual(20)
    }
  })

  test('each stands in the text, leads nowhere above and is no pattern', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('src', '/', '.', 'a.ts', '..', '`', ' ', '*', ':', '~', '\n', '://', '\0')),
        (parts) => {
          const body = parts.join('')
          for (const path of namedFiles(body)) {
            expect(body).toContain(path)
            expect(path).toMatch(/^\/?(?:[\w.]+\/)+[\w.]+\.ts$/)
            expect(path.split('/')).not.toContain('..')
          }
        },
      ),
    )
  })
})

describe('files that are gone', () => {
  let work: Tree
  beforeEach(async () => {
    work = await tree({
      'repo/.git/': '',
      'repo/packages/p/src/a.ts': '',
      'repo/docs/b.md': '',
      'repo/link.ts': { link: '/nowhere' },
    })
  })
  afterEach(async () => {
    setFaultHook(undefined)
    await work.remove()
  })
  const missing = (body: string, root = 'repo/packages/p'): Promise<string[]> =>
    missingFiles(work.path(root), body)

  test('are looked for below the project, and below the folders above it in the same repository', async () => {
    expect(await missing('src/a.ts src/gone.ts docs/b.md packages/p/src/a.ts p/src/a.ts')).toEqual([
      'src/gone.ts',
    ])
    // Nothing above the repository counts.
    await mkdir(work.path('docs'))
    await writeFile(work.path('docs/c.md'), '')
    expect(await missing('docs/c.md')).toEqual(['docs/c.md'])
  })

  test('by an absolute path only inside the project', async () => {
    const path = work.path('repo/packages/p/src')
    expect(
      await missing(`${path}/gone.ts ${path}/a.ts /etc/gone.conf ${work.path('repo/docs/gone.md')}`),
    ).toEqual(['src/gone.ts'])
  })

  test('a file where a folder was, counts as gone; a link that leads nowhere is there', async () => {
    expect(await missing('src/a.ts/b.ts')).toEqual(['src/a.ts/b.ts'])
    await mkdir(work.path('repo/x/.git'), { recursive: true })
    expect(await missingFiles(work.path('repo'), 'docs/../link.ts x/y.ts')).toEqual(['x/y.ts'])
  })

  test('what cannot be looked at counts as there', async () => {
    setFaultHook((_, path) =>
      path.endsWith('gone.ts') ? Object.assign(new Error(), { code: 'EACCES' }) : undefined,
    )
    expect(await missing('src/gone.ts')).toEqual([])
  })

  test('at no more than twenty names in each folder, nothing is opened, and nothing looked at where none is named', async () => {
    const seen: string[] = []
    setFaultHook((operation) => void seen.push(operation))
    await missing(Array.from({ length: 50 }, (_, n) => `src/f${n}.ts`).join(' '))
    expect(new Set(seen)).toEqual(new Set(['lstat']))
    expect(seen.length).toBeLessThanOrEqual(3 + 3 * 20)
    seen.length = 0
    expect(await missing('nothing named here')).toEqual([])
    expect(seen).toEqual([])
  })
})

test.each([
  [0, 'today'],
  [0.99, 'today'],
  [-3, 'today'],
  [1, '1 day ago'],
  [13.9, '13 days ago'],
  [14, '2 weeks ago'],
  [59, '8 weeks ago'],
  [61, '2 months ago'],
  [100, '3 months ago'],
  [729, '23 months ago'],
  [731, '2 years ago'],
])('what is %f days old is from %s', (days, text) => {
  const now = new Date(2031, 5, 1)
  expect(ageText(now.getTime() - days * 24 * 60 * 60 * 1000, now)).toBe(text)
})

test('the offline model takes neither age nor marks for what a memory says', () => {
  const text =
    'a.md (project, project): D\nrevision x (written 2 days ago)\nsrc/a.ts, which it names, is not there now\nText.'
  expect(parseSearchHits(text)).toMatchObject([{ text: 'D\nText.', where: 'a.md' }])
})
