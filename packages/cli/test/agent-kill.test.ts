// Killed in the middle: of a stream, a command, a write, a rewind. What a new process of the built CLI finds then.
import { execFileSync } from 'node:child_process'
import { mkdir, readFile, watch, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { FORMS, openStage, promptIn } from './agent-stage.ts'
import type { Stage } from './agent-stage.ts'
import { saidIn } from './agent-stand-in.ts'

// Many processes, one after another, beside other tests.
vi.setConfig({ testTimeout: 90_000 })

const SESSION = '11111111-1111-4111-8111-111111111111'
const BYPASS = ['--permission-mode', 'bypassPermissions']
const NEW = ['--session-id', SESSION, ...BYPASS]
const RESUME = ['--resume', SESSION, ...BYPASS]
const TRANSCRIPT = String.raw`/${SESSION}\.jsonl$`

const beforeAnswer = 'The last prompt was interrupted before it was answered.'
const afterTools = 'The last turn was interrupted after its tools had run, before the model answered.'
const inAnswer = 'The last turn was interrupted while the answer of the model was written.'
const inTool = 'The last turn was interrupted while it ran'
const inWrite = `${inTool} Write; whether that had an effect is not known.`
const inCommand = `${inTool} Bash; whether that had an effect is not known, and /rewind does not take back`

/** Waits until a file of that name is in a folder. */
async function appearance(folder: string, name: string): Promise<void> {
  for await (const { filename } of watch(folder, { signal: AbortSignal.timeout(20_000) }))
    if (filename === name) return
}

/** The bin with a part of its own that ends it. Below the package, which says its version. */
const DYING = {
  preload: '../dist/bin-die-at/die-at.js',
  bin: fileURLToPath(new URL('../dist/bin-die-at/loci.js', import.meta.url)),
}

beforeAll(() => {
  const at = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
  const args = [at('../bundle.mjs'), dirname(DYING.bin), `die-at=${at('die-at.mjs')}`]
  execFileSync(process.execPath, args, { cwd: at('..') })
})

describe.each(FORMS)('with %s', (form) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await openStage(form, { 'c.txt': { text: 'c\n', mode: 0o600 } })
  })
  afterEach(async () => {
    await stage.close()
    expect(stage.refused()).toEqual([])
  })

  const dying = (at: Record<string, unknown>): { preload: string; bin: string; env: { DIE_AT: string } } => ({
    ...DYING,
    env: { DIE_AT: JSON.stringify({ operation: '^write$', path: TRANSCRIPT, ...at }) },
  })

  /** Goes on with a killed session: says what was interrupted, loads all that was written, and is answered. */
  async function goOn(notice: string | null): Promise<void> {
    const acknowledged = await stage.lines(SESSION)
    const { code, out, err } = await stage.loci(RESUME, { input: 'hello\n' })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain("Hello. I am Loci's offline model")
    if (notice === null) expect(out).not.toMatch(/interrupted/)
    else expect(out.split(notice)).toHaveLength(2)
    const { chain, tips, damage } = await stage.look(SESSION)
    expect(damage).toEqual([])
    expect(tips).toHaveLength(1)
    const before = acknowledged.filter(({ type }) => ['user', 'assistant', 'attachment'].includes(type))
    expect(chain.slice(0, before.length)).toEqual(before)
    expect(chain.slice(before.length).map(promptIn)[0]).toBe('hello')
    if (!stage.standIn) return
    const said = saidIn(stage.standIn.requests.at(-1)).join('\n')
    for (const prompt of acknowledged.map(promptIn)) if (prompt !== undefined) expect(said).toContain(prompt)
  }

  const turn = 'run seq 1 20000, then create d.txt with "d"'
  const points: [where: string, text: string, times: number, notice: string | null][] = [
    ['before the answer', '"type":"user"', 1, beforeAnswer],
    ['before a command', '"type":"assistant"', 2, inCommand],
    ['between an edit and its result', '"type":"file-history-delta"', 1, inWrite],
    ['between two lines of an answer', '"type":"assistant"', 1, inAnswer],
    ['between a result and its replacement', '"type":"tool_result"', 1, afterTools],
    ['before the second request', '"type":"content-replacement"', 1, afterTools],
    ['before the edit of a file', '"type":"assistant"', 4, inWrite],
    ['before the last answer', '"type":"tool_result"', 2, afterTools],
    ['before the name of the tip', '"type":"assistant"', 5, null],
  ]
  // What is in the file by then does not depend on who answers.
  test.each(form === 'the stand-in' ? points : points.slice(0, 3))(
    'killed %s',
    async (_at, text, times, notice) => {
      const { code } = await stage.loci(['-p', turn, ...NEW], dying({ text, times }))
      expect(code).toBeNull()
      await goOn(notice)
    },
  )

  test('killed inside a line: the half of it is damage that is said, and costs nothing else', async () => {
    const { code } = await stage.loci(['-p', 'hello', ...NEW], dying({ text: '"type":"user"', tear: 60 }))
    expect(code).toBeNull()
    const [path = ''] = Object.keys(await stage.homeTree()).filter((name) =>
      name.endsWith(`${SESSION}.jsonl`),
    )
    const torn = (await stage.tree.read(path)).split('\n').at(-1)
    expect(torn).toHaveLength(60)
    const next = await stage.loci(RESUME, { input: 'thanks\n' })
    expect(next).toMatchObject({ code: 0, err: '' })
    expect(next.out).toMatch(/^1 place in the transcript cannot be read; .*sessions show/m)
    expect(next.out).toContain(beforeAnswer)
    const { chain, damage } = await stage.look(SESSION)
    expect(chain.map(({ type }) => type)).toEqual(['attachment', 'user', 'user', 'assistant'])
    expect(damage).toHaveLength(1)
    expect(await stage.tree.read(path)).toContain(`\n${torn}\n`)
  })

  test('killed in a command: what it had changed is not covered, and the bytes from before are kept', async () => {
    const pid = stage.tree.path('pid/of-shell')
    await mkdir(stage.tree.path('pid'))
    const script = stage.tree.path('block.sh')
    await writeFile(
      script,
      `rm c.txt; echo half > half.txt; echo $$ > '${pid}.tmp'; mv '${pid}.tmp' '${pid}'; exec sleep 600\n`,
    )
    const begun = appearance(stage.tree.path('pid'), 'of-shell')
    const loci = stage.start(NEW)
    loci.type(`run bash ${script}`)
    await begun
    await loci.kill()
    process.kill(Number(await readFile(pid, 'utf8')), 'SIGKILL')
    expect(Object.keys(await stage.project())).toEqual(['project/half.txt'])
    await goOn(inCommand)
    const copies = Object.entries(await stage.homeTree()).filter(([name]) =>
      name.includes(`${SESSION}/base/`),
    )
    expect(copies.map(([, file]) => file)).toContainEqual(expect.objectContaining({ text: 'c\n' }))
  })

  test.each([1, 300, 100_000])(
    'killed in the write of a compaction, after %i bytes: the conversation is as it was, or compacted',
    async (tear) => {
      expect(await stage.loci(NEW, { input: `read c.txt\n${'hello '.repeat(300)}\n` })).toMatchObject({
        code: 0,
      })
      const before = await stage.look(SESSION)
      // The record of what the summary took comes right before.
      const text = '"type":"cost-state"'
      const times = (await stage.lines(SESSION)).filter(({ type }) => type === 'cost-state').length + 1
      const { code } = await stage.loci(RESUME, { ...dying({ text, times, tear }), input: '/compact\n' })
      expect(code).toBeNull()
      const { chain, damage } = await stage.look(SESSION)
      if (tear < 100_000) {
        expect(chain.slice(0, before.chain.length)).toEqual(before.chain)
        expect(damage).toHaveLength(1)
      } else {
        expect(chain[1]).toMatchObject({ isCompactSummary: true })
        expect(damage).toEqual([])
      }
      const next = await stage.loci(RESUME, { input: 'thanks\n/compact\n' })
      expect(next).toMatchObject({ code: 0, err: '' })
      expect(next.out).toContain('Compacted: ')
      expect((await stage.look(SESSION)).damage).toHaveLength(damage.length)
    },
  )

  if (form === 'the stand-in')
    test('killed in the middle of a stream', async () => {
      const { standIn } = stage
      const text = 'Once upon a time there was an answer that never came to its end.'
      standIn?.next(() => ({
        content: [{ type: 'text', text }],
        holdAfterEvents: { events: 6, until: new Promise(() => undefined) },
      }))
      const loci = stage.start(NEW)
      loci.type('tell me a long story')
      await loci.said('Once')
      const { out } = await loci.kill()
      expect(out).not.toContain(text)
      await goOn(beforeAnswer)
      expect(JSON.stringify(await stage.lines(SESSION))).not.toContain('Once')
      expect(standIn?.requests).toHaveLength(2)
    })

  if (form === 'the stand-in')
    test('killed between a thought and what it led to', async () => {
      stage.standIn?.next(() => ({
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          { type: 'text', text: 'So.' },
        ],
      }))
      const { code } = await stage.loci(['-p', 'think', ...NEW], dying({ text: '"type":"assistant"' }))
      expect(code).toBeNull()
      await goOn(inAnswer)
    })

  describe('killed in a rewind', () => {
    const rewindLine =
      /A rewind of the files was interrupted after (\d) of 4 files: \/resolve finish .*\/resolve undo/

    const moments: [where: string, at: Record<string, string | number>, done: number][] = [
      // The intent is written down, nothing else has happened.
      [
        'before the first file',
        { path: '/project/', operation: '^(rename|unlink)$', text: '"type":"rewind"' },
        0,
      ],
      // Marks are written together, with the end: all files are as they were, and nothing says so yet.
      ['before its end is noted', { path: 'edits.jsonl$', text: '"type":"rewind"' }, 0],
      [
        'between two files',
        { path: '/project/2.txt$', operation: '^(rename|unlink)$', text: '"type":"rewind"' },
        0,
      ],
      [
        'in the middle of its marks',
        {
          path: 'edits.jsonl$',
          operation: '^write$',
          text: '"type":"rewind"',
          tear: 2 * '{"type":"rewind-file","id":"r1","trackingPath":"1.txt","side":"after"}\n'.length + 10,
        },
        2,
      ],
    ]
    // The rewind itself does not depend on who answers.
    test.each(form === 'the stand-in' ? moments.slice(0, 2) : moments.slice(2))(
      '%s',
      async (_where, at, done) => {
        const before = await stage.project()
        const turns =
          'create 1.txt with "1", then create 2.txt with "2", then create c.txt with "new", then run touch 3.txt'
        expect(await stage.loci(NEW, { input: `${turns}\n` })).toMatchObject({ code: 0 })
        const after = await stage.project()
        expect(Object.keys(after)).toHaveLength(4)
        const [{ uuid: id } = { uuid: '' }] = (await stage.look(SESSION)).chain.filter(
          (entry) => promptIn(entry) !== undefined,
        )
        const file = stage.tree.path(`home/file-history/${SESSION}/edits.jsonl`)

        // By the command line, then finished.
        const killed = await stage.loci(['--rewind-files', id], dying({ ...at, file }))
        expect(killed.code).toBeNull()
        const finish = await stage.loci(RESUME, { input: 'hello\n/resolve finish\n' })
        expect(rewindLine.exec(finish.out)?.[1]).toBe(String(done))
        // Nothing is begun before that is settled.
        expect(finish.code).toBe(3)
        expect(finish.err).toMatch(/^loci: .*; \/resolve finish, or undo \[REWIND_INCOMPLETE\]\n$/)
        expect(finish.out).not.toContain('tokens sent')
        expect(await stage.project()).toEqual(before)
        const back = await stage.loci(RESUME, { input: '/undo\n' })
        expect(back).toMatchObject({ code: 0, err: '' })
        expect(back.out).not.toContain('was interrupted')
        expect(back.out).toContain(`The files were rewound to before ${id}, the conversation was not:`)
        expect(await stage.project()).toEqual(after)

        // By the session, then taken back.
        const text = String(at['text'])
        const lines = (await readFile(file, 'utf8')).split(text).length - 1
        const again = dying({ ...at, file, times: lines + Number(at['times'] ?? 1) })
        const other = await stage.loci(RESUME, { ...again, input: '/rewind 1\n' })
        expect(other.code).toBeNull()
        expect(other.out).not.toContain('now ')
        const taken = await stage.loci(RESUME, { input: '/resolve undo\nhello\n' })
        expect(taken).toMatchObject({ code: 0, err: '', out: expect.stringMatching(rewindLine) })
        expect(await stage.project()).toEqual(after)
        const { chain, tips } = await stage.look(SESSION)
        expect(tips).toHaveLength(1)
        expect(chain.filter((entry) => promptIn(entry) !== undefined).map(promptIn)).toEqual([turns, 'hello'])
      },
    )
  })
})
