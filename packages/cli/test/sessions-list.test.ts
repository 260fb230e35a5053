import { mkdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { createSession, openSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'w/p/': '', 'home/loci.json': '{}' })
})
afterEach(() => work.remove())

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/** Runs `loci` from a directory below the tree. */
const from = (directory: string, ...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path(directory) }, ...argv)

/** The same with a prompt on standard input. */
const saying = (directory: string, ...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path(directory), input: 'hello\n' }, ...argv)

const listed = async (directory: string, ...argv: string[]): Promise<string[]> => {
  const { json } = await from(directory, 'sessions', 'list', ...argv, '--json')
  return (json() as { sessionId: string }[]).map(({ sessionId }) => sessionId)
}

const continued = async (directory: string, ...argv: string[]): Promise<string> => {
  const { out, err, code } = await from(
    directory,
    '--offline',
    '-p',
    'on',
    '--output-format',
    'json',
    ...argv,
  )
  expect({ code, err }).toMatchObject({ code: 0 })
  return (JSON.parse(out) as { sessionId: string }).sessionId
}

/** A session of that directory with one prompt of that time; gives its transcript. */
async function talk(directory: string, n: number, time: string): Promise<string> {
  const cwd = work.path(directory)
  await mkdir(cwd, { recursive: true })
  const projectDir = await resolveProjectDir({
    projectsDir: work.path('home/projects'),
    root: cwd,
    create: true,
  })
  const session = await createSession({ projectDir, sessionId: id(n), cwd, clock: () => new Date(time) })
  await session.append({ type: 'user', message: { role: 'user', content: `in ${directory}` } })
  await session.append({
    type: 'assistant',
    message: { role: 'assistant', content: [{ type: 'text', text: 'ok' }] },
  })
  await session.close()
  return session.path
}

test('S11: --continue goes on with the session of the newest message, not with the file last written', async () => {
  const oldest = await talk('w/p', 3, '2026-06-01T00:00:00.000Z')
  await talk('w/p', 2, '2026-06-02T00:00:00.000Z')
  await talk('w/p', 1, '2026-06-03T00:00:00.000Z')
  await from('w/p', 'sessions', 'rename', id(2), 'a title')
  await utimes(oldest, new Date(), new Date())
  const before = [await readFile(oldest, 'utf8'), (await stat(oldest)).mtimeMs]
  // Resumed, and left without a message.
  expect(await from('w/p', '--offline', '--resume', id(3))).toMatchObject({ code: 0 })
  expect([await readFile(oldest, 'utf8'), (await stat(oldest)).mtimeMs]).toEqual(before)
  expect(await listed('w/p')).toEqual([id(1), id(2), id(3)])
  expect(await continued('w/p', '--continue')).toBe(id(1))
})

test('S15: list and --continue of directories with one slug show each its own', async () => {
  const directories = ['w/a-b', 'w/a/b', 'w/a_b', 'w/日本', 'w/韓国']
  for (const [n, directory] of directories.entries())
    await talk(directory, n, `2026-06-0${n + 1}T00:00:00.000Z`)
  for (const [n, directory] of directories.entries()) {
    expect(await listed(directory)).toEqual([id(n)])
    expect(await continued(directory, '--continue')).toBe(id(n))
    expect(await listed(directory)).toEqual([id(n)])
  }
})

test('S19: with --all each session says its recorded directory, or the folder as it is called', async () => {
  const projects = work.path('home/projects')
  const line = (cwd?: string): string =>
    `${JSON.stringify({ type: 'user', uuid: 'm1', parentUuid: null, cwd, message: { role: 'user', content: 'hi' } })}\n`
  await mkdir(join(projects, '-w-my-app-v2'), { recursive: true })
  await mkdir(join(projects, '-w-my-app-v3'), { recursive: true })
  await writeFile(join(projects, '-w-my-app-v2', `${id(1)}.jsonl`), line('/w/my-app.v2'))
  await writeFile(join(projects, '-w-my-app-v3', `${id(2)}.jsonl`), line())
  const { out } = await from('w/p', 'sessions', 'list', '--all')
  expect(out).toMatch(new RegExp(`${id(1)} .*  in /w/my-app\\.v2\n`))
  expect(out).toMatch(new RegExp(`${id(2)} .*  in the folder -w-my-app-v3, directory not recorded\n`))
  expect(out).not.toMatch(/\/w\/my\/app|my-app\/v/)
})

describe('S29', () => {
  test('a session that went on elsewhere is listed from both directories, and both say so', async () => {
    const path = await talk('w/p', 1, '2026-06-01T00:00:00.000Z')
    await mkdir(work.path('w/tree'))
    const projectDir = join(path, '..')
    const session = await openSession({ projectDir, sessionId: id(1), cwd: work.path('w/tree') })
    await session.append({ type: 'user', message: { role: 'user', content: 'there' } })
    await session.close()
    for (const directory of ['w/p', 'w/tree']) {
      expect(await listed(directory)).toEqual([id(1)])
      const { out } = await from(directory, 'sessions', 'list')
      expect(out).toContain(`began in ${work.path('w/p')}, went on in ${work.path('w/tree')}`)
    }
    expect(await listed('home')).toEqual([])
  })

  test('after the project or the folder of its sessions was renamed, --all and the id still find it, and say where', async () => {
    const path = await talk('w/p', 1, '2026-06-01T00:00:00.000Z')
    await rename(work.path('w/p'), work.path('w/q'))
    await rename(join(path, '..'), work.path('home/projects/renamed'))
    expect(await listed('w/q')).toEqual([])
    expect((await from('w/q', 'sessions', 'list')).out).toContain('--all')
    expect(await listed('w/q', '--all')).toEqual([id(1)])
    expect((await from('w', 'sessions', 'list', '--all')).out).toContain(`in ${work.path('w/p')}`)
    expect((await from('w', 'sessions', 'show', id(1))).out).toContain('in w/p')
    const gone = `${work.path('w/p')}, the directory of the session, is gone; going on in ${work.path('w/q')}.`
    // Said before anything is asked, and once.
    for (const ask of [from, saying]) {
      const resumed = await ask('w/q', '--offline', '--resume', id(1))
      expect(resumed.code).toBe(0)
      expect(resumed.out.split('\n')[0]).toContain(`in ${work.path('w/q')};`)
      expect(resumed.out.split(gone)).toHaveLength(2)
    }
    expect(await continued('w/q', '--resume', id(1))).toBe(id(1))
    // From now on it is of the new directory too, and stays in the folder where it is.
    expect(await listed('w/q')).toEqual([id(1)])
    const [info] = (await from('w/q', 'sessions', 'list', '--json')).json() as { path: string }[]
    expect(basename(join(info?.path ?? '', '..'))).toBe('renamed')
  })

  test('/resume says the same, each time a session is gone on with', async () => {
    await talk('w/p', 1, '2026-06-01T00:00:00.000Z')
    await rename(work.path('w/p'), work.path('w/q'))
    const { out } = await loci(
      {
        home: work.path('home'),
        cwd: work.path('w/q'),
        input: `/resume ${id(1)}\n/resume ${id(1)}\nhello\n`,
      },
      '--offline',
    )
    expect(out.split('is gone; going on in')).toHaveLength(3)
  })

  test('resumed by its id from another directory it works in its own, and says so', async () => {
    await talk('w/p', 1, '2026-06-01T00:00:00.000Z')
    await mkdir(work.path('w/elsewhere'))
    const { out } = await saying('w/elsewhere', '--offline', '--resume', id(1))
    expect(out).toContain(`The session works in ${work.path('w/p')}, not in ${work.path('w/elsewhere')}.`)
  })
})
