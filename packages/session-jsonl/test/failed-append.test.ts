import { unlinkSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import { createSession, openSession, renameSession, sessionInfo } from '@loci/session-jsonl'
import { afterEach, expect, test } from 'vitest'
import { jsonl, project, SID, straight } from './lines.ts'

const say = (content: string) => ({ type: 'user' as const, message: { role: 'user', content } })
const full = (): NodeJS.ErrnoException => Object.assign(new Error('full'), { code: 'ENOSPC' })

afterEach(() => setFaultHook(undefined))

test('a title whose turn it was when a write failed is said with the next one, so that lists find it', async () => {
  const title = jsonl({ type: 'custom-title', customTitle: 'Plans', sessionId: SID })
  const made = await project(jsonl(...straight(2)) + title)
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  await session.append(say('x'.repeat(33_000)))
  setFaultHook((operation) => (operation === 'write' ? full() : undefined))
  await expect(session.append(say('it would come with this one'))).rejects.toMatchObject({
    code: 'DISK_FULL',
  })
  setFaultHook(undefined)
  await session.append(say('y'.repeat(31_000)))
  await session.append(say('z'.repeat(31_000)))
  await session.close()
  const tail = (await made.read(`p/${SID}.jsonl`)).slice(-64 * 1024)
  expect(tail).toContain('"customTitle":"Plans"')
  expect(await sessionInfo(made.file)).toMatchObject({ customTitle: 'Plans' })
  await made.remove()
})

test('to the disk: the folders that were made for a session too; after a flush that failed, with the next append', async () => {
  const made = await project(undefined)
  const projectDir = made.path('new/projects/p')
  const session = await createSession({ projectDir, sessionId: SID, durability: 'fsync' })
  const flushed: string[] = []
  let fails = true
  setFaultHook((operation, path) => {
    if (operation !== 'fdatasync' || path.endsWith('.jsonl')) return undefined
    if (fails && path === made.path('new')) return Object.assign(new Error('bad'), { code: 'EIO' })
    flushed.push(path)
    return undefined
  })
  await expect(session.append(say('one'))).rejects.toMatchObject({ code: 'DISK_IO' })
  fails = false
  await session.append(say('two'))
  const folders = [projectDir, made.path('new/projects'), made.path('new'), made.path('.')]
  expect(flushed).toEqual(folders.map((folder) => folder.replace(/\/\.?$/, '')))
  await session.append(say('three'))
  expect(flushed).toHaveLength(4)
  await session.close()
  await made.remove()
})

test('a session that is deleted while it is being opened does not come back empty', async () => {
  const made = await project(jsonl(...straight(2)))
  setFaultHook((operation, path) => {
    if (operation === 'open' && path === made.file) unlinkSync(path)
    return undefined
  })
  const opening = openSession({ projectDir: made.projectDir, sessionId: SID })
  await expect(opening).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  setFaultHook(undefined)
  expect(Object.keys(await made.snapshot())).not.toContain(`p/${SID}.jsonl`)
  // And nobody is kept out.
  const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
  await session.append(say('anew'))
  await session.close()
  await made.remove()
})

test('a title that another process gives just before the old one is to be said again is not taken back', async () => {
  const made = await project(jsonl(...straight(2)))
  const where = { projectDir: made.projectDir, sessionId: SID }
  const session = await openSession(where)
  await session.record({ type: 'custom-title', customTitle: 'Old' })
  for (const title of ['New', 'Newer', 'Newest']) {
    for (let n = 0; n < 4; n += 1) await session.append(say('x'.repeat(33_000)))
    await renameSession({ ...where, title })
    await Promise.all([session.append(say('it would come with this one')), session.append(say('and on'))])
    expect(await sessionInfo(made.file)).toMatchObject({ customTitle: title })
  }
  await session.close()
  await made.remove()
})

test.each([1, 100, 400])(
  'what a full disk took of a batch, %i bytes, is fenced off by the next append of the same process',
  async (bytes) => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append(say('before'))
    let writes = 0
    setFaultHook((operation) => {
      if (operation !== 'write') return undefined
      writes += 1
      return writes === 1 ? { shortWriteBytes: bytes } : full()
    })
    const batch = [session.append(say('a')), session.record({ type: 'x-note' }), session.append(say('b'))]
    const outcomes = await Promise.allSettled(batch)
    setFaultHook(undefined)
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    const next = await session.append(say('next'))
    expect(next.parentUuid).toBe((await session.chain()).at(-2)?.uuid)
    const said = (await session.chain()).slice(-2).map(({ message }) => message)
    expect(said).toEqual([say('before').message, say('next').message])
    expect((await session.damage()).map(({ kind }) => kind)).toEqual(['torn-line'])
    // On a line of its own, for readers that do not take glued lines apart.
    const last = (await made.read(`p/${SID}.jsonl`)).split('\n').at(-2)
    expect(JSON.parse(last ?? '')).toMatchObject({ uuid: next.uuid })
    await session.close()
    const again = await openSession({ projectDir: made.projectDir, sessionId: SID })
    expect(again.tip).toBe(next.uuid)
    await again.close()
    await made.remove()
  },
)

test('a uuid whose append failed can be tried again', async () => {
  const made = await project(jsonl(...straight(2)))
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  setFaultHook((operation) => (operation === 'write' ? full() : undefined))
  await expect(session.append({ ...say('a'), uuid: 'own' })).rejects.toMatchObject({ code: 'DISK_FULL' })
  setFaultHook(undefined)
  expect(await session.append({ ...say('a'), uuid: 'own' })).toMatchObject({ uuid: 'own', parentUuid: 'm2' })
  await session.close()
  await made.remove()
})
