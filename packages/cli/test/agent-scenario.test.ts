// The scenario of the agent, against the built CLI in processes of their own.
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FORMS, openStage, promptIn } from './agent-stage.ts'
import type { Stage } from './agent-stage.ts'
import { SCRIPTED, bodyOf, saidIn } from './agent-stand-in.ts'

// Many processes, one after another, beside other tests.
vi.setConfig({ testTimeout: 90_000 })

const SESSION = '11111111-1111-4111-8111-111111111111'
const BYPASS = ['--permission-mode', 'bypassPermissions']
const NEW = ['--session-id', SESSION, ...BYPASS]

interface PrintResult {
  sessionId: string
  messageId: string
  isError: boolean
  result: string
  numTurns: number
}

describe.each(FORMS)('with %s', (form) => {
  let stage: Stage
  beforeEach(async () => {
    stage = await openStage(form, {
      'auth.ts': { text: 'right\r\nno line break at the end', mode: 0o755 },
      'c.txt': { text: new Uint8Array([0, 255, 10, 13, 10, 0xc3]), mode: 0o640 },
    })
  })
  afterEach(async () => {
    await stage.close()
    expect(stage.refused()).toEqual([])
  })

  async function print(prompt: string, ...argv: string[]): Promise<PrintResult> {
    const { code, out, err } = await stage.loci(['-p', prompt, '--output-format', 'json', ...argv])
    expect({ code, err }).toMatchObject({ code: 0 })
    return JSON.parse(out)
  }

  test('1. what one process is told to remember the next one reads in its messages', async () => {
    const told = await stage.loci(['-p', 'remember that we indent with 4 spaces'])
    expect(told).toMatchObject({ code: 0, out: expect.stringContaining('saved') })
    const { sessionId, result, numTurns } = await print('what is our indentation?')
    expect(result).toContain('4 spaces')
    // Answered from the index: nothing was searched.
    expect(numTurns).toBe(1)
    const line = expect.stringMatching(/^- \[[^\]]+\]\([^)]+\.md\) — .*4 spaces$/m)
    const attachments = (await stage.lines(sessionId)).filter(({ type }) => type === 'attachment')
    expect(attachments).toContainEqual(
      expect.objectContaining({ attachment: expect.objectContaining({ type: 'memory_index', text: line }) }),
    )
    if (!stage.standIn) return
    const seen = stage.standIn.requests.at(-1)
    expect(stage.standIn.requests).toHaveLength(3)
    expect(saidIn(seen)).toEqual([
      expect.stringMatching(/^user: <context name="memory">\n[^]*^- \[[^\n]*4 spaces$[^]*<\/context>$/m),
      expect.stringMatching(/^user: <context name="date">Today is \d{4}-\d\d-\d\d\.<\/context>$/),
      'user: what is our indentation?',
    ])
    const { system } = bodyOf(seen)
    expect(JSON.stringify(system)).not.toContain('4 spaces')
    expect(JSON.stringify(system)).not.toMatch(/\d{4}-\d\d-\d\d/)
  })

  test('2. a turn that rewrote, made and deleted files is taken back with modes, and undone', async () => {
    const { standIn } = stage
    standIn?.next(
      () => ({
        status: 529,
        errorType: 'overloaded_error',
        message: SCRIPTED,
        headers: { 'retry-after': '0' },
      }),
      () => ({ content: [{ type: 'text', text: 'lost with its connection' }], cutAfterEvents: 4 }),
    )
    const before = await stage.project()
    const { messageId } = await print(
      'create auth.ts with "wrong", then create src/new/b.ts with "new", then delete c.txt',
      ...NEW,
    )
    const edited = await stage.project()
    expect(edited).toEqual({
      'project/auth.ts': { text: 'wrong\n', mode: 0o755 },
      'project/src/new/b.ts': { text: 'new\n', mode: 0o644 },
    })
    if (standIn) {
      expect(standIn.requests.map(({ status }) => status)).toEqual([529, 200, 200, 200, 200, 200])
      expect(JSON.stringify(await stage.lines(SESSION))).not.toContain('lost with its connection')
    }

    const rewind = ['--rewind-files', messageId, '--output-format', 'json']
    const home = await stage.homeTree()
    const planned = await stage.loci([...rewind, '--dry-run'])
    expect(planned).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(planned.out)).toEqual({
      messageId,
      changes: [
        expect.objectContaining({
          kind: 'modify',
          path: stage.tree.path('project/auth.ts'),
          modeAfter: 0o755,
        }),
        expect.objectContaining({ kind: 'create', path: stage.tree.path('project/c.txt'), modeAfter: 0o640 }),
        expect.objectContaining({ kind: 'delete', path: stage.tree.path('project/src/new/b.ts') }),
      ],
      conflicts: [],
      skipped: [],
    })
    expect(await stage.project()).toEqual(edited)
    expect(await stage.homeTree()).toEqual(home)

    const done = await stage.loci(rewind)
    expect(done).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(done.out)).toEqual({
      messageId,
      restored: [stage.tree.path('project/auth.ts'), stage.tree.path('project/c.txt')],
      deleted: [stage.tree.path('project/src/new/b.ts')],
      unchanged: [],
      skipped: [],
      conflicts: [],
      undoable: true,
    })
    expect(await stage.project()).toEqual(before)

    expect(await stage.loci(['history', 'undo'])).toMatchObject({ code: 0, err: '' })
    expect(await stage.project()).toEqual(edited)
  })

  describe('3. after /rewind to the second of three prompts', () => {
    const turns = ['one', 'two', 'three'].map((word) => `create ${word}.txt with "${word}"`)

    test.each(['exit', 'kill -9'])('and %s at once, a new process is at the end of turn 1', async (how) => {
      const loci = stage.start(NEW)
      for (const [index, turn] of turns.entries()) {
        loci.type(turn)
        await loci.said('tokens sent', index + 1)
      }
      const whole = await stage.look(SESSION)
      const [, second = -1] = whole.chain.flatMap((entry, index) =>
        promptIn(entry) === undefined ? [] : [index],
      )
      expect(second).toBeGreaterThan(0)
      loci.type('/rewind 2')
      if (how === 'exit') expect(await loci.end()).toMatchObject({ code: 0, err: '' })
      else {
        await loci.said('now at')
        await loci.kill()
      }
      expect(Object.keys(await stage.project())).toEqual([
        'project/auth.ts',
        'project/c.txt',
        'project/one.txt',
      ])

      const shown = await stage.loci(['sessions', 'show', SESSION, '--json'])
      expect({ code: shown.code, ...JSON.parse(shown.out) }).toMatchObject({
        code: 0,
        entries: whole.chain.slice(0, second),
        tip: whole.chain[second - 1]?.uuid,
        damage: [],
      })
      const tips = await stage.loci(['sessions', 'tips', SESSION, '--json'])
      expect(JSON.parse(tips.out)).toEqual([expect.objectContaining({ uuid: whole.tip, current: false })])

      // What goes on from there knows nothing of turns 2 and 3.
      const next = await stage.loci(['--resume', SESSION, ...BYPASS], { input: 'create four.txt with "4"\n' })
      expect(next).toMatchObject({ code: 0, err: '' })
      expect(next.out).not.toMatch(/interrupted|rewound/)
      const other = await stage.look(SESSION)
      expect(other.chain.slice(0, second)).toEqual(whole.chain.slice(0, second))
      expect(other.chain.slice(second).map(promptIn)[0]).toBe('create four.txt with "4"')
      expect(
        other.tips.map(({ uuid, current }) => ({ uuid, current })).toSorted((a) => (a.current ? -1 : 1)),
      ).toEqual([
        { uuid: other.tip, current: true },
        { uuid: whole.tip, current: false },
      ])
      if (stage.standIn)
        expect(saidIn(stage.standIn.requests.at(-1)).join('\n')).not.toMatch(/two\.txt|three\.txt/)

      const back = await stage.loci(['--resume'], {
        input: `/rewind ${whole.tip} conversation\nwhat is in three.txt?\n`,
      })
      expect(back).toMatchObject({ code: 0, out: expect.stringContaining(`now at ${whole.tip}`) })
      const resumed = await stage.look(SESSION)
      expect(resumed.chain.slice(0, whole.chain.length)).toEqual(whole.chain)
      expect(resumed.chain.slice(whole.chain.length).map(promptIn)[0]).toBe('what is in three.txt?')
    })
  })

  describe('4. what was sent once is sent again byte for byte', () => {
    const clock = { preload: 'fake-date.mjs' }
    const cachedShares = (out: string): number[] =>
      [...out.matchAll(/, (\d+) tokens sent \((\d+) cached\)/g)].map(
        ([, sent, cached]) => Number(cached) / Number(sent),
      )

    test('by a fork from message 2, by a session that is resumed, and after midnight', async () => {
      await stage.setClock('2026-03-01T23:50:00Z')
      const loci = stage.start(NEW, clock)
      loci.type('run seq 1 20000')
      await loci.said('tokens sent', 1)
      loci.type('run seq 1 3000')
      await loci.said('tokens sent', 2)
      const parent = await stage.look(SESSION)
      // One message of two lines: what it says, and the call.
      const [message] = parent.chain.filter(({ type }) => type === 'assistant')
      loci.type(`/branch ${message?.uuid} another way`)
      loci.type('hello')
      await loci.said('tokens sent', 3)
      loci.type(`/resume ${SESSION}`)
      loci.type('hello')
      await loci.said('tokens sent', 4)
      await stage.setClock('2026-03-02T00:10:00Z')
      loci.type('hello')
      await loci.said('tokens sent', 5)
      const { code, out } = await loci.end()
      expect(code).toBe(0)
      const shares = cachedShares(out)
      expect(shares).toHaveLength(5)
      for (const share of shares.slice(2)) expect(share).toBeGreaterThanOrEqual(0.95)
      expect(shares.slice(2).every((share) => share < 1)).toBe(true)

      const chain = (await stage.look(SESSION)).chain
      expect(chain.slice(0, parent.chain.length)).toEqual(parent.chain)
      expect(chain.slice(parent.chain.length).map(({ type }) => type)).toEqual([
        'user',
        'assistant',
        'attachment',
        'user',
        'assistant',
      ])
      if (!stage.standIn) return
      const { requests } = stage.standIn
      const [, afterCall, , , fork, resumed, midnight] = requests
      expect(requests).toHaveLength(7)
      expect(fork?.cacheReadBytes).toBe(afterCall?.promptBytes)
      expect(saidIn(fork).slice(0, -1)).toEqual(saidIn(afterCall))
      expect(JSON.stringify(bodyOf(fork).messages)).toContain('<persisted-output>')
      expect(JSON.stringify(bodyOf(fork))).not.toContain('19999')
      for (const seen of [fork, resumed, midnight]) {
        expect(bodyOf(seen).system).toEqual(bodyOf(afterCall).system)
        expect(bodyOf(seen).tools).toEqual(bodyOf(afterCall).tools)
      }
      expect(saidIn(midnight).slice(0, 2)).toEqual(saidIn(afterCall).slice(0, 2))
      expect(saidIn(midnight).slice(-2)).toEqual([
        'user: <context name="date">Today is 2026-03-02.</context>',
        'user: hello',
      ])
    })

    if (form === 'the stand-in')
      test('by new processes, on the same day and on the next', async () => {
        await stage.setClock('2026-03-01T23:50:00Z')
        const turn = { ...clock, input: 'run seq 1 20000\nrun seq 1 3000\n' }
        expect(await stage.loci(NEW, turn)).toMatchObject({ code: 0 })
        const before = stage.standIn?.requests.at(-1)
        const share = async (...argv: string[]): Promise<number> => {
          expect(await stage.loci(['-p', 'hello', ...argv], clock)).toMatchObject({ code: 0 })
          const seen = stage.standIn?.requests.at(-1)
          expect(saidIn(seen).slice(0, saidIn(before).length)).toEqual(saidIn(before))
          return (seen?.cacheReadBytes ?? 0) / (seen?.promptBytes ?? 0)
        }
        const shares = [await share('--resume', SESSION), await share('--continue', '--fork-session')]
        await stage.setClock('2026-03-02T00:10:00Z')
        shares.push(await share('--resume', SESSION))
        const dates = saidIn(stage.standIn?.requests.at(-1)).filter((text) => text.includes('name="date"'))
        expect(dates.map((text) => /Today is (.*)\./.exec(text)?.[1])).toEqual(['2026-03-01', '2026-03-02'])
        for (const one of shares) expect(one).toBeGreaterThanOrEqual(0.95)
      })

    test('in the transcript everything stands before what rests on it', async () => {
      await writeFile(stage.tree.path('project/twice.txt'), 'x\n')
      const { messageId } = await print('run seq 1 20000, then append "y" to twice.txt', ...NEW)
      const lines = await stage.lines(SESSION)
      const kinds = lines.map((line) => {
        const { type, message } = line
        const content =
          typeof message === 'object' && message !== null ? Reflect.get(message, 'content') : null
        const [block] = Array.isArray(content) ? content : []
        return block === undefined ? type : `${type} ${block.type}`
      })
      expect(kinds).toEqual([
        'file-history-snapshot',
        'attachment',
        'user',
        'assistant text',
        'assistant tool_use',
        'cost-state',
        'user tool_result',
        'content-replacement',
        'assistant text',
        'assistant tool_use',
        'cost-state',
        'user tool_result',
        'assistant tool_use',
        'cost-state',
        'file-history-delta',
        'user tool_result',
        'assistant text',
        'cost-state',
        'last-prompt',
      ])
      expect(lines[0]).toMatchObject({ messageId })
      expect(lines[2]).toMatchObject({ uuid: messageId, promptId: messageId })
      const result: unknown = Reflect.get(Object(lines[6]), 'message')
      expect(lines[7]).toMatchObject({
        replacements: [
          {
            kind: 'tool-result',
            toolUseId: Reflect.get(Object(lines[4]), 'message').content[0].id,
            replacement: Reflect.get(Object(result), 'content')[0].content,
          },
        ],
      })
      const last = lines.findLast(({ type }) => type === 'assistant')
      expect(lines.at(-1)).toMatchObject({ leafUuid: last?.['uuid'] })
      expect(lines.at(-1)).not.toHaveProperty('explicit')
      // Each line hangs on the one before.
      const chain = lines.filter(({ uuid, type }) => uuid !== undefined && type !== 'content-replacement')
      expect(chain.map(({ parentUuid }) => parentUuid)).toEqual([
        null,
        ...chain.slice(0, -1).map(({ uuid }) => uuid),
      ])
    })
  })
})
