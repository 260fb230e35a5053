import { mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { projectSlug, resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'projects/': '' })
})
afterEach(() => work.remove())

async function folderOf(root: string): Promise<string> {
  await mkdir(root, { recursive: true })
  return resolveProjectDir({ projectsDir: work.path('projects'), root, create: true })
}

test('S15: projects whose paths give one name have a folder each, and each says whose it is', async () => {
  const roots = ['w/a-b', 'w/a/b', 'w/a_b', 'w/日本', 'w/韓国'].map((name) => work.path(name))
  const folders: string[] = []
  for (const root of roots) folders.push(await folderOf(root))
  expect(new Set(folders).size).toBe(roots.length)
  for (const [index, root] of roots.entries()) {
    const folder = folders[index] ?? ''
    expect(JSON.parse(await work.read(`projects/${basename(folder)}/.project.json`))).toEqual({ root })
    // Whoever asks again, in whatever order, comes back to the same.
    expect(await folderOf(root)).toBe(folder)
  }
  expect(new Set(roots.slice(0, 3).map((root) => projectSlug(root))).size).toBe(1)
  expect(projectSlug('/w/日本')).toBe(projectSlug('/w/韓国'))
})

test('S16: both spellings of an accent, a dakuten or Hangul give one name; two real directories stay apart', async () => {
  for (const name of ['é', 'が', '한국']) {
    const [composed, decomposed] = [name.normalize('NFC'), name.normalize('NFD')]
    expect(composed).not.toBe(decomposed)
    expect(projectSlug(`/w/${composed}`)).toBe(projectSlug(`/w/${decomposed}`))
    expect(projectSlug(`/w/${composed}`)).toBe(`-w-${'-'.repeat(composed.length)}`)
  }
  const [one, other] = [work.path(`w/${'é'.normalize('NFC')}`), work.path(`w/${'é'.normalize('NFD')}`)]
  const folder = await folderOf(one)
  await mkdir(other, { recursive: true })
  // On a volume where the two are one directory there is one folder; elsewhere they are two projects.
  await writeFile(`${one}/mark`, '')
  const isOne = await stat(`${other}/mark`).then(
    () => true,
    () => false,
  )
  expect((await folderOf(other)) === folder).toBe(isOne)
})

test('S17: the name of a deep path has at most 255 bytes and is its own; the rule is one function of the path', async () => {
  const deep = (end: string): string => `/${'d'.repeat(261 - end.length)}${end}`
  const paths = [
    deep('x'),
    deep('y'),
    `/w/${'漢'.repeat(90)}`,
    `/w/${'漢字/'.repeat(80)}a`,
    `/w/${'漢字/'.repeat(80)}b`,
  ]
  const names = paths.map((path) => projectSlug(path))
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) {
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
    expect(name).toMatch(/^[\dA-Za-z-]+$/)
  }
  // Written down, not computed: every runtime and every version has to come to these.
  expect(projectSlug(deep('x'))).toBe(`-${'d'.repeat(199)}-mrhduf`)
  const cjk = work.path('漢'.repeat(80))
  expect(Buffer.byteLength(basename(await folderOf(cjk)))).toBeLessThanOrEqual(255)
})

test('S29: the folder of a project that was renamed stays where it is, and what has its old name is another project', async () => {
  const old = await folderOf(work.path('w/p'))
  await writeFile(`${old}/x.jsonl`, `${JSON.stringify({ type: 'user', cwd: work.path('w/p') })}\n`)
  await rename(work.path('w/p'), work.path('w/q'))
  const moved = await folderOf(work.path('w/q'))
  expect(moved).not.toBe(old)
  expect(await work.read(`projects/${basename(old)}/x.jsonl`)).toContain('"user"')
  expect(await folderOf(work.path('w/p'))).toBe(old)
})
