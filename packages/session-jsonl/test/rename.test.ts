import { unlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import {
  listSessions,
  openSession,
  renameSession,
  sessionInfo,
  tagSession,
  verifySession,
} from '@loci/session-jsonl'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { jsonl, project, SID, straight } from './lines.ts'

let made: Awaited<ReturnType<typeof project>>
beforeEach(async () => {
  made = await project(jsonl(...straight(2)))
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const address = (): { projectDir: string; sessionId: string } => ({
  projectDir: made.projectDir,
  sessionId: SID,
})
const rename = (title: string): Promise<void> => renameSession({ ...address(), title })
const tag = (value: string | null): Promise<void> => tagSession({ ...address(), tag: value })

test('a title and a tag are lines at the end, in the form that other clients write; the rest stays as it is', async () => {
  const before = await readFile(made.file, 'utf8')
  await rename('  My\n title ')
  await tag('blue')
  await tag(null)
  expect(await readFile(made.file, 'utf8')).toBe(
    [
      before,
      `{"type":"custom-title","customTitle":"My\\n title","sessionId":"${SID}"}\n`,
      `{"type":"tag","tag":"blue","sessionId":"${SID}"}\n`,
      `{"type":"tag","tag":"","sessionId":"${SID}"}\n`,
    ].join(''),
  )
})

test('the last of each counts, and an empty tag is none', async () => {
  await rename('one')
  await rename('two')
  await tag('blue')
  expect(await sessionInfo(made.file)).toMatchObject({ customTitle: 'two', summary: 'two', tag: 'blue' })
  await tag(null)
  expect(await sessionInfo(made.file)).not.toHaveProperty('tag')
})

test('half a character becomes a whole one', async () => {
  await rename('a\uD83D')
  expect((await sessionInfo(made.file))?.customTitle).toBe('a\uFFFD')
})

test.each([
  ['a blank title', () => rename(' \n '), { code: 'ENTRY_INVALID' }],
  ['a blank tag', () => tag(''), { code: 'ENTRY_INVALID' }],
  ['no text', () => renameSession({ ...address(), title: 5 as never }), TypeError],
  [
    'a session that is not there',
    () => renameSession({ ...address(), sessionId: 'other', title: 'x' }),
    { code: 'SESSION_NOT_FOUND' },
  ],
  [
    'a folder that is not there',
    () => tagSession({ projectDir: made.path('none'), sessionId: SID, tag: 'x' }),
    { code: 'SESSION_NOT_FOUND' },
  ],
  [
    'an id that is none',
    () => renameSession({ ...address(), sessionId: '../x', title: 'x' }),
    { code: 'ENTRY_INVALID' },
  ],
])('%s is refused, and nothing is made', async (_what, act, expected) => {
  const before = await made.snapshot()
  const error: unknown = await act().catch((reason: unknown) => reason)
  if (typeof expected === 'function') expect(error).toBeInstanceOf(expected)
  else expect(error).toMatchObject(expected)
  expect(await made.snapshot()).toEqual(before)
})

test('after a torn line a title begins a line of its own, and the stub stays', async () => {
  await made.remove()
  const whole = jsonl(...straight(2))
  made = await project(`${whole}{"type":"user","uu`)
  await rename('after all')
  expect(await readFile(made.file, 'utf8')).toContain('{"type":"user","uu\n{"type":"custom-title"')
  expect((await sessionInfo(made.file))?.customTitle).toBe('after all')
})

test('a session that is open for writing goes on undisturbed, and says title and tag again as it grows', async () => {
  const session = await openSession(address())
  const tip = session.tip
  await rename('kept')
  await tag('blue')
  expect(session.tip).toBe(tip)
  for (let count = 0; count < 5; count += 1)
    await session.append({ type: 'user', message: { role: 'user', content: 'x'.repeat(20_000) } })
  expect(await session.damage()).toEqual([])
  await session.close()
  const info = await sessionInfo(made.file)
  expect(info).toMatchObject({ customTitle: 'kept', tag: 'blue' })
  expect((await readFile(made.file, 'utf8')).match(/"customTitle":"kept"/g)?.length).toBeGreaterThan(1)
  expect((await readFile(made.file, 'utf8')).match(/"tag":"blue"/g)?.length).toBeGreaterThan(1)
})

test('many at once, beside a writer: each line is whole', async () => {
  const session = await openSession(address())
  const titles = Array.from({ length: 20 }, (_, index) => `title ${index} ${'é'.repeat(1000)}`)
  await Promise.all([
    ...titles.map(rename),
    ...titles.map((content) => session.append({ type: 'user', message: { role: 'user', content } })),
  ])
  expect(await session.damage()).toEqual([])
  // One of them may have been said again, since the file has grown.
  const said = new Set((await session.records('custom-title')).map(({ customTitle }) => customTitle))
  expect(said).toEqual(new Set(titles))
  expect((await session.chain()).length).toBe(22)
  await session.close()
})

test('a session that is deleted meanwhile does not come back', async () => {
  setFaultHook((operation, path) => {
    if (operation === 'open' && path === made.file) unlinkSync(path)
    return undefined
  })
  await expect(rename('x')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  setFaultHook(undefined)
  expect(await listSessions({ projectsDir: made.root })).toEqual([])
  expect(Object.keys(await made.snapshot())).toEqual([])
})

test('a disk that fails at any step leaves the old title or the new one, and a transcript that is whole', async () => {
  await rename('old')
  for (let nth = 1; ; nth += 1) {
    let count = 0
    setFaultHook(() => {
      count += 1
      return count === nth ? Object.assign(new Error('injected'), { code: 'ENOSPC' }) : undefined
    })
    const error: unknown = await rename(`new ${nth}`).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    setFaultHook(undefined)
    expect(['old', `new ${nth}`]).toContain((await sessionInfo(made.file))?.customTitle)
    expect(await verifySession(made.file)).toEqual([])
    if (count < nth) break
    expect(error).toMatchObject({ code: 'DISK_FULL' })
    await rename('old')
  }
  expect(await listSessions({ projectsDir: made.root })).toHaveLength(1)
})
