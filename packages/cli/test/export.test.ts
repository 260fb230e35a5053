import { readFile } from 'node:fs/promises'
import { resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { createSession } from '@loci/session-jsonl'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'
const SECRET = ['sk-', 'ant-api03-abcdefghijklmnop'].join('')

let work: Tree
let path: string
beforeAll(async () => {
  work = await tree({ 'project/': '', 'home/other.json': '{}' })
  const cwd = work.path('project')
  const projectDir = await resolveProjectDir({
    projectsDir: work.path('home/projects'),
    root: cwd,
    create: true,
  })
  const session = await createSession({ projectDir, sessionId: SESSION, cwd })
  await session.append({ type: 'user', message: { role: 'user', content: `red \u001B[31m ${SECRET}` } })
  await session.close()
  path = session.path
})
afterAll(() => work.remove())

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, 'sessions', 'export', ...argv)

test('prints Markdown unless told otherwise, raw, and writes nothing, also in a home that is not ours', async () => {
  const before = await work.snapshot()
  const { code, out, err } = await run(SESSION.slice(0, 8))
  expect(out).toMatch(/^# red /)
  expect(out).toContain(`> red \u001B[31m ${SECRET}\n`)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(await work.snapshot()).toEqual(before)
})

test('html is a page, jsonl the file', async () => {
  expect((await run(SESSION, '--format', 'html')).out).toMatch(/^<!DOCTYPE html>[^]+<\/html>\n$/)
  expect((await run(SESSION, '--format', 'jsonl')).out).toBe(await readFile(path, 'utf8'))
})

test('--json holds the format and the same text', async () => {
  const text = (await run(SESSION)).out
  expect((await run(SESSION, '--json')).json()).toEqual({ format: 'markdown', text })
})

test.each(['markdown', 'html', 'jsonl'])('--redact masks keys in %s', async (format) => {
  const { out } = await run(SESSION, '--redact', '--format', format)
  expect(out).toContain('REDACTED')
  expect(out).not.toContain(SECRET)
})

test('an unknown session is refused', async () => {
  expect(await run('ffff')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/\[SESSION_NOT_FOUND\]\n$/),
  })
})
