// How a conversation of the built CLI begins or goes on: new, resumed, copied, in somebody else's config home.
import { cp, readdir, rm } from 'node:fs/promises'
import { openSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FORMS, openStage, promptIn } from './agent-stage.ts'
import type { Stage } from './agent-stage.ts'
import { saidIn } from './agent-stand-in.ts'

// Many processes, one after another, beside other tests.
vi.setConfig({ testTimeout: 90_000 })

const SESSION = '11111111-1111-4111-8111-111111111111'
const FORK = '22222222-2222-4222-8222-222222222222'
const BYPASS = ['--permission-mode', 'bypassPermissions']
const OBSERVED = new URL('../../session-jsonl/test/fixtures/observed/session-linear/config', import.meta.url)

interface PrintResult {
  sessionId: string
  messageId: string
  result: string
}

describe.each(FORMS)('with %s', (form) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await openStage(form, { 'a.txt': 'old\n' })
  })
  afterEach(async () => {
    await stage.close()
    expect(stage.refused()).toEqual([])
  })

  async function print(prompt: string, ...argv: string[]): Promise<PrintResult> {
    const { code, out, err } = await stage.loci(['-p', prompt, '--output-format', 'json', ...BYPASS, ...argv])
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('[') })
    return JSON.parse(out)
  }
  const promptsOf = async (sessionId: string): Promise<(string | undefined)[]> =>
    (await stage.look(sessionId)).chain.map(promptIn).filter((prompt) => prompt !== undefined)

  test('--session-id, --continue, --fork-session, --resume by id, its beginning and a title', async () => {
    const id = SESSION.toUpperCase()
    expect(await print('hello', '--session-id', id)).toMatchObject({ sessionId: SESSION })
    expect(await print('thanks', '--continue')).toMatchObject({ sessionId: SESSION })
    expect(await print('who are you', '-c', '--fork-session', '--session-id', FORK)).toMatchObject({
      sessionId: FORK,
    })
    const lines = await stage.lines(FORK)
    expect(lines).toContainEqual(expect.objectContaining({ type: 'forked-from', sessionId: FORK }))
    const titled = await stage.loci(['--resume', SESSION.slice(0, 6)], { input: '/branch Another Way\nhi\n' })
    const third = /now in ([0-9a-f-]{36});/.exec(titled.out)?.[1] ?? ''
    expect(await print('cheers', '--resume', 'another way')).toMatchObject({ sessionId: third })
    expect(await promptsOf(SESSION)).toEqual(['hello', 'thanks'])
    expect(await promptsOf(FORK)).toEqual(['hello', 'thanks', 'who are you'])
    expect(await promptsOf(third)).toEqual(['hello', 'thanks', 'hi', 'cheers'])
    if (!stage.standIn) return
    const said = saidIn(stage.standIn.requests.at(-1)).filter((text) => text.startsWith('user: '))
    expect(said).toEqual([
      expect.stringContaining('<context name="date">'),
      ...['hello', 'thanks', 'hi', 'cheers'].map((prompt) => `user: ${prompt}`),
    ])
  })

  if (form === 'the stand-in')
    test('--resume at the end of input, looking and refused starts write nothing', async () => {
      await print('create b.txt with "b"', '--session-id', SESSION)
      const before = await stage.tree.snapshot()
      const looked = await stage.loci(['--resume', SESSION])
      expect(looked).toMatchObject({ code: 0, out: expect.stringContaining(`session ${SESSION}\n`), err: '' })
      const listed = await stage.loci(['--continue'], { input: '/resume\n/memory\n/help\n/exit\nhello\n' })
      expect(listed).toMatchObject({ code: 0, out: expect.stringContaining(SESSION) })
      const refused: [argv: string[], code: number][] = [
        [['--resume', 'no such title', '-p', 'hello'], 1],
        [['--session-id', SESSION, '-p', 'hello'], 1],
        [['--session-id', 'x', '-p', 'hello'], 2],
        [['--fork-session', '-p', 'hello'], 2],
      ]
      for (const [argv, code] of refused)
        expect(await stage.loci(argv)).toMatchObject({
          code,
          out: '',
          err: expect.stringMatching(/^loci: .+\n$/),
        })
      expect(await stage.tree.snapshot()).toEqual(before)
      expect(stage.standIn?.requests).toHaveLength(2)
    })

  describe('a session of a config home that Loci did not make is copied into our own', () => {
    async function resumeForeign(sessionId: string): Promise<string> {
      const foreign = async (): Promise<unknown> =>
        Object.entries(await stage.tree.snapshot()).filter(([name]) => name.startsWith('foreign/'))
      const before = await foreign()
      const dir = stage.tree.path('foreign')
      const argv = ['--config-dir', dir, '--resume', sessionId]
      const looked = await stage.loci(argv)
      expect(looked).toMatchObject({ code: 0, err: '' })
      expect(
        (await readdir(stage.home).catch(() => [])).filter((name) => name.startsWith('projects')),
      ).toEqual([])
      const { code, out, err } = await stage.loci(argv, { input: 'hello\n' })
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain(`was not made by Loci and stays as it is.`)
      expect(await foreign()).toEqual(before)
      const copied = /Copied session (\S+) into (\S+) in (\S+);/.exec(out)
      expect(copied?.slice(1, 4).filter((_, index) => index !== 1)).toEqual([sessionId, stage.home])
      const [, , id = ''] = copied ?? []
      const { chain, damage } = await stage.look(id)
      expect(chain.map(promptIn)).toContain('hello')
      expect(damage).toEqual([])
      return id
    }

    test('with what it takes to rewind its files', async () => {
      const { messageId } = await print('create a.txt with "new"', '--session-id', SESSION)
      await cp(stage.home, stage.tree.path('foreign'), { recursive: true })
      await rm(stage.tree.path('foreign/loci.json'))
      await rm(stage.home, { recursive: true })
      const id = await resumeForeign(SESSION)
      expect(await promptsOf(id)).toEqual(['create a.txt with "new"', 'hello'])
      const rewound = await stage.loci(['--rewind-files', messageId])
      expect(rewound).toMatchObject({ code: 0, err: '' })
      expect(await stage.project()).toEqual({ 'project/a.txt': { text: 'old\n', mode: 0o644 } })
    })

    test('and what comes after is in our own, too: memory, a branch, the list', async () => {
      await print('hello', '--session-id', SESSION)
      await cp(stage.home, stage.tree.path('foreign'), { recursive: true })
      await rm(stage.tree.path('foreign/loci.json'))
      await rm(stage.home, { recursive: true })
      const argv = ['--config-dir', stage.tree.path('foreign'), '--resume', SESSION]
      const input = 'remember that Ann reviews\n/memory\n/branch mine\nthanks\n/resume\n'
      const { code, out, err } = await stage.loci(argv, { input })
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toMatch(new RegExp(`^project: ${stage.home}/.*\n- \\[ann-reviews\\]`, 'm'))
      const copies = out.matchAll(/^Copied session \S+ into ([0-9a-f-]{36})/gm)
      const [copy, branch] = [...copies].map(([, id]) => id)
      expect(out).toContain(`now in ${branch}; /resume ${copy} goes back`)
      expect(out).toMatch(new RegExp(`^ {2}1 {2}${branch} .*mine$`, 'm'))
      expect(out).toMatch(new RegExp(`^ {2}2 {2}${copy} `, 'm'))
    })

    test('with all that another client had written', async () => {
      await cp(OBSERVED, stage.tree.path('foreign'), { recursive: true })
      const [folder = ''] = await readdir(stage.tree.path('foreign/projects'))
      const projectDir = stage.tree.path(`foreign/projects/${folder}`)
      const session = await openSession({ projectDir, sessionId: SESSION, mode: 'read' })
      const chain = (await session.chain()).map(({ uuid, message }) => ({ uuid, message }))
      await session.close()
      expect(chain.length).toBeGreaterThan(10)
      const id = await resumeForeign(SESSION)
      const copy = (await stage.look(id)).chain.map(({ uuid, message }) => ({ uuid, message }))
      expect(copy.slice(0, chain.length)).toEqual(chain)
    })
  })

  // Who answers does not matter here.
  if (form === 'the offline model')
    test('a file rewind newer than the tip is said until the conversation follows, or it is undone', async () => {
      const { messageId: id } = await print('create a.txt with "new"', '--session-id', SESSION)
      const { tip } = await stage.look(SESSION)
      const said = `The files were rewound to before ${id}, the conversation was not: /rewind ${id} conversation takes it back too, /undo brings the files back (loci history undo --session ${SESSION}).`
      const open = async (input = ''): Promise<boolean> => {
        const { code, out, err } = await stage.loci(['--resume', SESSION], { input })
        expect({ code, err }).toEqual({ code: 0, err: '' })
        const count = out.split(said).length - 1
        if (count === 0) expect(out).not.toContain('rewound')
        return count === 1
      }
      const content = async (): Promise<string> => stage.tree.read('project/a.txt')
      expect(await open()).toBe(false)
      expect(await stage.loci(['--rewind-files', id])).toMatchObject({ code: 0, err: '' })
      expect(await content()).toBe('old\n')
      // Both ways out, as they are said: the files come back (and go again),
      expect(await open('/undo\n')).toBe(true)
      expect(await content()).toBe('new\n')
      expect(await open('/undo\n')).toBe(false)
      expect(await content()).toBe('old\n')
      // or the conversation goes back too.
      expect(await open(`/rewind ${id} conversation\n`)).toBe(true)
      expect(await open(`/rewind ${tip} conversation\n`)).toBe(false)
      // Forward again, it tells of what the files do not hold.
      expect(await open('hello\n')).toBe(true)
      // A turn has seen the files as they are.
      expect(await open()).toBe(false)
      expect((await stage.look(SESSION)).tips).toHaveLength(1)
    })
})
