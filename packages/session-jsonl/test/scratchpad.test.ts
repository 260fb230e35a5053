import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { acquireLease } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { deleteSession, forkSession, openScratchpad } from '@loci/session-jsonl'
import type { Scratchpad } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonl, OTHER, project, SID, straight } from './lines.ts'

let made: Awaited<ReturnType<typeof project>>
let scratchpad: Scratchpad
beforeEach(async () => {
  made = await project(jsonl(...straight(2)), { outside: 'not ours' })
  scratchpad = openScratchpad({ projectDir: made.projectDir, sessionId: SID })
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const textOf = async (name: string): Promise<string | undefined> => {
  const read = await scratchpad.read(name)
  return read && Buffer.from(read.bytes).toString()
}
const more = (previous: Uint8Array | undefined): string => `${Buffer.from(previous ?? []).toString()}x`
const inScratchpad = (name: string): string => made.path(`p/${SID}/scratchpad/${name}`)

describe('a scratchpad', () => {
  test('makes nothing until something is written', async () => {
    const before = await made.snapshot()
    expect(await scratchpad.list()).toEqual([])
    expect(await scratchpad.read('plan.md')).toBeUndefined()
    await scratchpad.unlock()
    expect(await made.snapshot()).toEqual(before)
    expect(scratchpad.dir).toBe(made.path(`p/${SID}/scratchpad`))
  })

  test('gives back what was written, byte for byte, with a revision that is of these bytes', async () => {
    const bytes = Uint8Array.of(0, 255, 10, 13)
    expect(await scratchpad.write('plan.md', 'do it')).toBe(sha256('do it'))
    await scratchpad.write('notes/deep/raw.bin', bytes)
    expect(await scratchpad.read('notes/deep/raw.bin')).toEqual({
      bytes: Buffer.from(bytes),
      revision: createHash('sha256').update(bytes).digest('hex'),
    })
    expect(await readFile(inScratchpad('plan.md'), 'utf8')).toBe('do it')
    const { mtimeMs } = await stat(inScratchpad('plan.md'))
    expect(await scratchpad.list()).toEqual([
      { name: 'notes/deep/raw.bin', sizeBytes: 4, modifiedAtMs: expect.any(Number) as number },
      { name: 'plan.md', sizeBytes: 5, modifiedAtMs: Math.floor(mtimeMs) },
    ])
  })

  test('is for the user alone, and keeps the mode of a file that is replaced', async () => {
    await scratchpad.write('run.sh', 'a')
    expect((await stat(inScratchpad('run.sh'))).mode & 0o777).toBe(0o600)
    await writeFile(inScratchpad('tool.sh'), 'a', { mode: 0o755 })
    await scratchpad.update('tool.sh', more)
    expect((await stat(inScratchpad('tool.sh'))).mode & 0o777).toBe(0o755)
  })

  test('removes a file, and says whether there was one', async () => {
    await scratchpad.write('plan.md', 'a')
    expect(await scratchpad.remove('plan.md')).toBe(true)
    expect(await scratchpad.remove('plan.md')).toBe(false)
    expect(await scratchpad.list()).toEqual([])
  })

  test('lists neither locks nor scratch nor links, and what others put there', async () => {
    await scratchpad.write('plan.md', 'a')
    await writeFile(inScratchpad('.plan.md.0a1b2c3d.tmp'), 'half')
    await writeFile(inScratchpad('.plan.md.lock.1'), '')
    await writeFile(inScratchpad('.hidden'), 'a person’s')
    await symlink(made.path('outside'), inScratchpad('link'))
    expect((await scratchpad.list()).map(({ name }) => name)).toEqual(['.hidden', 'plan.md'])
  })

  test('holds what two writers of one file wrote last, and both know it', async () => {
    const other = openScratchpad({ projectDir: made.projectDir, sessionId: SID })
    const revision = await scratchpad.write('plan.md', 'mine', { ifRevision: null })
    await other.write('plan.md', 'theirs', { ifRevision: revision })
    for (const ifRevision of [revision, null]) {
      await expect(scratchpad.write('plan.md', 'mine again', { ifRevision })).rejects.toMatchObject({
        code: 'SCRATCHPAD_CONFLICT',
        details: { name: 'plan.md', revision: sha256('theirs') },
      })
    }
    await expect(scratchpad.remove('plan.md', { ifRevision: revision })).rejects.toMatchObject({
      code: 'SCRATCHPAD_CONFLICT',
    })
    expect(await textOf('plan.md')).toBe('theirs')
    expect(await other.remove('plan.md', { ifRevision: sha256('theirs') })).toBe(true)
    await expect(scratchpad.write('plan.md', 'x', { ifRevision: revision })).rejects.toMatchObject({
      code: 'SCRATCHPAD_CONFLICT',
      details: { revision: null },
    })
  })
})

describe('an update', () => {
  test('is given what stands there, and leaves it where it gives nothing', async () => {
    expect(await scratchpad.update('a.txt', () => undefined)).toBeNull()
    expect(await scratchpad.update('a.txt', more)).toBe(sha256('x'))
    const previous: string[] = []
    const answer = await scratchpad.update('a.txt', (bytes) => {
      previous.push(Buffer.from(bytes ?? []).toString())
      bytes?.fill(0)
      return undefined
    })
    expect([previous, answer, await textOf('a.txt')]).toEqual([['x'], sha256('x'), 'x'])
  })

  test('that throws, or gives no bytes, changes nothing and keeps nobody out', async () => {
    await scratchpad.write('a.txt', 'a')
    const bug = new Error('a bug of the caller')
    await expect(
      scratchpad.update('a.txt', () => {
        throw bug
      }),
    ).rejects.toBe(bug)
    const late = (() => Promise.resolve('late')) as unknown as () => string
    await expect(scratchpad.update('a.txt', late)).rejects.toThrow(TypeError)
    expect(await textOf('a.txt')).toBe('a')
    await scratchpad.update('a.txt', more)
    expect(await textOf('a.txt')).toBe('ax')
  })

  test('that fails does not stop those that wait for it', async () => {
    const failing = scratchpad.update('a.txt', () => {
      throw new Error('a bug of the caller')
    })
    const waiting = scratchpad.update('a.txt', more)
    await expect(failing).rejects.toThrow('a bug')
    expect(await waiting).toBe(sha256('x'))
  })

  test('of one process come in the order they were called, among writes, and none is lost', async () => {
    const other = openScratchpad({ projectDir: made.projectDir, sessionId: SID })
    const append =
      (text: string) =>
      (previous: Uint8Array | undefined): string =>
        `${Buffer.from(previous ?? []).toString()}${text}`
    await Promise.all([
      scratchpad.update('a.txt', append('1')),
      other.update('a.txt', append('2')),
      scratchpad.write('a.txt', '3'),
      other.update('a.txt', append('4')),
      scratchpad.update('a.txt', append('5')),
    ])
    expect(await textOf('a.txt')).toBe('345')
  })
})

/** Resolves when somebody looked at the lock of the scratchpad. */
function hasLooked(): Promise<void> {
  return new Promise((resolve) => {
    setFaultHook((operation, path) => {
      if (operation === 'read' && path.includes('.scratchpad.lock.')) resolve()
      return undefined
    })
  })
}

describe('a change', () => {
  test('waits for a holder that lives, so long, and names it', async () => {
    await scratchpad.write('a.txt', 'a')
    const held = await acquireLease(scratchpad.dir)
    const impatient = openScratchpad({ projectDir: made.projectDir, sessionId: SID, waitMs: 0 })
    const refusal = { code: 'SESSION_LOCKED', details: { sessionId: SID, pid: process.pid, decidable: true } }
    await expect(impatient.write('a.txt', 'b')).rejects.toMatchObject(refusal)
    await expect(impatient.remove('a.txt')).rejects.toMatchObject(refusal)
    await expect(impatient.unlock()).rejects.toMatchObject(refusal)
    const waiting = scratchpad.update('a.txt', more)
    // Reading waits for nobody.
    expect(await textOf('a.txt')).toBe('a')
    await held.release()
    await waiting
    expect(await textOf('a.txt')).toBe('ax')
  })

  test('that waits while the session’s folder goes is refused, and does not bring it back', async () => {
    await scratchpad.write('a.txt', 'a')
    const held = await acquireLease(scratchpad.dir)
    const refused = expect(scratchpad.write('a.txt', 'b')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    await hasLooked()
    await rename(made.path(`p/${SID}`), made.path('removed'))
    await refused
    expect(await readdir(made.projectDir)).not.toContain(SID)
    await held.release()
  })

  test('is refused by a holder of whom nothing can be said, until it is unlocked by hand', async () => {
    await scratchpad.write('a.txt', 'a')
    const lock = made.path(`p/${SID}/.scratchpad.lock.9`)
    await writeFile(lock, '{"bootId":"of another machine"}\n')
    const impatient = openScratchpad({ projectDir: made.projectDir, sessionId: SID, waitMs: 0 })
    await expect(impatient.write('a.txt', 'b')).rejects.toMatchObject({
      code: 'SESSION_LOCKED',
      details: { decidable: false },
    })
    await impatient.unlock()
    await impatient.write('a.txt', 'b')
    expect(await textOf('a.txt')).toBe('b')
  })

  test('is refused where there is no session, and makes nothing', async () => {
    const before = await made.snapshot()
    for (const projectDir of [made.projectDir, made.path('nowhere')]) {
      const nobody = openScratchpad({ projectDir, sessionId: OTHER })
      expect(await nobody.list()).toEqual([])
      for (const change of [
        () => nobody.write('a', 'b'),
        () => nobody.update('a', more),
        () => nobody.remove('a'),
      ])
        await expect(change()).rejects.toMatchObject({
          code: 'SESSION_NOT_FOUND',
          message: `Session ${OTHER} has no transcript yet; append first`,
        })
    }
    expect(await made.snapshot()).toEqual(before)
  })
})

describe('a name', () => {
  test.each([
    ['', 'PATH_INVALID'],
    ['/etc/passwd', 'PATH_INVALID'],
    ['a//b', 'PATH_INVALID'],
    ['a/', 'PATH_INVALID'],
    ['./a', 'PATH_INVALID'],
    ['a\0b', 'PATH_INVALID'],
    ['half \uD83D', 'PATH_INVALID'],
    ['x'.repeat(256), 'PATH_INVALID'],
    ['.a.lock.1', 'PATH_INVALID'],
    ['sub/.a.0a1b2c3d.tmp', 'PATH_INVALID'],
    ['..', 'PATH_OUTSIDE'],
    ['../archived.json', 'PATH_OUTSIDE'],
    ['a/../../x', 'PATH_OUTSIDE'],
  ])('%j is refused, by every verb, and nothing is made', async (name, code) => {
    const before = await made.snapshot()
    for (const attempt of [
      () => scratchpad.read(name),
      () => scratchpad.write(name, 'x'),
      () => scratchpad.update(name, more),
      () => scratchpad.remove(name),
    ])
      await expect(attempt()).rejects.toMatchObject({ code })
    expect(await made.snapshot()).toEqual(before)
  })

  test.each(['.hidden', 'a b.txt', 'ünï/日本.md', 'a:b', '...', 'x.tmp'])('%j is one', async (name) => {
    await scratchpad.write(name, 'x')
    expect((await scratchpad.list()).map((file) => file.name)).toEqual([name])
    expect(await textOf(name)).toBe('x')
  })

  test('leads through no link, wherever it stands, and to no directory', async () => {
    await scratchpad.write('sub/a.txt', 'a')
    await rm(inScratchpad('sub/a.txt'))
    await symlink(made.path('outside'), inScratchpad('sub/a.txt'))
    await symlink(made.root, inScratchpad('up'))
    const refused = async (name: string, code: string): Promise<void> => {
      for (const attempt of [
        () => scratchpad.read(name),
        () => scratchpad.write(name, 'x'),
        () => scratchpad.remove(name),
      ])
        await expect(attempt()).rejects.toMatchObject({ code })
    }
    await refused('sub/a.txt', 'PATH_LINK')
    await refused('up/outside', 'PATH_LINK')
    await refused('sub', 'PATH_INVALID')
    await rename(scratchpad.dir, made.path('elsewhere'))
    await symlink(made.path('elsewhere'), scratchpad.dir)
    await refused('new.txt', 'PATH_LINK')
    await expect(scratchpad.list()).rejects.toMatchObject({ code: 'PATH_LINK' })
    await rm(made.path(`p/${SID}`), { recursive: true })
    await mkdir(made.path('far'))
    await symlink(made.path('far'), made.path(`p/${SID}`))
    await refused('new.txt', 'PATH_LINK')
    expect([await readdir(made.path('far')), await made.read('outside')]).toEqual([[], 'not ours'])
  })
})

test('a fork carries the files, not the lock and the scratch, and shares no change with its source', async () => {
  await scratchpad.write('notes/plan.md', 'a')
  await writeFile(inScratchpad('.plan.md.0a1b2c3d.tmp'), 'half')
  await forkSession({ projectDir: made.projectDir, sessionId: SID, newSessionId: OTHER })
  expect(await readdir(made.path(`p/${OTHER}`))).toEqual(['scratchpad'])
  expect(await readdir(made.path(`p/${OTHER}/scratchpad`))).toEqual(['notes'])
  const forked = openScratchpad({ projectDir: made.projectDir, sessionId: OTHER })
  // In place, as a program may that knows nothing of scratchpads.
  await writeFile(made.path(`p/${OTHER}/scratchpad/notes/plan.md`), 'b', { flag: 'r+' })
  expect(await textOf('notes/plan.md')).toBe('a')
  await forked.update('notes/plan.md', more)
  expect([await textOf('notes/plan.md'), await made.read(`p/${OTHER}/scratchpad/notes/plan.md`)]).toEqual([
    'a',
    'bx',
  ])
})

test('a deleted session takes it along, locks and all', async () => {
  await scratchpad.write('notes/plan.md', 'a')
  const { removed } = await deleteSession({ projectDir: made.projectDir, sessionId: SID })
  expect(removed).toContain(inScratchpad('notes/plan.md'))
  expect(await readdir(made.projectDir)).not.toContain(SID)
  await expect(scratchpad.write('late.md', 'x')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  expect(await readdir(made.projectDir)).not.toContain(SID)
})
