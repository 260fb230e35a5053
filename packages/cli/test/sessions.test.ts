import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { acquireLease } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { createSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'

let work: Tree
let uuids: string[]
beforeEach(async () => {
  work = await tree({ 'project/': '', 'other/': '', 'home/loci.json': '{}' })
  uuids = await talk('project', SESSION, ['one', 'two', 'three'])
})
afterEach(() => work.remove())

async function talk(project: string, sessionId: string, turns: string[]): Promise<string[]> {
  const cwd = work.path(project)
  const projectDir = await resolveProjectDir({
    projectsDir: work.path('home/projects'),
    root: cwd,
    create: true,
  })
  const session = await createSession({ projectDir, sessionId, cwd })
  const made: string[] = []
  for (const turn of turns) {
    made.push((await session.append({ type: 'user', message: { role: 'user', content: turn } })).uuid)
    const content = [{ type: 'text', text: `answer to ${turn}` }]
    made.push((await session.append({ type: 'assistant', message: { role: 'assistant', content } })).uuid)
  }
  await session.close()
  return made
}

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, ...argv)
const transcript = async (): Promise<string> => {
  const { json } = await run('sessions', 'list', '--json')
  const [info] = json() as { path: string }[]
  return info?.path ?? ''
}

describe('list', () => {
  test('shows the sessions of this directory, and with --all those of every one', async () => {
    await talk('other', '22222222-2222-4222-8222-222222222222', ['elsewhere'])
    expect((await run('sessions', 'list', '--json')).json()).toMatchObject([
      { sessionId: SESSION, firstPrompt: 'one' },
    ])
    expect((await run('sessions', 'list', '--all', '--json')).json()).toHaveLength(2)
    const elsewhere = await run('sessions', 'list', '--cwd', work.path('other'), '--json')
    expect(elsewhere.json()).toMatchObject([{ firstPrompt: 'elsewhere' }])
    expect((await run('sessions', 'list', '--all', '--limit', '1', '--json')).json()).toHaveLength(1)
  })

  test('a title cannot clear the screen or pass for a session of its own', async () => {
    const title = 'line1\nFAKE  ROW \u001B[2J\u001B]0;x\u0007\u202Egnp'
    await run('sessions', 'fork', SESSION, '--title', title)
    const { out } = await run('sessions', 'list')
    expect(out.trimEnd().split('\n')).toHaveLength(2)
    expect(out).toContain('line1 FAKE  ROW ␛[2J␛]0;x␇\uFFFDgnp')
    // eslint-disable-next-line no-control-regex
    expect(out).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/)
    expect((await run('sessions', 'list', '--json')).out).toContain('\\u001b[2J')
  })

  test('for people: one line a session', async () => {
    expect((await run('sessions', 'list')).out).toMatch(
      new RegExp(`^${SESSION}  \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z  .+\\n$`),
    )
  })
})

describe('show', () => {
  test('gives entries, tip and damage; the beginning of an id is enough', async () => {
    const { code, json } = await run('sessions', 'show', '1111', '--json')
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      info: { sessionId: SESSION },
      entries: uuids.map((uuid) => ({ uuid })),
      tip: uuids[5],
      damage: [],
    })
  })

  test('damage is listed and makes the exit code 3', async () => {
    await writeFile(await transcript(), '{"type":"user","uu', { flag: 'a' })
    const { code, json } = await run('sessions', 'show', SESSION, '--json')
    expect(code).toBe(3)
    expect(json()).toMatchObject({ entries: uuids.map((uuid) => ({ uuid })), damage: [{ line: 7 }] })
    expect((await run('sessions', 'show', SESSION)).out).toContain('damage: ')
  })
})

describe('rewind', () => {
  test("a prompt's id means before it, any other after it, and the old end stays among the tips", async () => {
    expect((await run('sessions', 'rewind', SESSION, uuids[2] ?? '', '--json')).json()).toEqual({
      sessionId: SESSION,
      tip: uuids[1],
    })
    // The place gone back to is no branch end; it becomes one with the next message.
    expect((await run('sessions', 'tips', SESSION, '--json')).json()).toMatchObject([
      { uuid: uuids[5], current: false, depth: 6 },
    ])
    expect((await run('sessions', 'rewind', SESSION, uuids[3] ?? '', '--json')).json()).toMatchObject({
      tip: uuids[3],
    })
  })

  test('before the first prompt the conversation is empty, and nothing is lost', async () => {
    expect((await run('sessions', 'rewind', SESSION, uuids[0] ?? '', '--json')).json()).toMatchObject({
      tip: null,
    })
    expect((await run('sessions', 'show', SESSION, '--json')).json()).toMatchObject({
      entries: [],
      tip: null,
    })
    expect((await run('sessions', 'rewind', SESSION, uuids[5] ?? '', '--json')).json()).toMatchObject({
      tip: uuids[5],
    })
  })
})

test('for people: where the session stands inside a branch, and that a conversation is empty here', async () => {
  await run('sessions', 'rewind', SESSION, uuids[2] ?? '')
  expect((await run('sessions', 'tips', SESSION)).out).toContain(`now at ${uuids[1]}\n`)
  await run('sessions', 'rewind', SESSION, uuids[0] ?? '')
  expect((await run('sessions', 'show', SESSION)).out).toContain('empty here; loci sessions tips')
  expect((await run('sessions', 'tips', SESSION)).out).toContain('now at the beginning')
})

test('fork: a new session with the chain up to an id and the title asked for', async () => {
  const { json } = await run(
    'sessions',
    'fork',
    SESSION,
    '--up-to',
    uuids[1] ?? '',
    '--title',
    'try this',
    '--json',
  )
  const { sessionId } = json() as { sessionId: string }
  expect((await run('sessions', 'show', sessionId, '--json')).json()).toMatchObject({
    info: { customTitle: 'try this', forkedFrom: SESSION },
    entries: [{ uuid: uuids[0] }, { uuid: uuids[1] }],
  })
})

describe('what is refused changes nothing and says what to do', () => {
  test.each([
    ['an unknown session', ['sessions', 'show', 'ffff'], 'SESSION_NOT_FOUND', 'loci sessions list --all'],
    ['an unknown entry', ['sessions', 'rewind', SESSION, 'ffff'], 'ENTRY_NOT_FOUND', 'loci sessions show'],
    [
      'a fork up to an unknown entry',
      ['sessions', 'fork', SESSION, '--up-to', 'ffff'],
      'ENTRY_NOT_FOUND',
      '',
    ],
    ['a session id that leads elsewhere', ['sessions', 'show', '../../x'], 'SESSION_NOT_FOUND', ''],
    ['an empty id', ['sessions', 'show', ''], 'SESSION_NOT_FOUND', ''],
  ])('%s', async (_, argv, errorCode, advice) => {
    const before = await work.snapshot()
    const { code, out, err } = await run(...argv)
    expect(err).toMatch(new RegExp(`^loci: [^\\n]+ \\[${errorCode}\\]\\n$`))
    expect(err).toContain(advice)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(withoutLocks(await work.snapshot())).toEqual(withoutLocks(before))
  })

  test('an id that fits two sessions', async () => {
    await talk('other', '11111111-2222-4222-8222-222222222222', ['x'])
    const { code, err } = await run('sessions', 'show', '1111')
    expect(code).toBe(1)
    expect(err).toContain('give more of the id')
  })

  test('one id in two folders: the directory decides', async () => {
    await talk('other', SESSION, ['elsewhere'])
    expect((await run('sessions', 'show', SESSION, '--json')).json()).toMatchObject({
      info: { firstPrompt: 'one' },
    })
    const there = await run('sessions', 'show', SESSION, '--json', '--cwd', work.path('other'))
    expect(there.json()).toMatchObject({ info: { firstPrompt: 'elsewhere' } })
    expect((await run('sessions', 'show', SESSION, '--cwd', work.path('home'))).err).toContain('or --cwd')
  })

  test('a home that is not there is said to be empty', async () => {
    const { code, out } = await loci(
      { home: work.path('nope'), cwd: work.path('project') },
      'sessions',
      'list',
    )
    expect(out).toContain(`${work.path('nope')} is empty or does not exist`)
    expect(code).toBe(0)
  })

  test('a session open elsewhere: who has it, and the way out', async () => {
    const lease = await acquireLease(await transcript())
    const { code, err } = await run('sessions', 'rewind', SESSION, uuids[2] ?? '')
    expect(code).toBe(1)
    expect(err).toMatch(/^loci: [^\n]+\[SESSION_LOCKED\]\n$/)
    expect(err).toContain(String(process.pid))
    expect((await run('sessions', 'show', SESSION)).code).toBe(0)
    expect((await run('sessions', 'unlock', SESSION)).code).toBe(1)
    await lease.release()
    expect((await run('sessions', 'unlock', SESSION)).code).toBe(0)
  })

  test('unlock frees a scratchpad too', async () => {
    const side = (await transcript()).replace(/\.jsonl$/, '')
    const lock = `${side}/.scratchpad.lock.1`
    await mkdir(side)
    await writeFile(lock, '{"bootId":"of another machine"}\n')
    expect((await run('sessions', 'unlock', SESSION)).code).toBe(0)
    expect(await readFile(lock, 'utf8')).toBe('')
  })

  test('a home that Loci did not make is read, and changed only with --write', async () => {
    const foreign = await tree(
      Object.fromEntries(
        Object.entries(await work.snapshot()).flatMap(([name, file]) =>
          'text' in file && name.startsWith('home/projects/') ? [[name.replace('home/', ''), file.text]] : [],
        ),
      ),
    )
    const before = await foreign.snapshot()
    const at = (...argv: string[]): Promise<Run> => run(...argv, '--config-dir', foreign.root)
    expect((await at('sessions', 'show', SESSION, '--json')).json()).toMatchObject({ tip: uuids[5] })
    for (const argv of [
      ['sessions', 'rewind', SESSION, uuids[2] ?? ''],
      ['sessions', 'fork', SESSION],
      ['history', 'undo'],
    ]) {
      const { code, err } = await at(...argv)
      expect(err).toMatch(/^loci: [^\n]+--write[^\n]+\[CONFIG_READ_ONLY\]\n$/)
      expect(code).toBe(1)
    }
    expect(await foreign.snapshot()).toEqual(before)
    expect((await at('sessions', 'rewind', SESSION, uuids[2] ?? '', '--write')).code).toBe(0)
    expect(Object.keys(await foreign.snapshot())).not.toContain('loci.json')
    await foreign.remove()
  })

  test('a home that is a file', async () => {
    const { code, err } = await loci(
      { home: work.path('home/loci.json'), cwd: work.path('project') },
      'sessions',
      'list',
    )
    expect(err).toMatch(/^loci: Cannot read[^\n]+ENOTDIR[^\n]+\[DISK_IO\]\n$/)
    expect(code).toBe(1)
  })

  test('a home that may not be read is no empty one', async () => {
    setFaultHook((operation) =>
      operation === 'readdir' ? Object.assign(new Error('injected'), { code: 'EACCES' }) : undefined,
    )
    const { code, err } = await run('sessions', 'list')
    setFaultHook(undefined)
    expect(err).toMatch(/^loci: [^\n]+check its permissions \(EACCES\) \[DISK_IO\]\n$/)
    expect(code).toBe(1)
  })
})

test('an empty directory becomes a home of ours with the first command that writes', async () => {
  await mkdir(work.path('fresh'))
  const at = (...argv: string[]): Promise<Run> =>
    loci(
      {
        home: work.path('fresh'),
        cwd: work.path('project'),
        input: '{"name":"a","description":"b","type":"user","body":"c"}',
      },
      ...argv,
    )
  await at('memory', 'list')
  await expect(stat(work.path('fresh/loci.json'))).rejects.toMatchObject({ code: 'ENOENT' })
  expect((await at('memory', 'save')).code).toBe(0)
  expect((await stat(work.path('fresh/loci.json'))).isFile()).toBe(true)
})

function withoutLocks(files: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(files).filter(([name]) => !name.includes('.lock.')))
}

describe('rename, tag, archive, delete', () => {
  /** A turn that edits a file, so that the session has a file history. */
  const edit = (): Promise<Run> =>
    run('-p', 'create a.txt with "a"', '--resume', SESSION, '--permission-mode', 'acceptEdits')

  test('say what the session is now', async () => {
    expect((await run('sessions', 'rename', SESSION.slice(0, 8), 'A title', '--json')).json()).toMatchObject({
      sessionId: SESSION,
      customTitle: 'A title',
    })
    expect((await run('sessions', 'tag', SESSION, 'blue')).out).toContain('A title  (tag blue)')
    expect((await run('sessions', 'tag', SESSION, '', '--json')).json()).not.toHaveProperty('tag')
    expect((await run('sessions', 'archive', SESSION, '--json')).json()).toMatchObject({ archived: true })
    expect((await run('sessions', 'list', '--json')).json()).toEqual([])
    expect((await run('sessions', 'list', '--archived', '--json')).json()).toHaveLength(1)
    expect((await run('sessions', 'unarchive', SESSION, '--json')).json()).toMatchObject({ archived: false })
  })

  test('delete removes the transcript, side files and file history, names each, and leaves the rest', async () => {
    const other = '22222222-2222-4222-8222-222222222222'
    await talk('project', other, ['stays'])
    await edit()
    await mkdir(work.path('home/file-history'), { recursive: true })
    const before = Object.keys(await work.snapshot()).filter(
      (name) => name.includes(SESSION) && !name.includes('.lock.'),
    )
    expect(before.some((name) => name.startsWith(`home/file-history/${SESSION}/`))).toBe(true)
    const { removed } = (await run('sessions', 'delete', SESSION, '--json')).json() as { removed: string[] }
    expect(removed).toEqual(before.map((name) => work.path(name)).toSorted())
    const after = Object.keys(await work.snapshot()).filter((name) => !name.includes('.lock.'))
    expect(after.some((name) => name.includes(SESSION))).toBe(false)
    expect((await run('sessions', 'list', '--json')).json()).toMatchObject([{ sessionId: other }])
    expect(await work.read('project/a.txt')).toBe('a\n')
    expect((await run('sessions', 'delete', SESSION)).err).toContain('[SESSION_NOT_FOUND]')
  })

  test.each(['home/projects', 'home/file-history'])('what is open in %s is not deleted', async (where) => {
    await edit()
    const path = where.endsWith('projects') ? await transcript() : work.path(`${where}/${SESSION}`)
    const lease = await acquireLease(path)
    const before = Object.entries(await work.snapshot()).filter(([name]) => !name.includes('.lock.'))
    const { code, err } = await run('sessions', 'delete', SESSION)
    await lease.release()
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/\[(SESSION|HISTORY)_LOCKED\]\n$/) })
    const after = Object.entries(await work.snapshot()).filter(([name]) => !name.includes('.lock.'))
    expect(after).toEqual(before)
  })

  test.each(['rename', 'tag', 'archive', 'unarchive', 'delete'])(
    '%s changes nothing in a home that is not ours',
    async (name) => {
      await work.remove()
      work = await tree({ 'project/': '', 'other/': '', 'home/other.json': '{}' })
      await talk('project', SESSION, ['one'])
      const before = await work.snapshot()
      const words = ['rename', 'tag'].includes(name) ? [SESSION, 'x'] : [SESSION]
      expect((await run('sessions', name, ...words)).err).toContain('[CONFIG_READ_ONLY]')
      expect(await work.snapshot()).toEqual(before)
    },
  )
})

describe('verify', () => {
  test('one session, those of the directory, those of all: what is damaged, with exit code 3', async () => {
    const other = '22222222-2222-4222-8222-222222222222'
    await talk('other', other, ['elsewhere'])
    await run('sessions', 'archive', SESSION)
    expect(await run('sessions', 'verify')).toMatchObject({ code: 0, out: '1 session in order\n' })
    expect((await run('sessions', 'verify', '--all')).out).toBe('2 sessions in order\n')
    await run('sessions', 'unarchive', SESSION)
    const file = await transcript()
    const before = `${await readFile(file, 'utf8')}{"type":"user","uu`
    await writeFile(file, before)
    expect(await run('sessions', 'verify')).toMatchObject({
      code: 3,
      out: expect.stringMatching(/^damage: .*torn-line/),
    })
    expect((await run('sessions', 'verify', SESSION, '--json')).json()).toMatchObject([
      { kind: 'torn-line', path: file },
    ])
    expect((await run('sessions', 'verify', other)).code).toBe(0)
    expect(await readFile(file, 'utf8')).toBe(before)
  })
})
