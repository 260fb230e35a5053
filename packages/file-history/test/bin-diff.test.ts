import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { tree } from '@loci/disk/testing'
import type { TreeFile } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fileHistory, spawned, start } from './command-line.ts'
import type { Run } from './command-line.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

type Files = Record<string, { text: string | Uint8Array; mode: number }>

const NAMES = ['a.bin', 'a b', 'd/ü\t"x"', 'd/e/z.txt', 'last']
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  // Longer than a line of a binary patch holds after it was deflated, of every length.
  fc.uint8Array({ minLength: 300, maxLength: 400 }),
  fc.constantFrom(
    Buffer.from('caf\u00E9 in Latin-1\n', 'latin1'),
    Buffer.from('a\0c\n'),
    Buffer.alloc(70_000, 'zero\0'),
    Buffer.from(Array.from({ length: 1200 }, (_, index) => `${index}\n`).join('')),
  ),
)
const text = fc.constantFrom('', 'x', 'x\ny\n', 'dos\r\nend', '\uFEFFmark\n', '-- \n++ \n')
const file = fc.record({ text: fc.oneof(bytes, text), mode: fc.constantFrom(0o644, 0o755) })
const someFiles = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...NAMES), file), { selector: ([name]) => name })
  .map((entries): Files => Object.fromEntries(entries))

/** Has git make the change in a copy of the files as they were. */
async function applied(before: Record<string, TreeFile>, patch: string): Promise<unknown> {
  const copy = await tree({ 'copy/': '' })
  try {
    await writeAll(copy.path('copy'), before)
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CEILING_DIRECTORIES: copy.root }
    // Of nothing git says that it is no patch.
    if (patch !== '')
      execFileSync('git', ['apply', '-'], { cwd: copy.path('copy'), input: patch, env, stdio: 'pipe' })
    return without(await copy.snapshot(), 'copy/')
  } finally {
    await copy.remove()
  }
}

function without(all: Record<string, unknown>, prefix: string): unknown {
  return Object.fromEntries(Object.entries(all).map(([name, one]) => [name.slice(prefix.length), one]))
}

async function writeAll(root: string, files: Record<string, TreeFile>): Promise<void> {
  for (const [name, one] of Object.entries(files)) {
    await fs.mkdir(dirname(`${root}/${name}`), { recursive: true })
    const { text: content = '', mode = 0o644 } =
      typeof one === 'string' || one instanceof Uint8Array ? { text: one } : one
    await fs.writeFile(`${root}/${name}`, content)
    await fs.chmod(`${root}/${name}`, mode)
  }
}

let work: Project
beforeEach(async () => {
  work = await project()
})
afterEach(() => work.dispose())

const run = (...argv: string[]): Promise<Run> => fileHistory(work.root, ...argv, '--dir', work.dir)

/** Puts the files `before` there, and records that a command leaves `after`. */
async function change(before: Record<string, TreeFile>, after: Record<string, TreeFile>): Promise<void> {
  await writeAll(work.root, before)
  const history = await work.open()
  await history.makeSnapshot('run-1')
  await history.trackCommand('run-1', async () => {
    for (const name of Object.keys(before)) await work.remove(name)
    await writeAll(work.root, after)
  })
  await history.close()
}

describe('diff is what git apply takes', () => {
  test('of any files: binary, Latin-1, empty, made, gone, with other modes', async () => {
    await fc.assert(
      fc.asyncProperty(someFiles, someFiles, async (before, after) => {
        await work.dispose()
        work = await project()
        await change(before, after)
        const { code, out, err } = await run('diff')
        expect({ code, err }).toEqual({ code: 0, err: '' })
        expect(await applied(before, out)).toEqual(await work.files())
      }),
      { numRuns: 40 },
    )
  })

  test('a text is told in lines, however many: made, gone, or another altogether', async () => {
    const many = (word: string, end = ''): string =>
      Array.from({ length: 3000 }, (_, index) => `${word} ${index}\r\n`).join('') + end
    const late = `${many('nul')}\0\n`
    const before = {
      'gone.txt': many('g', 'no end'),
      'other.txt': many('o'),
      'shrunk.txt': many('s'),
      'd/nul': late,
    }
    const after = {
      'made.txt': many('m'),
      'other.txt': many('p', 'no end'),
      'shrunk.txt': '',
      'd/nul': many('lun'),
    }
    await change(before, { ...after, 'new.sh': { text: many('n'), mode: 0o755 } })
    const { code, out, err } = await run('diff')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toContain('GIT binary patch')
    expect(out).toContain('\n--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1,3000 @@\n+m 0\r\n+m 1\r\n')
    expect(await applied(before, out)).toEqual(await work.files())
  })

  test('a file beyond 16 MiB is named apart, and the rest is a patch still', async () => {
    await change({ 'a.txt': 'a1\n' }, { 'a.txt': 'a2\n', big: Buffer.alloc((16 << 20) + 1) })
    const { code, out, err } = await run('diff')
    expect({ code, err }).toEqual({
      code: 3,
      err: 'file-history: not in the patch: big (create): it has more than 16 MiB\n',
    })
    expect(await applied({ 'a.txt': 'a1\n' }, out)).toMatchObject({ 'a.txt': { text: 'a2\n' } })
    await fs.writeFile(work.path('big'), '')
    expect(await run('diff', '--exit-code')).toMatchObject({ code: 1, err: '' })
  })

  test('so is one outside of the root: its name would mean another below it', async () => {
    await writeAll(work.beside('.'), { 'outside.txt': 'o1\n' })
    await fileHistory(work.root, 'snapshot', '../outside.txt', '--dir', work.dir)
    const id = (await run('list')).out.split(' ')[0] ?? ''
    await fs.writeFile(work.beside('outside.txt'), 'o2\n')
    expect(await run('diff', id)).toEqual({
      code: 3,
      out: '',
      err: `file-history: not in the patch: ${work.beside('outside.txt')} (modify): it is outside of the root\n`,
    })
    expect(JSON.parse((await run('diff', id, '--json')).out)).toMatchObject([
      { path: work.beside('outside.txt'), kind: 'modify' },
    ])
  })

  test('also where the root is reached through a link', async () => {
    await change({ 'a.bin': Buffer.from('a\0') }, { 'a.bin': Buffer.from('b\0') })
    await fs.symlink(work.root, work.beside('link'))
    const { out } = await fileHistory(work.beside('.'), 'diff', '--root', 'link', '--dir', work.dir)
    expect(out).toContain('diff --git a/a.bin b/a.bin\n')
  })
})

describe('a run that was cut off', () => {
  async function killed(): Promise<void> {
    await work.write('.git/HEAD', 'ref: refs/heads/main\n')
    await work.write('a.txt', 'a1\n')
    const { child, printed, ended } = start(
      work.root,
      'run',
      '--',
      'sh',
      '-c',
      'echo a2 > a.txt; echo ready; cat',
    )
    await printed
    child.kill('SIGKILL')
    child.stdin?.end()
    await ended
  }

  test('is in the diff: what changed since it began', async () => {
    await killed()
    const { code, out, err } = await fileHistory(work.root, 'diff', '--exit-code')
    expect({ code, err }).toEqual({ code: 1, err: '' })
    expect(out).toContain('-a1\n+a2\n')
  })

  test('is named, with exit code 3, where nobody can tell any more what it changed', async () => {
    await killed()
    const dir = work.path('.git/file-history')
    const index = (await fs.readdir(dir)).filter((name) => /^base.*json/.test(name))
    expect(index).toHaveLength(1)
    await fs.rm(`${dir}/${index[0] ?? ''}`)
    expect(await fileHistory(work.root, 'diff', '--exit-code')).toEqual({
      code: 3,
      out: '',
      err: expect.stringMatching(
        /^file-history: not compared: \S+: a command of run-\w+ was cut off, or runs still: [^\n]+\n$/,
      ),
    })
  })

  test('so is one that runs still', async () => {
    await work.write('.git/HEAD', 'ref: refs/heads/main\n')
    const { child, printed, ended } = start(work.root, 'run', '--', 'sh', '-c', 'echo ready; cat')
    await printed
    expect(await fileHistory(work.root, 'diff', '--exit-code')).toMatchObject({
      code: 3,
      err: expect.stringMatching(/^file-history: not compared: [^\n]+ runs still[^\n]+\n$/),
    })
    child.stdin?.end()
    expect((await ended).code).toBe(0)
    expect(await spawned(work.root, 'diff', '--exit-code')).toEqual({ code: 0, out: '', err: '' })
  })
})
