import { mkdir, writeFile } from 'node:fs/promises'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { runCli } from '@loci/cli'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/a.txt': 'one\n' })
})
afterEach(() => work.remove())

const place = (): { home: string; cwd: string } => ({ home: work.path('home'), cwd: work.path('project') })
/** A session with these lines on standard input. */
const type = (lines: string[], ...argv: string[]): Promise<Run> =>
  loci({ ...place(), input: lines.map((line) => `${line}\n`).join('') }, ...argv)
const run = (...argv: string[]): Promise<Run> => loci(place(), ...argv)
const edits = ['--permission-mode', 'acceptEdits']

interface Listed {
  sessionId: string
  customTitle?: string
}
const sessions = async (): Promise<Listed[]> => {
  const listed = (await run('sessions', 'list', '--json')).json()
  return Array.isArray(listed) ? listed : []
}
/** Ids that a list of prompts shows, in its order. */
const promptIds = (out: string): string[] =>
  [...out.matchAll(/^ {2}\d {2}([0-9a-f-]{36}) {2}/gm)].map(([, id = '']) => id)

describe('a session of lines', () => {
  test('says who answers, answers each line, and what it took', async () => {
    const { code, out, err } = await type(['hello', '', 'thanks'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(
      /^loci \d+\.\d+\.\d+ in .*project; \/help lists the commands\nloci-offline answers, the offline model/,
    )
    expect(out.match(/· 1 request, \d+ tokens sent \(\d+ cached\), \d+ received$/gm)).toHaveLength(2)
  })

  test('takes its first prompt as a word', async () => {
    expect((await run('hello there')).out).toContain('offline model')
    expect(await sessions()).toHaveLength(1)
  })

  test('without a line makes nothing', async () => {
    await type([])
    await type(['/help', '/memory', '/doctor', '/resume', '/exit'])
    expect(Object.keys(await work.snapshot())).toEqual(['project/a.txt'])
  })

  test('a start that was killed while it made its home does not lock it', async () => {
    await mkdir(place().home)
    await writeFile(work.path('home/.loci.json.0a1b2c3d.tmp'), '{"form')
    expect(await run('-p', 'hello')).toMatchObject({ code: 0 })
    expect(await sessions()).toHaveLength(1)
  })

  test('a line that fails is said, does not end it, and counts at the end', async () => {
    const { code, out, err } = await type(['/nonsense', '/resolve', 'hello', '/rewind nothing'])
    expect(err.split('\n')).toEqual([
      'loci: there is no command "/nonsense"; /help lists them',
      'loci: /resolve takes finish or undo',
      'loci: There is no entry "nothing"; /rewind lists the prompts [ENTRY_NOT_FOUND]',
      '',
    ])
    expect(out).toContain('offline model')
    expect(code).toBe(2)
    expect((await type(['hello', '/rewind nothing'])).code).toBe(1)
  })

  test('/exit leaves what comes after it', async () => {
    const { code, out } = await type(['/exit', 'hello'])
    expect({ code, requests: out.includes('request') }).toEqual({ code: 0, requests: false })
  })

  test('control characters of an answer cannot act on the terminal', async () => {
    await writeFile(work.path('project/evil.txt'), 'a\u001B[2Jb\n')
    const { out } = await type(['read evil.txt'])
    expect(out).toContain('a␛[2Jb')
    expect(out).not.toContain('\u001B')
  })

  test('a line that begins with a path is a prompt', async () => {
    const { out, err } = await type(['/etc/hosts: what is it?', '/ '])
    expect(out).toContain(' tokens sent ')
    expect(err).toBe('loci: there is no command "/"; /help lists them\n')
  })

  test('/help names each command', async () => {
    const { out } = await type(['/help'])
    for (const name of ['/resume', '/rewind', '/branch', '/undo', '/memory', '/doctor', '/help', '/exit'])
      expect(out).toContain(`  ${name}`)
  })

  test('/doctor looks at the session it is in, too', async () => {
    const { code, out } = await type(['remember that Ann reviews', '/doctor'])
    expect(out).toMatch(/checked: 1 session, .*1 memory folder/)
    expect(out).toContain('all in order')
    expect(code).toBe(0)
  })

  test('/memory shows what is remembered, and says that memory is off', async () => {
    const { out } = await type(['remember that Ann reviews', '/memory'])
    expect(out).toMatch(/memory is on: .*\nproject: .*\n- \[ann-reviews\]/)
    expect((await type(['/memory'], '--bare')).out).toContain('memory is off: --bare')
  })
})

describe('/rewind', () => {
  const turns = ['replace one with two in a.txt', 'replace two with three in a.txt']

  test('lists the prompts, and takes files and conversation back to before one', async () => {
    const { out } = await type([...turns, '/rewind', '/rewind 2', '/rewind'], ...edits)
    expect(promptIds(out)).toHaveLength(3)
    expect(new Set(promptIds(out)).size).toBe(2)
    expect(await work.read('project/a.txt')).toBe('two\n')
  })

  test.each([
    ['files', 'one\n', 2],
    ['conversation', 'three\n', 0],
    ['both', 'one\n', 0],
  ])('1 %s: the rest stays', async (part, text, prompts) => {
    const { out } = await type([...turns, `/rewind 1 ${part}`, '/rewind'], ...edits)
    expect(await work.read('project/a.txt')).toBe(text)
    expect(promptIds(out)).toHaveLength(prompts)
  })

  test('by the beginning of an id, and back to the old end that it names', async () => {
    const first = await type([...turns, '/rewind'], ...edits)
    const id = promptIds(first.out)[1] ?? ''
    const back = await type([`/rewind ${id.slice(0, 13)} conversation`], '--continue')
    const old = /\/rewind ([0-9a-f-]{36}) conversation goes back/.exec(back.out)?.[1] ?? ''
    const { out } = await type([`/rewind ${old} conversation`, '/rewind'], '--continue')
    expect(promptIds(out)).toHaveLength(2)
  })

  test('a file that somebody changed stops it, with both as they were; skip and overwrite decide', async () => {
    await type(turns, ...edits)
    await writeFile(work.path('project/a.txt'), 'mine\n')
    const stopped = await type(['/rewind 1', '/rewind'], '--continue')
    expect(stopped).toMatchObject({
      code: 3,
      err: expect.stringMatching(/; \/rewind ID files skip, or overwrite, decides \[REWIND_CONFLICT\]\n$/),
    })
    expect(promptIds(stopped.out)).toHaveLength(2)
    expect(await work.read('project/a.txt')).toBe('mine\n')
    const skipped = await type(['/rewind 1 files skip'], '--continue')
    expect(skipped.out).toContain('a.txt')
    expect(await work.read('project/a.txt')).toBe('mine\n')
    await type(['/rewind 1 files overwrite'], '--continue')
    expect(await work.read('project/a.txt')).toBe('one\n')
    await type(['/undo'], '--continue')
    expect(await work.read('project/a.txt')).toBe('mine\n')
  })

  test('/undo brings the files back, and again takes them back', async () => {
    await type([...turns, '/rewind 1', '/undo'], ...edits)
    expect(await work.read('project/a.txt')).toBe('three\n')
    await type(['/undo'], '--continue')
    expect(await work.read('project/a.txt')).toBe('one\n')
  })

  test('words that it does not know change nothing', async () => {
    const { err } = await type([...turns, '/rewind 1 file'], ...edits)
    expect(err).toContain('/rewind takes both, files, conversation, stop, skip, overwrite, not "file"')
    expect(await work.read('project/a.txt')).toBe('three\n')
  })

  test('where file history is off, files are refused and the conversation goes back', async () => {
    const env = { CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1' }
    const input = `${turns[0]}\n/rewind 1\n/rewind 1 conversation\n/rewind\n`
    const { out, err } = await loci({ ...place(), env, input }, ...edits)
    expect(err).toContain('[HISTORY_DISABLED]')
    expect(promptIds(out)).toHaveLength(0)
  })
})

describe('a number of a list', () => {
  test.each(['/rewind 3', '/rewind 0', '/branch 9', '/resume 2'])(
    '%s, where there is none, changes nothing',
    async (line) => {
      await type(['hello', 'thanks'])
      const before = await work.snapshot()
      const { err } = await type([line], '--continue')
      expect(err).toMatch(/^loci: there is no number \d; \/\w+ lists \d\n$/)
      const after = Object.entries(await work.snapshot()).filter(([name]) => name.endsWith('.jsonl'))
      expect(after).toEqual(Object.entries(before).filter(([name]) => name.endsWith('.jsonl')))
    },
  )
})

describe('/branch and /resume', () => {
  test('a branch has a title, goes on by itself, and the way back is named', async () => {
    const { out } = await type(['hello', '/branch another way', 'thanks'])
    const [fork, source] = await sessions()
    expect(fork?.customTitle).toBe('another way')
    expect(out).toContain(`now in ${fork?.sessionId}; /resume ${source?.sessionId} goes back`)
  })

  test('a branch from an entry ends there', async () => {
    const first = await type(['hello', 'thanks', '/rewind'])
    const id = promptIds(first.out)[1] ?? ''
    const { out } = await type([`/branch ${id} short`, '/rewind'], '--continue')
    expect(promptIds(out)).toHaveLength(2)
    expect((await sessions()).filter(({ customTitle }) => customTitle === 'short')).toHaveLength(1)
  })

  test('a branch is the newest from then on, and opening shows where it is', async () => {
    await type(['hello', '/branch mine'])
    const { out } = await type([], '--continue')
    expect(out).toMatch(/^session .*\n> hello\nHello\..*\n$/m)
    expect((await sessions())[0]?.customTitle).toBe('mine')
  })

  test('a home that is only read is said before a prompt is typed', async () => {
    await mkdir(place().home)
    await writeFile(work.path('home/other.json'), '{}')
    const { out, err, code } = await type(['hello'])
    expect(out).toContain('was not made by Loci and is only read: --write')
    expect({ err, code }).toEqual({ err: expect.stringContaining('[CONFIG_READ_ONLY]'), code: 1 })
  })

  test('there is nothing to branch from before the first prompt', async () => {
    expect((await type(['/branch'])).err).toContain('say something first')
  })

  test('what can only be an id, and is none, is no title', async () => {
    const { err } = await type(['hello', '/branch 0f0f0f0f-1234'])
    expect(err).toContain('There is no entry "0f0f0f0f-1234"; /rewind lists the prompts')
    expect(await sessions()).toHaveLength(1)
  })

  test('/resume lists the sessions here, and takes a number, an id or a title', async () => {
    await type(['hello'])
    await type(['thanks', '/branch mine'])
    const all = await sessions()
    const { out } = await type(['/resume', '/resume 3', '/resume mine', `/resume ${all[1]?.sessionId}`])
    for (const { sessionId } of all) expect(out).toContain(sessionId)
    expect([...out.matchAll(/^session (\S+)/gm)].map(([, id]) => id)).toEqual([
      all[2]?.sessionId,
      all.find(({ customTitle }) => customTitle === 'mine')?.sessionId,
      all[1]?.sessionId,
    ])
    expect((await type(['/resume nobody'])).err).toContain('There is no session "nobody"')
  })
})

describe('a person who is asked', () => {
  /** A terminal where these answers are typed when something is asked, and what was asked. */
  async function talk(lines: string[], answers: string[]): Promise<{ out: string; asked: string[] }> {
    const asked: string[] = []
    let out = ''
    await runCli({
      argv: [],
      env: { LOCI_CONFIG_DIR: place().home, PATH: process.env['PATH'] },
      cwd: () => place().cwd,
      readInput: async () => '',
      print: (text) => void (out += text),
      warn: (text) => void (out += text),
      openLines: () => ({
        isInteractive: true,
        wasInterrupted: false,
        readLine: async () => lines.shift() ?? null,
        async ask(question) {
          asked.push(question)
          return answers.shift() ?? null
        },
        onInterrupt: () => () => undefined,
        close: () => undefined,
      }),
    })
    return { out, asked }
  }
  const edit = (from: string, to: string): string => `replace ${from} with ${to} in a.txt`

  test('sees what would be done, and y allows it once', async () => {
    const { asked } = await talk([edit('one', 'two'), edit('two', 'three')], ['y', 'n'])
    expect(asked).toHaveLength(2)
    expect(asked[0]).toMatch(
      /^Allow Edit: .*a\.txt.*\? \[y\]es, \[a\]lways allow Edit in this project, \[n\]o: $/,
    )
    expect(await work.read('project/a.txt')).toBe('two\n')
  })

  test('a allows that tool from then on, and no other', async () => {
    const { asked } = await talk([edit('one', 'two'), edit('two', 'three'), 'run rm a.txt'], ['a', 'n'])
    expect(asked.map((question) => question.split(':')[0])).toEqual(['Allow Edit', 'Allow Bash'])
    expect(await work.read('project/a.txt')).toBe('three\n')
  })

  test('sees what would be put there, and what is no answer is asked again', async () => {
    const { out, asked } = await talk([edit('one', 'two')], ['run ls', 'Yes'])
    expect(asked).toHaveLength(2)
    expect(out).toContain('  - one\n  + two\n')
    expect(out).toContain('y, a or n is an answer')
    expect(await work.read('project/a.txt')).toBe('two\n')
  })

  test.each([['n'], ['']])('%j allows nothing, and the model is told', async (answer) => {
    const { out } = await talk([edit('one', 'two')], [answer])
    expect(out).toContain('The user did not allow this call of Edit.')
    expect(await work.read('project/a.txt')).toBe('one\n')
  })

  test('no answer at all, at the end of input, allows nothing, and ends the line of the question', async () => {
    const { out } = await talk([edit('one', 'two')], [])
    expect(out).toContain('  + two\n\n  Edit: The user did not allow this call of Edit.')
    expect(await work.read('project/a.txt')).toBe('one\n')
  })
})

describe('loci -p', () => {
  test('prints the answer, and who gave it on standard error', async () => {
    const { code, out, err } = await run('-p', 'hello')
    expect(code).toBe(0)
    expect(out).toContain('offline model')
    expect(err).toMatch(/^loci: loci-offline answers, the offline model[^\n]*\n$/)
  })

  test('appends standard input to the prompt', async () => {
    await loci({ ...place(), input: 'two\nlines\n' }, '-p', 'hello')
    await loci({ ...place(), input: 'only input\n' }, '-p')
    const said = async ({ sessionId }: Listed): Promise<unknown> => {
      const { entries } = (await run('sessions', 'show', sessionId, '--json')).json() as {
        entries: { type: string; message?: { content: unknown } }[]
      }
      return entries.find(({ type: kind }) => kind === 'user')?.message?.content
    }
    expect(await Promise.all((await sessions()).map(said))).toEqual(['only input', 'hello\n\ntwo\nlines'])
  })

  test('json is one object with what the turn was', async () => {
    const { out, err } = await run('-p', 'hello', '--output-format', 'json')
    expect(err).toBe('')
    expect(JSON.parse(out)).toMatchObject({
      type: 'result',
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      messageId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      result: expect.stringContaining('offline model'),
      isError: false,
      numTurns: 1,
      usage: { costUsd: 0 },
      model: 'loci-offline',
      offline: true,
    })
    expect((await run('-p', 'hello', '--json')).json()).toMatchObject({ type: 'result' })
  })

  test('stream-json is one object a line: who, what was said and done, the result', async () => {
    const { out } = await run('-p', 'read a.txt', '--output-format', 'stream-json')
    const events: { type: string }[] = out
      .trim()
      .split('\n')
      .map((line): { type: string } => JSON.parse(line))
    const kinds = events.map(({ type: kind }) => kind).filter((kind, index, all) => kind !== all[index - 1])
    expect(kinds).toEqual(['init', 'text', 'assistant', 'user', 'text', 'assistant', 'result'])
  })

  test('the session that it names can be gone on with', async () => {
    const sessionId = '11111111-2222-4333-8444-555555555555'
    await run('-p', 'hello', '--session-id', sessionId)
    await run('-p', 'thanks', '--resume', sessionId)
    expect(await sessions()).toMatchObject([{ sessionId }])
    const again = await run('-p', 'hello', '--session-id', sessionId)
    expect(again).toMatchObject({ code: 1, out: '', err: expect.stringContaining('[SESSION_EXISTS]') })
  })

  test('a password in the URL of the server is refused, and not repeated', async () => {
    const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: 'http://user:hush@127.0.0.1:1' }
    const { code, err } = await loci({ ...place(), env }, '-p', 'hello')
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/ANTHROPIC_AUTH_TOKEN instead/) })
    expect(err).not.toContain('hush')
  })

  test.each([
    ['settings.json', false],
    ['settings.local.json', false],
    ['the settings of the user', true],
    ['a variable', true],
  ])('%s can switch file history off: %s; and then it is said', async (where, isOff) => {
    const off = '{"fileCheckpointingEnabled":false}'
    await mkdir(work.path('project/.claude'))
    await mkdir(place().home)
    await writeFile(work.path('home/loci.json'), '{}')
    if (where.endsWith('.json')) await writeFile(work.path(`project/.claude/${where}`), off)
    if (where.includes('user')) await writeFile(work.path('home/settings.json'), off)
    const env: Record<string, string> = where.includes('variable')
      ? { CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING: '1' }
      : {}
    const { err } = await loci({ ...place(), env }, '-p', 'hello')
    expect(
      err.includes('File history is switched off: what is changed or deleted cannot be brought back.'),
    ).toBe(isOff)
    expect(((await run('history', 'list', '--json')).json() as unknown[]).length).toBe(isOff ? 0 : 1)
  })

  test('a session that works in another directory says so', async () => {
    await run('-p', 'hello')
    await mkdir(work.path('elsewhere'))
    const [session] = await sessions()
    const other = { home: place().home, cwd: work.path('elsewhere') }
    const { err } = await loci(
      other,
      '-p',
      'create b.txt with "x"',
      '--resume',
      session?.sessionId ?? '',
      ...edits,
    )
    expect(err).toContain(`The session works in ${place().cwd}, not in ${other.cwd}.`)
    expect(await work.read('project/b.txt')).toBe('x\n')
  })

  test('a turn that cannot be written is one object all the same', async () => {
    setFaultHook((operation, path) =>
      operation === 'write' && path.endsWith('.jsonl')
        ? Object.assign(new Error(), { code: 'ENOSPC' })
        : undefined,
    )
    onTestFinished(() => setFaultHook(undefined))
    const { code, out, err } = await run('-p', 'hello', '--json')
    expect(JSON.parse(out)).toMatchObject({ type: 'result', isError: true, messageId: null, numTurns: 0 })
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^loci: [^\n]+\[DISK_FULL\]\n$/) })
  })

  test('a server that is no URL is refused at once', async () => {
    const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: 'localhost' }
    const { code, out, err } = await loci({ ...place(), env }, '-p', 'hello')
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: 'loci: ANTHROPIC_BASE_URL is no URL of a server: "localhost" [CONFIG_INVALID]\n',
    })
    expect(Object.keys(await work.snapshot())).toEqual(['project/a.txt'])
  })

  test('an edit that nobody can allow is refused with the flag that would, and nothing is written', async () => {
    const { out, err } = await run('-p', 'create b.txt with "x"')
    expect(err).toMatch(/^loci: Write was refused: .*--permission-mode acceptEdits/m)
    expect(out).toContain('--permission-mode acceptEdits')
    const json = await run('-p', 'create b.txt with "x"', '--json')
    expect(json.json()).toMatchObject({
      isError: false,
      permissionDenials: [{ toolName: 'Write', toolInput: { file_path: 'b.txt' } }],
    })
    expect(Object.keys(await work.snapshot())).not.toContain('project/b.txt')
  })
})
