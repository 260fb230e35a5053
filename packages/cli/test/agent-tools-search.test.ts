import { chmod, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { parseRule } from '../src/agent/permission-rule.ts'
import type { PermissionRule } from '../src/agent/permission-rule.ts'
import { decide, withheldFrom } from '../src/agent/permissions.ts'
import type { ToolCall } from '../src/agent/tools/tool.ts'
import { toolsFor } from '../src/agent/tools/tools.ts'
import { NO_RULES, toolRoom } from './agent-tools-room.ts'
import type { ToolRoom } from './agent-tools-room.ts'

afterEach(() => setFaultHook(undefined))

/** The names of a result, sorted, without notes. */
function namesIn({ text }: { text: string }): string[] {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('['))
    .toSorted()
}

const PROJECT = {
  'project/a.ts': 'one\ntwo\n',
  'project/src/b.ts': 'two\nthree\n',
  'project/src/.hidden/c.ts': 'two\n',
  'project/src/d.md': 'two\n',
  'project/.gitignore': 'dist\n*.log\n!keep.log\n',
  'project/dist/e.ts': 'two\n',
  'project/x.log': 'two\n',
  'project/keep.log': 'two\n',
  'project/src/.gitignore': '/gen/\n',
  'project/src/gen/f.ts': 'two\n',
  'project/.git/g.ts': 'two\n',
  'outside/h.ts': 'two\n',
}

describe('Glob', () => {
  test('finds what fits, with what begins with a dot, without what is ignored and .git', async () => {
    const { use } = await toolRoom(PROJECT)
    expect(namesIn(await use('Glob', { pattern: '**/*.ts' }))).toEqual([
      'a.ts',
      'src/.hidden/c.ts',
      'src/b.ts',
    ])
    expect(namesIn(await use('Glob', { pattern: '*.{ts,log}' }))).toEqual(['a.ts', 'keep.log'])
    expect(namesIn(await use('Glob', { pattern: '*', path: 'src' }))).toEqual([
      'src/.gitignore',
      'src/b.ts',
      'src/d.md',
    ])
    expect((await use('Glob', { pattern: '*.rs' })).text).toBe('No file fits.')
  })

  test('an ignored directory is looked into when it is named', async () => {
    const { use } = await toolRoom(PROJECT)
    expect((await use('Glob', { pattern: '*', path: 'dist' })).text).toBe('dist/e.ts')
    expect((await use('Glob', { pattern: 'src/gen/**' })).text).toBe('src/gen/f.ts')
  })

  test('rules above a directory hold in it, with git and without', async () => {
    const { use } = await toolRoom({
      'project/.gitignore': 'sub/**/x\n',
      'project/sub/a/x': '',
      'project/sub/a/y': '',
    })
    expect((await use('Glob', { pattern: '**', path: 'sub/a' })).text).toBe('sub/a/y')
  })

  test('a pattern may be absolute, and lead up', async () => {
    const { use, root, tree } = await toolRoom(PROJECT)
    expect((await use('Glob', { pattern: `${root}/src/*.md` })).text).toBe('src/d.md')
    expect((await use('Glob', { pattern: '../outside/*' })).text).toBe(tree.path('outside/h.ts'))
  })

  test('the last changed is first', async () => {
    const { use, root } = await toolRoom(PROJECT)
    await utimes(`${root}/src/b.ts`, 3000, 3000)
    await utimes(`${root}/a.ts`, 2000, 2000)
    await utimes(`${root}/src/.hidden/c.ts`, 1000, 1000)
    expect((await use('Glob', { pattern: '**/*.ts' })).text.split('\n')).toEqual([
      'src/b.ts',
      'a.ts',
      'src/.hidden/c.ts',
    ])
  })

  test('a hundred are shown, and how many more there are', async () => {
    const many = Array.from({ length: 120 }, (_, index): [string, string] => [`project/${index}.txt`, ''])
    const { use } = await toolRoom(Object.fromEntries(many))
    const { text } = await use('Glob', { pattern: '*.txt' })
    expect(text.split('\n')).toHaveLength(101)
    expect(text).toContain('\n[20 more; ')
  })

  test('no link is followed, inside, out or in a circle; a link is a name', async () => {
    const { use, root, tree } = await toolRoom(PROJECT)
    await symlink(tree.path('outside'), `${root}/out`)
    await symlink('.', `${root}/circle`)
    expect(namesIn(await use('Glob', { pattern: '**/h.ts' }))).toEqual(['No file fits.'])
    expect(namesIn(await use('Glob', { pattern: '*' }))).toContain('out')
    expect(namesIn(await use('Grep', { pattern: 'two', output_mode: 'count', glob: 'h.ts' }))).toEqual([
      'No line fits.',
    ])
  })
})

describe('what a search asks about', () => {
  test.for([
    ['the project', {}, 'allow'],
    ['a directory in it', { path: 'src' }, 'allow'],
    ['what is beside it', { path: '../outside' }, 'ask'],
    ['what a link leads to', { path: 'out' }, 'ask'],
    ['the root', { path: '/' }, 'ask'],
  ] as const)('%s', async ([, input, kind]) => {
    const { prepare, root, home, tree } = await toolRoom(PROJECT)
    await symlink(tree.path('outside'), `${root}/out`)
    const rules = {
      mode: 'acceptEdits' as const,
      root,
      asideDir: `${home}/aside`,
      memoryDirs: [],
      configDir: home,
      ...NO_RULES,
    }
    for (const name of ['Glob', 'Grep']) {
      const { access } = await prepare(name, { pattern: 'two', ...input })
      expect(decide(name, access, rules).kind, name).toBe(kind)
    }
    const pattern = 'path' in input ? `${input.path}/*`.replace('//', '/') : '*'
    expect(decide('Glob', (await prepare('Glob', { pattern })).access, rules).kind).toBe(kind)
  })

  test('a directory that became a link after it was asked about is not searched', async () => {
    const { prepare, root, tree } = await toolRoom(PROJECT)
    for (const name of ['Glob', 'Grep']) {
      const prepared = await prepare(name, { pattern: name === 'Glob' ? '*' : 'two', path: 'src' })
      await rename(`${root}/src`, `${root}/was`)
      await symlink(tree.path('outside'), `${root}/src`)
      await expect(prepared.run()).rejects.toMatchObject({ code: 'PATH_CHANGED' })
      await rm(`${root}/src`)
      await rename(`${root}/was`, `${root}/src`)
    }
  })

  test.for([
    ['nothing there', { path: 'none' }, 'does not exist'],
    ['a home', { path: '~/x' }, 'give an absolute path'],
  ] as const)('%s', async ([, input, message]) => {
    const { use } = await toolRoom(PROJECT)
    for (const name of ['Glob', 'Grep']) {
      const { text, isError } = await use(name, { pattern: 'x', ...input })
      expect(text).toContain(message)
      expect(isError).toBe(true)
    }
  })
})

/** With a `rg` outside the project that does as `script` says, and without one. */
async function withRipgrep(
  script: string,
  files: Record<string, string> = PROJECT,
): Promise<ToolRoom & { ran: string }> {
  const room = await toolRoom(files)
  const ran = room.tree.path('outside/ran')
  await mkdir(room.tree.path('outside/bin'))
  await writeFile(room.tree.path('outside/bin/rg'), `#!/bin/sh\necho ran >>${ran}\n${script}`, {
    mode: 0o755,
  })
  room.context.env = { PATH: `${room.tree.path('outside/bin')}:${process.env['PATH']}` }
  return { ...room, ran }
}

describe('what permission rules withhold', () => {
  const rule = (text: string): PermissionRule[] => [parseRule(text)]

  test.for(['deny', 'ask'] as const)(
    'a search does not tell of what they %s to read, and says so',
    async (kind) => {
      const { use } = await toolRoom(PROJECT, { rules: { [kind]: rule('Read(src/**)') } })
      expect((await use('Grep', { pattern: 'two', glob: '*.ts' })).text).toBe(
        'a.ts\n[2 left out by permission rules]',
      )
      expect((await use('Glob', { pattern: '**/*.ts' })).text).toBe('a.ts\n[2 left out by permission rules]')
      const { text, isError } = await use('Grep', { pattern: 'two', path: 'src' })
      expect(isError).toBe(true)
      expect(text).not.toContain('b.ts')
    },
  )

  test('a search that was asked about finds what its rule names, but for what is denied', async () => {
    const { context, call, root, home } = await toolRoom(PROJECT)
    const rules = { ...NO_RULES, ask: rule('Read(src/**)'), deny: rule('Read(*.md)') }
    const place = { mode: 'default', root, asideDir: home, memoryDirs: [], configDir: home } as const
    const withheld: ToolCall['withheld'] = (access) => withheldFrom(access, { ...rules, ...place })
    const grep = toolsFor({ hasMemory: false }).find(({ name }) => name === 'Grep')
    const prepared = await grep?.prepare({ pattern: 'two', path: 'src' }, context, { ...call, withheld })
    if (typeof prepared !== 'object') throw new TypeError(prepared)
    expect(namesIn(await prepared.run())).toEqual(['src/.hidden/c.ts', 'src/b.ts'])
  })
})

describe('Grep', () => {
  test('paths, the last changed first; lines; counts', async () => {
    const { use, root } = await toolRoom(PROJECT)
    await utimes(`${root}/src/d.md`, 5_000_000_000, 5_000_000_000)
    const { text } = await use('Grep', { pattern: 'two' })
    expect(text.split('\n')[0]).toBe('src/d.md')
    const found = ['a.ts', 'keep.log', 'src/.hidden/c.ts', 'src/b.ts', 'src/d.md']
    expect(namesIn({ text })).toEqual(found)
    expect(
      (await use('Grep', { pattern: 't[wh]', output_mode: 'content', path: 'src', glob: '*.ts' })).text,
    ).toBe('src/.hidden/c.ts:1:two\nsrc/b.ts:1:two\nsrc/b.ts:2:three')
    expect(
      (await use('Grep', { pattern: 'T', '-i': true, output_mode: 'count', glob: 'src/*.ts' })).text,
    ).toBe('src/b.ts:2')
    expect((await use('Grep', { pattern: 'TWO' })).text).toBe('No line fits.')
  })

  test('one file, ignored or not', async () => {
    const { use } = await toolRoom(PROJECT)
    expect((await use('Grep', { pattern: 'w', path: 'dist/e.ts', output_mode: 'content' })).text).toBe(
      'dist/e.ts:1:two',
    )
  })

  test.for([
    ['*.ts', ['a.ts', 'src/.hidden/c.ts', 'src/b.ts']],
    ['!*.ts', ['keep.log', 'src/d.md']],
    ['/*.ts', ['a.ts']],
    ['src/*', ['src/b.ts', 'src/d.md']],
    ['*.{md,log}', ['keep.log', 'src/d.md']],
  ] as const)('only files that fit %s', async ([glob, names]) => {
    const { use } = await toolRoom(PROJECT)
    expect(namesIn(await use('Grep', { pattern: 'two', glob }))).toEqual(names)
  })

  test('lines around, and between files', async () => {
    const { use } = await toolRoom({ 'project/a': '1\n2\nx\n4\n5\n', 'project/b': 'x\n' })
    const { text } = await use('Grep', { pattern: 'x', output_mode: 'content', '-C': 1, '-A': 0 })
    expect(text).toBe('a-2-2\na:3:x\n--\nb:1:x')
  })

  test('as many lines as wanted, and how many more', async () => {
    const { use } = await toolRoom({ 'project/a': 'x\n'.repeat(500) })
    const { text } = await use('Grep', { pattern: 'x', output_mode: 'content' })
    expect(text.split('\n')).toHaveLength(251)
    expect(text).toMatch(/\[250 more lines; .*\]$/)
    const few = await use('Grep', { pattern: 'x', output_mode: 'content', head_limit: 2 })
    expect(few.text).toMatch(/^a:1:x\na:2:x\n\[498 more lines; /)
  })

  test('binary files are not searched, large ones are named, bytes that are no UTF-8 do not matter', async () => {
    const { use, root } = await toolRoom()
    await writeFile(`${root}/bin`, `x${'y'.repeat(100_000)}\0`)
    await writeFile(`${root}/large`, 'x'.repeat((10 << 20) + 1))
    await writeFile(`${root}/latin`, Buffer.from('78e4', 'hex'))
    const { text } = await use('Grep', { pattern: 'x' })
    expect(text).toBe(`latin\n[larger than ${10 << 20} bytes and not searched: large]`)
  })

  test('a pattern without end is given up, and the rest of the session goes on', async () => {
    const { use } = await toolRoom({ 'project/a': `${'a'.repeat(60)}b\n`, 'project/b': 'aa\n' })
    const { text } = await use('Grep', { pattern: '(a+)+$' })
    expect(text).toBe('b\n[not searched to the end, the pattern takes too long: a]')
  })

  test('what is no expression', async () => {
    const { use } = await toolRoom(PROJECT)
    const { text, isError } = await use('Grep', { pattern: 'func(' })
    expect(text).toMatch(/^The pattern is no regular expression: .*\. Nothing was searched\.$/)
    expect(isError).toBe(true)
  })

  test('a file that cannot be read is named, one that went away is not', async () => {
    const { use } = await toolRoom(PROJECT)
    setFaultHook((operation, path) => {
      if (operation !== 'open') return undefined
      if (path.endsWith('a.ts')) return Object.assign(new Error('no'), { code: 'EACCES' })
      return path.endsWith('b.ts') ? Object.assign(new Error('no'), { code: 'ENOENT' }) : undefined
    })
    const { text } = await use('Grep', { pattern: 'two', glob: '*.ts' })
    expect(text).toMatch(/^src\/\.hidden\/c\.ts\n\[Cannot open .*a\.ts.*\]$/)
  })

  test('a directory that cannot be listed is named', async () => {
    const { use, root } = await toolRoom(PROJECT)
    setFaultHook((operation, path) =>
      operation === 'readdir' && path === `${root}/src`
        ? Object.assign(new Error('no'), { code: 'EACCES' })
        : undefined,
    )
    for (const [name, pattern] of [
      ['Glob', '*.ts'],
      ['Grep', 'one'],
    ] as const)
      expect((await use(name, { pattern })).text).toMatch(/^a\.ts\n\[Cannot readdir .*src.*\]$/)
  })

  test('an interruption ends it', async () => {
    const abort = new AbortController()
    const { prepare } = await toolRoom(PROJECT, { signal: abort.signal })
    const prepared = await prepare('Grep', { pattern: 'two' })
    abort.abort()
    await expect(prepared.run()).rejects.toThrow('aborted')
  })
})

describe('ripgrep', () => {
  test('says which files are worth a look, in names of any kind', async () => {
    const files = { 'project/-a': 'two', 'project/b c': 'two', 'project/n\nl': 'two', 'project/d': 'two' }
    const { use, ran } = await withRipgrep(String.raw`printf './-a\0./b c\0./n\nl\0'`, files)
    expect((await use('Grep', { pattern: 'two', output_mode: 'count' })).text).toBe('-a:1\nb c:1\n"n\\nl":1')
    expect(await use('Grep', { pattern: 'x', path: ran })).toMatchObject({ text: 'No line fits.' })
  })

  test.for([
    ['fails', 'exit 2'],
    ['is none', 'exit 127'],
    ['dies', 'kill -9 $$'],
  ] as const)('that %s is gone without', async ([, script]) => {
    const { use, ran } = await withRipgrep(script)
    expect(namesIn(await use('Grep', { pattern: 'two', glob: '*.ts' }))).toEqual([
      'a.ts',
      'src/.hidden/c.ts',
      'src/b.ts',
    ])
    expect((await use('Grep', { pattern: 'ran', path: ran, output_mode: 'content' })).text).toContain(
      ':1:ran',
    )
  })

  test('is not taken from the project, nor from where the project is told of by a relative path', async () => {
    const { use, context, root, tree } = await toolRoom(PROJECT)
    await mkdir(`${root}/bin`)
    await writeFile(`${root}/bin/rg`, `#!/bin/sh\necho >${tree.path('outside/ran')}\nexit 1`)
    await chmod(`${root}/bin/rg`, 0o755)
    await mkdir(tree.path('outside/bin'))
    await symlink(`${root}/bin/rg`, tree.path('outside/bin/rg'))
    context.env = { PATH: `${root}/bin:bin::.:${tree.path('outside/bin')}` }
    expect((await use('Grep', { pattern: 'one' })).text).toBe('a.ts')
    expect((await use('Glob', { pattern: '*', path: tree.path('outside') })).text).not.toContain('ran')
  })

  test('with it and without, the answer is the same', async () => {
    // As ripgrep is asked here: names in, names out; the expressions of both are the same ones.
    const script = String.raw`
for word in "$@"; do case "$word" in --regexp=*) p="\${word#--regexp=}";; esac; done
while [ "$1" != -- ]; do shift; done; shift
grep -lZaE -e "$p" -- "$@"`.replaceAll('\\$', '$')
    const line = fc
      .array(fc.constantFrom('a', 'b', 'c', ' ', 'ab'), { maxLength: 5 })
      .map((all) => all.join(''))
    const text = fc.array(line, { maxLength: 4 }).map((all) => all.join('\n'))
    const pattern = fc.constantFrom('a', 'ab?', '^a', 'b$', '(a|c) ', '[bc]{2}', 'a.c', 'c+')
    const mode = fc.constantFrom('content', 'count', 'files_with_matches')
    const { use, root, context, tree } = await withRipgrep(script, {})
    const plain = { PATH: '/nowhere' }
    const { env } = context
    expect(env['PATH']).toContain(tree.path('outside/bin'))
    await fc.assert(
      fc.asyncProperty(text, text, pattern, mode, async (one, other, wanted, output_mode) => {
        await writeFile(`${root}/one`, one)
        await writeFile(`${root}/other`, other)
        context.env = env
        const withIt = await use('Grep', { pattern: wanted, output_mode, '-B': 1 })
        context.env = plain
        expect(await use('Grep', { pattern: wanted, output_mode, '-B': 1 })).toEqual(withIt)
      }),
      { numRuns: 30 },
    )
  })
})
