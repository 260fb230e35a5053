import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { isLociError } from '@loci/disk'
import { projectSlug, resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import dirnames from './fixtures/dirnames.json' with { type: 'json' }

describe('projectSlug', () => {
  test.each(Object.entries(dirnames))('%s', (path, name) => {
    expect(projectSlug(path)).toBe(name)
  })

  test('composed and decomposed spellings of a path have one name', () => {
    expect(projectSlug('/w/é'.normalize('NFD'))).toBe(projectSlug('/w/é'.normalize('NFC')))
  })
})

describe('resolveProjectDir', () => {
  let work: Tree
  let projectsDir: string
  beforeEach(async () => {
    work = await tree({ 'w/a-b/': '', 'w/a.b/': '', link: { link: 'w/a-b' } })
    projectsDir = work.path('projects')
  })
  afterEach(() => work.remove())

  const session = (cwd: string, timestamp: string): string =>
    `{"type":"queue-operation","timestamp":"${timestamp}"}\n${JSON.stringify({ type: 'user', cwd, timestamp })}\n`

  async function plant(directory: string, name: string, text: string): Promise<void> {
    await mkdir(directory, { recursive: true })
    await writeFile(`${directory}/${name}`, text)
  }

  test('without create it makes nothing', async () => {
    const before = await work.snapshot()
    const directory = await resolveProjectDir({ projectsDir, root: work.path('w/a-b') })
    expect(directory).toBe(`${projectsDir}/${projectSlug(work.path('w/a-b'))}`)
    expect(await work.snapshot()).toEqual(before)
  })

  test('the first project owns the plain folder and its twin gets one of its own, in either order of asking', async () => {
    const first = await resolveProjectDir({ projectsDir, root: work.path('w/a-b'), create: true })
    const second = await resolveProjectDir({ projectsDir, root: work.path('w/a.b'), create: true })
    expect(projectSlug(work.path('w/a-b'))).toBe(projectSlug(work.path('w/a.b')))
    expect(second).toMatch(/-[0-9a-z]+$/)
    expect(second).not.toBe(first)
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a.b') })).toBe(second)
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a-b') })).toBe(first)
    expect(await work.read(`projects/${projectSlug(work.path('w/a-b'))}/.project.json`)).toBe(
      `${JSON.stringify({ root: work.path('w/a-b') })}\n`,
    )
  })

  test('a link to the project leads to the same folder', async () => {
    const directory = await resolveProjectDir({ projectsDir, root: work.path('w/a-b'), create: true })
    expect(await resolveProjectDir({ projectsDir, root: work.path('link'), create: true })).toBe(directory)
  })

  test('projects asked for at the same time never share a folder', async () => {
    const roots = ['w/a-b', 'w/a.b', 'w/a b', 'w/a_b', 'w/a+b'].map((name) => work.path(name))
    await Promise.all(roots.map((root) => mkdir(root, { recursive: true })))
    const directories = await Promise.all(
      roots.map((root) => resolveProjectDir({ projectsDir, root, create: true })),
    )
    expect(new Set(directories).size).toBe(roots.length)
  })

  test('a folder without the file belongs to the cwd of its oldest session', async () => {
    const plain = `${projectsDir}/${projectSlug(work.path('w/a-b'))}`
    await plant(plain, 'b.jsonl', session(work.path('w/a-b'), '2026-01-02T00:00:00.000Z'))
    await plant(plain, 'c.jsonl', session(work.path('w/a.b'), '2026-01-01T00:00:00.000Z'))
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a.b') })).toBe(plain)
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a-b') })).not.toBe(plain)
  })

  test.each([
    [
      'stands after a prompt of 70,000 characters',
      (cwd: string) => `${JSON.stringify({ type: 'user', message: { content: 'x'.repeat(70_000) }, cwd })}\n`,
    ],
    ['stands after a byte order mark', (cwd: string) => `\uFEFF${JSON.stringify({ type: 'user', cwd })}\n`],
    [
      'stands in a line with zeros before it',
      (cwd: string) => `\0\0\0${JSON.stringify({ type: 'user', cwd })}\n`,
    ],
    [
      'stands in a line that is cut',
      (cwd: string) => JSON.stringify({ type: 'user', cwd, message: 'x' }).slice(0, -4),
    ],
    ['is not told', () => '{"type":"user","message":{"content":"\\"cwd\\":\\"/elsewhere\\""}}\n'],
  ])('a session whose directory %s keeps its folder from others', async (_, line) => {
    const plain = `${projectsDir}/${projectSlug(work.path('w/a-b'))}`
    await plant(plain, 'b.jsonl', line(work.path('w/a.b')))
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a-b'), create: true })).not.toBe(plain)
  })

  test('a session without a conversation does not', async () => {
    const plain = `${projectsDir}/${projectSlug(work.path('w/a-b'))}`
    await plant(plain, 'b.jsonl', '{"type":"mode","mode":"normal"}\n')
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a-b'), create: true })).toBe(plain)
  })

  test('a folder without sessions is free, and is claimed only with create', async () => {
    const plain = `${projectsDir}/${projectSlug(work.path('w/a-b'))}`
    await mkdir(`${plain}/memory`, { recursive: true })
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a.b') })).toBe(plain)
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a-b'), create: true })).toBe(plain)
    expect(await resolveProjectDir({ projectsDir, root: work.path('w/a.b') })).not.toBe(plain)
  })

  test('an owner file that cannot be read is refused, never overwritten', async () => {
    const plain = `${projectsDir}/${projectSlug(work.path('w/a-b'))}`
    await plant(plain, '.project.json', '{"ro')
    const error: unknown = await resolveProjectDir({
      projectsDir,
      root: work.path('w/a-b'),
      create: true,
    }).catch((thrown: unknown) => thrown)
    expect(isLociError(error, 'PATH_INVALID')).toBe(true)
    expect(await work.read(`projects/${projectSlug(work.path('w/a-b'))}/.project.json`)).toBe('{"ro')
  })

  test('a FIFO in the place of the owner file is refused, not waited on', async () => {
    const plain = `${projectsDir}/${projectSlug(work.path('w/a-b'))}`
    await mkdir(plain, { recursive: true })
    execFileSync('mkfifo', [`${plain}/.project.json`])
    const error: unknown = await resolveProjectDir({ projectsDir, root: work.path('w/a-b') }).catch(
      (thrown: unknown) => thrown,
    )
    expect(isLociError(error, 'PATH_INVALID')).toBe(true)
  })

  test('a project that does not exist keeps the path it was given', async () => {
    expect(await resolveProjectDir({ projectsDir, root: '/nowhere/at.all' })).toBe(
      `${projectsDir}/-nowhere-at-all`,
    )
  })
})
