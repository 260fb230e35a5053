import { mkdir, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

// Made up, in the form of a provider's.
const KEY = `ghp_${'k7Qz2Lm9Xw4Rt8Vb3Np6'.repeat(2).slice(0, 36)}`
const DRAFT = { name: 'Token', description: 'for the server', type: 'user', body: `It is ${KEY}.` } as const

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/': '', 'home/loci.json': '{}' })
})
afterEach(() => work.remove())
const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project'), input: '' }, ...argv)
const dir = (): string => work.path('home/memory')

test('M14 a secret is warned of where a memory is proposed, approved or restored, and not printed by the latter', async () => {
  const memdir = await openMemdir({ dir: dir(), review: true })
  await memdir.save(DRAFT)
  const [proposal] = await memdir.proposals()
  const shown = await run('memory', 'proposals', '--scope', 'user')
  expect(shown.out).toContain('looks like a secret')
  const approved = await run('memory', 'approve', proposal?.id ?? '', '--scope', 'user')
  const { memories } = await memdir.list()
  await memdir.remove('user_token.md', { ifRevision: memories[0]?.revision ?? '' })
  const [entry] = await memdir.trash()
  const restored = await run('memory', 'restore', entry?.id ?? '', '--scope', 'user')
  for (const { out } of [approved, restored]) {
    expect(out).toContain('looks like a secret')
    expect(out).not.toContain(KEY)
  }
})

test('M04 status says which rule decided also where the folder cannot be read', async () => {
  await mkdir(`${dir()}/MEMORY.md`, { recursive: true })
  await writeFile(`${dir()}/.proposed`, '')
  const status = await run('memory', 'status', '--scope', 'user')
  expect(status).toMatchObject({ code: 3, out: expect.stringMatching(/^memory is on: default\n/) })
  expect(status.out).toContain('index: could not be read')
  expect(status.out).toMatch(/damage: .*MEMORY\.md/)
})
