import { execFileSync } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { loadMemory, loadMemoryPrompt, memoryDirs, memoryRoot, openMemdir, saveMemory } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let memdir: Memdir
let dir: string
let stopServer = (): void => undefined
beforeEach(async () => {
  work = await tree({ 'secret.md': '- [S](s.md) — SECRET\n' })
  dir = work.path('p/memory')
  memdir = await openMemdir({ dir })
  await memdir.save({ ...draft, file: 'a.md' })
})
afterEach(async () => {
  stopServer()
  await work.remove()
})

const draft: MemoryDraft = { name: 'N', description: 'd', type: 'user', body: 'B' }

const KINDS = {
  'a FIFO': async (path: string) => execFileSync('mkfifo', [path]),
  'a socket': async (path: string) => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(path, resolve))
    stopServer = () => void server.close()
  },
  'a directory': (path: string) => mkdir(path),
  'a link': (path: string) => symlink(work.path('secret.md'), path),
  'a link to nowhere': (path: string) => symlink('/nowhere/at/all', path),
  'a link to a device': (path: string) => symlink('/dev/zero', path),
} as const
type Kind = keyof typeof KINDS
const kinds = Object.keys(KINDS) as Kind[]

async function put(kind: Kind, path: string): Promise<void> {
  await rm(path, { force: true })
  await mkdir(dirname(path), { recursive: true })
  await KINDS[kind](path)
}
const refused = (kind: Kind): object => ({ code: kind.startsWith('a link') ? 'PATH_LINK' : 'MEMORY_INVALID' })
const prompt = async (): Promise<string> => {
  const dirs = memoryDirs({ home: work.path('home'), projectDir: work.path('p') })
  const composed = await loadMemoryPrompt({ dirs, enabled: true, team: true })
  return composed?.context ?? ''
}
/** All that could wait or read through, whatever it answers. */
const everyReading = (): Promise<unknown> =>
  Promise.allSettled([
    memdir.index(),
    memdir.list(),
    memdir.read('a.md'),
    memdir.search('B'),
    memdir.trash(),
    memdir.proposals(),
    memdir.verify(),
    memdir.repair({ dryRun: true }),
    prompt(),
  ])

describe.each(kinds)('R11: %s', (kind) => {
  test('in the place of the index is named everywhere and nowhere read, waited for, written or taken for empty', async () => {
    await put(kind, `${dir}/MEMORY.md`)
    await everyReading()
    await expect(memdir.index()).rejects.toMatchObject(refused(kind))
    for (const change of [
      () => memdir.save(draft),
      () => memdir.repair(),
      async () => memdir.remove('a.md', { ifRevision: (await memdir.read('a.md'))?.revision ?? '' }),
    ]) {
      await expect(change()).rejects.toMatchObject(refused(kind))
    }
    expect((await memdir.list()).memories).toHaveLength(1)
    expect(await memdir.verify()).toMatchObject([{ kind: 'index-unreadable', path: `${dir}/MEMORY.md` }])
    const context = await prompt()
    expect(context).toContain('is there but could not be read')
    expect(context).not.toContain('SECRET')
    expect(await work.read('secret.md')).toBe('- [S](s.md) — SECRET\n')
  })

  test('in the place of a topic is damage, and refused by name', async () => {
    await put(kind, `${dir}/b.md`)
    await everyReading()
    if (kind !== 'a directory') expect((await memdir.list()).damage).toMatchObject([{ kind: 'not-a-file' }])
    expect((await memdir.list()).memories).toHaveLength(1)
    await expect(memdir.read('b.md')).rejects.toMatchObject(refused(kind))
    await expect(memdir.save({ ...draft, file: 'b.md' })).rejects.toMatchObject(refused(kind))
  })

  test.each(['trash', 'proposed'])('in .%s is damage, hides nothing else and is refused', async (place) => {
    await put(kind, `${dir}/.${place}/x.json`)
    await everyReading()
    expect(await memdir.verify()).toMatchObject([{ kind: 'unreadable', path: `${dir}/.${place}/x.json` }])
    const act = place === 'trash' ? memdir.restore('x') : memdir.approve('x')
    await expect(act).rejects.toMatchObject(refused(kind))
  })

  test.each(['.trash', '.proposed'])(
    'in the place of the folder %s is named, and nothing goes into it',
    async (place) => {
      if (kind === 'a directory') return
      await put(kind, `${dir}/${place}`)
      await everyReading()
      expect(await memdir.verify()).toMatchObject([{ kind: 'unreadable', path: `${dir}/${place}` }])
      const reviewed = await openMemdir({ dir, review: true })
      const act =
        place === '.trash'
          ? memdir.remove('a.md', { ifRevision: (await memdir.read('a.md'))?.revision ?? '' })
          : reviewed.save(draft)
      await expect(act).rejects.toMatchObject({ code: expect.stringMatching(/^PATH_(LINK|INVALID)$/) })
      expect((await memdir.list()).memories).toHaveLength(1)
    },
  )

  test('in the place of a plain memory file is an error, and a line in the prompt', async () => {
    const file = work.path('home/MEMORY.md')
    await put(kind, file)
    await expect(loadMemory(file)).rejects.toMatchObject(refused(kind))
    await expect(saveMemory('x', { file })).rejects.toMatchObject(refused(kind))
    const context = await prompt()
    expect(context).toContain('is there but could not be read')
    expect(context).not.toContain('SECRET')
    expect(await work.read('secret.md')).toBe('- [S](s.md) — SECRET\n')
  })
})

test.each(['commondir', 'gitdir', 'config'])(
  "R11: a FIFO as Git's %s keeps no search for the root waiting",
  async (name) => {
    const git = work.path('repo/.git')
    for (const part of ['objects', 'refs']) await mkdir(`${git}/${part}`, { recursive: true })
    await writeFile(`${git}/HEAD`, 'ref: refs/heads/main\n')
    await writeFile(`${git}/commondir`, '.')
    await put('a FIFO', `${git}/${name}`)
    expect(await memoryRoot(work.path('repo'))).toBe(work.path('repo'))
    expect(await memoryRoot(git)).toBe(work.path('repo'))
  },
)

test('R11: a trash folder that is a link to a folder elsewhere is neither listed nor filled', async () => {
  await mkdir(work.path('elsewhere'))
  await symlink(work.path('elsewhere'), `${dir}/.trash`)
  expect(await memdir.verify()).toMatchObject([{ kind: 'unreadable', path: `${dir}/.trash` }])
  await expect(memdir.trash()).rejects.toMatchObject({ code: 'PATH_LINK' })
})
