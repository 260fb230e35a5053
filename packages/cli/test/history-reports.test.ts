import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'
import { createSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { transcriptLedger } from '../src/transcript-ledger.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

// The part of public bug reports about file histories that is the CLI's; the rest is in packages/file-history.

const SESSION = '22222222-2222-4222-8222-222222222222'

let work: Tree
let prompts: string[]
beforeEach(async () => {
  work = await tree({ 'project/f.txt': 'v0\n', 'project/shell.txt': 's0\n', 'home/loci.json': '{}' })
  const cwd = work.path('project')
  const projectsDir = work.path('home/projects')
  const projectDir = await resolveProjectDir({ projectsDir, root: cwd, create: true })
  const session = await createSession({ projectDir, sessionId: SESSION, cwd })
  const ledger = transcriptLedger({ path: session.path, record: (draft) => session.record(draft) })
  const dir = work.path(`home/file-history/${SESSION}`)
  const history = await openFileHistory({ dir, root: cwd, ledger })
  prompts = []
  for (const version of [1, 2, 3]) {
    const prompt = { role: 'user' as const, content: `to v${version}` }
    const { uuid } = await session.append({ type: 'user', message: prompt })
    prompts.push(uuid)
    await history.makeSnapshot(uuid)
    await history.trackEdit(work.path('project/f.txt'), uuid)
    await writeFile(work.path('project/f.txt'), `v${version}\n`)
    await history.recordEdit(work.path('project/f.txt'), uuid)
    await history.trackCommand(uuid, () => writeFile(work.path('project/shell.txt'), `s${version}\n`))
  }
  await history.close()
  await session.close()
})
afterEach(() => work.remove())

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, ...argv)
const content = async (): Promise<string[]> => [
  await readFile(work.path('project/f.txt'), 'utf8'),
  await readFile(work.path('project/shell.txt'), 'utf8'),
]

test('F05: in new processes and in a fork each turn can be rewound, files and conversation', async () => {
  const fork = (await run('sessions', 'fork', SESSION, '--json')).json() as { sessionId: string }
  for (const session of [SESSION, fork.sessionId]) {
    for (const [index, prompt] of prompts.entries()) {
      const rewound = await run(
        'history',
        'rewind',
        prompt,
        '--session',
        session,
        '--on-conflict',
        'overwrite',
      )
      expect(rewound).toMatchObject({ code: 0, err: '' })
      expect(await content()).toEqual([`v${index}\n`, `s${index}\n`])
    }
  }
  expect(await run('sessions', 'rewind', SESSION, prompts[1] ?? '')).toMatchObject({ code: 0, err: '' })
})

test('F05: where the files of a turn are gone it is said, and the conversation goes back all the same', async () => {
  await rm(work.path(`home/file-history/${SESSION}`), { recursive: true })
  const refused = await run('history', 'rewind', prompts[1] ?? '')
  expect(refused.code).toBe(3)
  expect(refused.out + refused.err).toContain('f.txt')
  expect(await content()).toEqual(['v3\n', 's3\n'])
  expect(await run('sessions', 'rewind', SESSION, prompts[1] ?? '')).toMatchObject({ code: 0, err: '' })
})

test('F13: the preview names what somebody else changed, without consent nothing happens, with it it can be undone', async () => {
  await writeFile(work.path('project/f.txt'), 'mine\n')
  const preview = await run('history', 'rewind', prompts[0] ?? '', '--dry-run')
  expect(preview.out).toMatch(/^conflict .*f\.txt: /m)
  expect((await run('history', 'rewind', prompts[0] ?? '')).code).toBe(3)
  expect(await content()).toEqual(['mine\n', 's3\n'])
  expect((await run('history', 'rewind', prompts[0] ?? '', '--on-conflict', 'overwrite')).code).toBe(0)
  expect(await content()).toEqual(['v0\n', 's0\n'])
  expect((await run('history', 'undo')).code).toBe(0)
  expect(await content()).toEqual(['mine\n', 's3\n'])
})

test('F14: the preview of each turn lists what commands changed, and what a shell did since as a conflict', async () => {
  for (const prompt of prompts) {
    const { out } = await run('history', 'rewind', prompt, '--dry-run')
    expect(out).toMatch(/^modify .*shell\.txt/m)
  }
  await writeFile(work.path('project/shell.txt'), 'by a shell\n')
  const { out, code } = await run('history', 'rewind', prompts[2] ?? '', '--dry-run')
  expect(out).toMatch(/^conflict .*shell\.txt: /m)
  expect(code).not.toBe(1)
})

test('F19: a file that could not be brought back is named, and the exit code is not 0; a second run finishes', async () => {
  await rm(work.path('project/shell.txt'))
  await mkdir(work.path('project/shell.txt'))
  const failed = await run('history', 'rewind', prompts[0] ?? '')
  expect(failed.code).toBe(3)
  expect(failed.out).toMatch(/^restored .*f\.txt$/m)
  expect(failed.out).toMatch(/^skipped .*shell\.txt: a directory is in its place now$/m)
  await rm(work.path('project/shell.txt'), { recursive: true })
  await writeFile(work.path('project/shell.txt'), 's3\n')
  expect((await run('history', 'rewind', prompts[0] ?? '')).code).toBe(0)
  expect(await content()).toEqual(['v0\n', 's0\n'])
})
