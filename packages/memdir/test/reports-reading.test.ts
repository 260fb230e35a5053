import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadMemory, loadMemoryPrompt, memoryDirs, openMemdir } from '@loci/memdir'
import type { MemoryDirs, MemoryPrompt } from '@loci/memdir'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let dirs: MemoryDirs
beforeEach(async () => {
  work = await tree({ 'home/projects/p/memory/team/': '', 'home/memory/': '' })
  dirs = memoryDirs({ home: work.path('home'), projectDir: work.path('home/projects/p') })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

async function load(mode: 'index' | 'daily-log' = 'index'): Promise<MemoryPrompt> {
  const prompt = await loadMemoryPrompt({ dirs, enabled: true, mode, team: true })
  if (prompt === null) throw new Error('no prompt')
  return prompt
}

/** The files whose text goes into a request. */
const sources = (): Record<string, string> => ({
  'the notes': dirs.userFile,
  'the index for all projects': join(dirs.user, 'MEMORY.md'),
  'the index of the project': join(dirs.project, 'MEMORY.md'),
  "the team's index": join(dirs.team, 'MEMORY.md'),
})
const SOURCES = ['the notes', 'the index for all projects', 'the index of the project', "the team's index"]
const fileOf = (source: string): string => sources()[source] ?? ''

describe.each(SOURCES)('M01 %s over its limit: the warning gives the limit and what is missing', (source) => {
  test.each([199, 200, 201, 260])('with %i lines', async (count) => {
    const entry = (n: number): string => `- [m${n}](m${n}.md) — what ${n} says`
    const lines = Array.from({ length: count }, (_, n) => entry(n + 1))
    await writeFile(fileOf(source), `${lines.join('\n')}\n`)
    const { context, loaded } = await load()
    const warnings = context.match(/^> .*$/gm) ?? []
    expect(loaded).toMatchObject([{ lines: Math.min(count, 200), truncated: count > 200 }])
    if (count <= 200) {
      expect(warnings).toEqual([])
      expect(context).toContain(entry(count))
      return
    }
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(`${count} lines and ${Buffer.byteLength(lines.join('\n'))} bytes`)
    expect(warnings[0]).toContain('over the limit of 200 lines.')
    expect(warnings[0]).toContain(`line 201 to ${count} (${count - 200} of ${count} lines)`)
    expect(warnings[0]).toContain(JSON.stringify(entry(201)))
    // Where the model looks last, right behind the lines.
    expect(context.indexOf(warnings[0] ?? '')).toBeGreaterThan(context.indexOf(entry(200)))
    expect(await loadMemory(fileOf(source))).toContain(warnings[0])
  })

  test('by its bytes, of few lines', async () => {
    await writeFile(fileOf(source), `${'- é'.padEnd(400, 'x')}\n`.repeat(100))
    const { context } = await load()
    expect(context).toMatch(
      /^> .*over the limit of 25000 bytes\. Not shown here: line 63 to 100 \(38 of 100 lines\)/m,
    )
  })
})

describe.each(SOURCES)('M03 %s reads as empty only where it is', (source) => {
  const COULD_NOT = /> It is there but could not be read, so what it holds is unknown\./

  test.each([
    ['empty', ''],
    ['blank lines', '\n \n\r\n'],
    ['a byte order mark alone', '\uFEFF'],
    ['nothing but a comment', '<!-- one line per memory -->\n'],
    ['nothing but front matter', '---\na: b\n---\n'],
  ])('%s: nothing, and no notice', async (_, text) => {
    await writeFile(fileOf(source), text)
    expect(await load()).toMatchObject({ context: '', loaded: [] })
    expect(await loadMemory(fileOf(source))).toBe('')
  })

  test.each([
    ['a byte order mark', '\uFEFF- [a](a.md) — kept\n'],
    ['CRLF', '- [a](a.md) — kept\r\n- [b](b.md)\r\n'],
    ['a byte order mark, CRLF and front matter', '\uFEFF---\r\na: b\r\n---\r\n\r\n- [a](a.md) — kept\r\n'],
    ['364 lines of 11.8 kB', '- [a](a.md) — kept padding padd\n'.repeat(364)],
    ['one line over the limit', `- [a](a.md) — kept ${'x'.repeat(40_000)}`],
    ['no line end', '- [a](a.md) — kept'],
    ['a NUL', '- [a](a.md) — kept\0\n'],
    ['bytes that are not UTF-8', Buffer.from('- [a](a.md) — kept\xff\n', 'latin1')],
  ])('%s: what it holds', async (_, text) => {
    await writeFile(fileOf(source), text)
    const { context, loaded } = await load()
    expect(context).toContain('- [a](a.md)')
    expect(context).not.toMatch(COULD_NOT)
    expect(loaded).toHaveLength(1)
  })

  test('a directory in its place: a notice', async () => {
    await mkdir(fileOf(source))
    const { context, loaded } = await load()
    expect(context).toMatch(COULD_NOT)
    expect(context).toContain(fileOf(source))
    expect(loaded).toEqual([])
    await expect(loadMemory(fileOf(source))).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
  })

  test('a file of mode 000: a notice, or to root, who may read it, what it holds', async () => {
    await writeFile(fileOf(source), '- [a](a.md)\n')
    await chmod(fileOf(source), 0)
    expect((await load()).context).toMatch(process.getuid?.() === 0 ? /- \[a\]/ : COULD_NOT)
  })

  test.each([
    ['lstat', 'EACCES'],
    ['open', 'EACCES'],
    ['open', 'EMFILE'],
    ['read', 'EIO'],
    ['fstat', 'EIO'],
  ])('%s fails with %s: a notice, and the others are read', async (operation, code) => {
    for (const file of Object.values(sources())) await writeFile(file, `- [a](a.md) — of ${file}\n`)
    let hits = 0
    setFaultHook((name, path) => {
      if (name !== operation || path !== fileOf(source)) return undefined
      hits += 1
      return Object.assign(new Error(code), { code })
    })
    const { context, loaded } = await load()
    setFaultHook(undefined)
    expect(hits).toBe(1)
    expect(context.match(new RegExp(COULD_NOT, 'g'))).toHaveLength(1)
    expect(context).not.toContain(`of ${fileOf(source)}\n`)
    expect(loaded).toHaveLength(3)
  })
})

describe('M13 the same memory gives the same bytes', () => {
  const TOPICS = ['c', 'a', 'é', 'b', '記'].map(
    (name) => [`${name}.md`, `---\nname: ${name}\n---\n\n${name}\n`] as const,
  )

  async function fill(order: readonly (readonly [string, string])[]): Promise<void> {
    for (const dir of [dirs.user, dirs.project, dirs.team]) {
      await rm(dir, { recursive: true, force: true })
      await mkdir(dir, { recursive: true })
      for (const [name, text] of order) await writeFile(join(dir, name), text)
      const index = order.map(([name]) => `- [${name}](${name})\n`).toSorted()
      await writeFile(join(dir, 'MEMORY.md'), index.join(''))
    }
  }

  function inProcess(mode: string, env: Record<string, string>): string {
    const script = join(import.meta.dirname, 'print-prompt.mjs')
    const words = [script, work.path('home'), work.path('home/projects/p'), mode]
    return execFileSync(process.execPath, words, {
      env: { PATH: process.env['PATH'], ...env },
      cwd: env['HOME'],
    }).toString()
  }

  test.each(['index', 'daily-log'] as const)(
    'in two processes that differ in all but the files (%s)',
    async (mode) => {
      await fill(TOPICS)
      const here = JSON.stringify(await load(mode))
      const one = inProcess(mode, { HOME: work.root, TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' })
      // Touched, written anew in another order and under another inode.
      for (const dir of [dirs.user, dirs.project]) await utimes(join(dir, 'a.md'), 1, 2)
      await fill(TOPICS.toReversed())
      await rename(join(dirs.project, 'a.md'), join(dirs.project, 'x'))
      await rename(join(dirs.project, 'x'), join(dirs.project, 'a.md'))
      const two = inProcess(mode, { HOME: '/', TZ: 'Pacific/Pago_Pago', LC_ALL: 'C', LOCI_UNKNOWN: '1' })
      expect(one).toBe(here)
      expect(two).toBe(here)
    },
  )

  test('names no time, and reads no more than the indexes', async () => {
    await fill(TOPICS)
    const touched = new Set<string>()
    setFaultHook((_, path) => void touched.add(path))
    const prompt = JSON.stringify(await load())
    setFaultHook(undefined)
    expect([...touched].toSorted()).toEqual(Object.values(sources()).toSorted())
    const year = new Date().getFullYear()
    expect(prompt).not.toMatch(new RegExp(`\\b(${year - 1}|${year}|${year + 1})\\b|\\d\\d:\\d\\d|\\bago\\b`))
  })

  test('after each change it is another at once, in this process and a new one; guidance stays', async () => {
    const memdir = await openMemdir({ dir: dirs.project })
    const seen = [await load()]
    const { memory } = await memdir.save({ name: 'N', description: 'first', type: 'user', body: 'B' })
    seen.push(await load())
    const changed = await memdir.save({ ...memory, description: 'second' }, { ifRevision: memory.revision })
    seen.push(await load())
    await memdir.remove(memory.file, { ifRevision: changed.memory.revision })
    seen.push(await load())
    const [empty, first, second, removed] = seen.map(({ context }) => context)
    expect(first).toContain('first')
    expect(second).toContain('second')
    expect(second).not.toContain('first')
    expect(removed).toBe(empty)
    expect(new Set(seen.map(({ system }) => system)).size).toBe(1)
    expect(inProcess('index', {})).toBe(JSON.stringify(seen[3]))
    // A body alone changes no prompt: the index does not say it.
    await memdir.save({ name: 'N', description: 'd', type: 'user', body: 'B' })
    const before = await load()
    const stored = await memdir.read('user_n.md')
    await memdir.save(
      { name: 'N', description: 'd', type: 'user', body: 'C', file: 'user_n.md' },
      { ifRevision: stored?.revision },
    )
    expect(await readFile(join(dirs.project, 'user_n.md'), 'utf8')).toContain('C')
    expect(await load()).toEqual(before)
  })
})
