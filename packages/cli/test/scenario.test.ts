import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const STEP = new URL('./scenario-step.mjs', import.meta.url).pathname
const SESSION = '11111111-1111-4111-8111-111111111111'
const FORK = '22222222-2222-4222-8222-222222222222'

/** Runs one step in a process of its own. */
async function step<Result = unknown>(name: string, input: Record<string, unknown>): Promise<Result> {
  const { stdout } = await promisify(execFile)(process.execPath, [STEP, name, JSON.stringify(input)], {
    maxBuffer: 1 << 28,
  })
  return JSON.parse(stdout)
}

interface Look {
  tip: string | null
  chain: string[]
  conversation: unknown[]
  tips: { uuid: string; current: boolean }[]
  damage: { kind: string; offset?: number }[]
}

let work: Tree
let session: { projectDir: string; sessionId: string }
beforeEach(async () => {
  work = await tree({ 'project/auth.ts': { text: 'right\n', mode: 0o755 } })
  session = { projectDir: work.path('home/projects/-w-project'), sessionId: SESSION }
})
afterEach(() => work.remove())

const projectTree = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(await work.snapshot()).filter(([name]) => name.startsWith('project/')))

test('1. a memory that one process saved is in the prompt that a new one builds', async () => {
  const place = { home: work.path('home'), projectDir: session.projectDir }
  await step('saveMemory', place)
  const files = await work.snapshot()
  expect(files['home/projects/-w-project/memory/MEMORY.md']).toMatchObject({
    text: expect.stringContaining('- [indentation](project_indentation.md) — we indent with 4 spaces\n'),
  })
  expect(files['home/projects/-w-project/memory/project_indentation.md']).toMatchObject({
    text: expect.stringMatching(
      /^---\nname: indentation\ndescription: we indent with 4 spaces\n[^]*type: project\n/,
    ),
  })
  const prompt = await step<{ system: string; context: string }>('buildPrompt', place)
  expect(prompt.context).toContain('we indent with 4 spaces')
})

test('2. a wrong edit and a new file are taken back with bytes and mode; undone; and redone', async () => {
  await mkdir(work.path('project/src/new'), { recursive: true })
  const at = { dir: work.path('home/file-history/s'), root: work.path('project') }
  const before = await projectTree()
  await step('edit', {
    ...at,
    messageId: 'prompt-1',
    edits: [
      { path: work.path('project/auth.ts'), text: 'wrong and longer\n' },
      { path: work.path('project/src/new/b.ts'), text: 'new\n' },
    ],
  })
  const edited = await projectTree()
  expect(await step('rewindFiles', { ...at, messageId: 'prompt-1' })).toMatchObject({
    restored: [work.path('project/auth.ts')],
    deleted: [work.path('project/src/new/b.ts')],
    undoable: true,
  })
  expect(await projectTree()).toEqual(before)
  await step('undoRewind', at)
  expect(await projectTree()).toEqual(edited)
  await step('undoRewind', at)
  expect(await projectTree()).toEqual(before)
})

test('3. after a rewind a new process finds the end of turn 1, the old end among the tips, and goes on', async () => {
  const uuids = await step<string[]>('talk', { ...session, turns: ['one', 'two', 'three'] })
  await step('moveTip', { ...session, to: uuids[1] })
  const rewound = await step<Look>('look', session)
  expect(rewound.tip).toBe(uuids[1])
  expect(rewound.chain).toEqual(uuids.slice(0, 2))
  expect(rewound.tips.map(({ uuid }) => uuid)).toContain(uuids[5])
  const next = await step<string>('append', { ...session, text: 'another way' })
  const after = await step<Look>('look', session)
  expect(after.chain).toEqual([...uuids.slice(0, 2), next])
  expect(after.tips.map(({ uuid }) => uuid).toSorted()).toEqual([next, uuids[5]].toSorted())
  expect(after.damage).toEqual([])
})

test('4. a fork says the same byte for byte, and a rewind in it changes nothing in the parent', async () => {
  const root = work.path('project')
  const dir = work.path(`home/file-history/${SESSION}`)
  const newDir = work.path(`home/file-history/${FORK}`)
  const uuids = await step<string[]>('talkWithTool', {
    ...session,
    lines: 20_000,
    replacement: 'twenty thousand lines',
  })
  await step('edit', {
    ...session,
    dir,
    root,
    messageId: uuids[0],
    edits: [{ path: work.path('project/auth.ts'), text: 'wrong\n' }],
  })
  const upTo = uuids[3]
  const fork = await step<{ path: string; backups: { linked: number } }>('fork', {
    ...session,
    upTo,
    newSessionId: FORK,
    dir,
    newDir,
  })
  expect(fork.backups.linked).toBeGreaterThan(0)

  const parent = await step<Look>('look', { ...session, to: upTo })
  const copy = await step<Look>('look', { ...session, sessionId: FORK })
  expect(copy.chain).toEqual(uuids.slice(0, 4))
  expect(JSON.stringify(copy.conversation)).toBe(JSON.stringify(parent.conversation))
  expect(JSON.stringify(copy.conversation)).toContain('twenty thousand lines')
  expect(JSON.stringify(copy.conversation)).not.toContain('line\\nline')

  const parentFiles = async (): Promise<unknown[]> =>
    Object.entries(await work.snapshot()).filter(([name]) => name.includes(SESSION))
  const before = await parentFiles()
  await step('rewindFiles', { ...session, sessionId: FORK, dir: newDir, root, messageId: uuids[0] })
  expect(await readFile(work.path('project/auth.ts'), 'utf8')).toBe('right\n')
  expect((await stat(work.path('project/auth.ts'))).mode & 0o777).toBe(0o755)
  await step('append', { ...session, sessionId: FORK, text: 'only in the fork' })
  expect(await parentFiles()).toEqual(before)
})

describe('5. killed in the middle of appending', () => {
  test.each([200, 700_000])('everything acknowledged is there (records of %i bytes)', async (bytes) => {
    const [first] = await step<string[]>('talk', { ...session, turns: ['one'] })
    const child = spawn(process.execPath, [STEP, 'appendForever', JSON.stringify({ ...session, bytes })])
    const acknowledged: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged.push(line)
      if (acknowledged.length === 20) child.kill('SIGKILL')
    }
    const next = await step<string>('append', { ...session, text: 'after the kill' })
    const { chain } = await step<Look>('look', session)
    expect(chain).toEqual(expect.arrayContaining([first, ...acknowledged, next]))
    expect(chain.at(-1)).toBe(next)
  })

  test('inside a record: what stands before and after it loads, and the half record is named', async () => {
    const [first] = await step<string[]>('talk', { ...session, turns: ['one'] })
    const child = spawn(process.execPath, [STEP, 'dieInsideRecord', JSON.stringify(session)])
    const [line] = await once(child.stdout, 'data')
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
    const torn = (await readFile(`${session.projectDir}/${SESSION}.jsonl`, 'utf8')).split('\n').at(-1)
    expect(torn).toHaveLength(40)
    const next = await step<string>('append', { ...session, text: 'after the kill' })
    const { chain, damage } = await step<Look>('look', session)
    expect(chain).toEqual([first, expect.any(String), String(line).trim(), next])
    expect(damage).toHaveLength(1)
    expect(await readFile(`${session.projectDir}/${SESSION}.jsonl`, 'utf8')).toContain(`\n${torn}\n`)
  })
})

describe('6. each way that switches memory off leaves no text and makes nothing', () => {
  test.each([
    ['CLAUDE_CODE_DISABLE_AUTO_MEMORY', { env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' } }],
    ['CLAUDE_CODE_SIMPLE', { env: { CLAUDE_CODE_SIMPLE: 'true' } }],
    ['CLAUDE_CODE_REMOTE without a directory', { env: { CLAUDE_CODE_REMOTE: 'on' } }],
    ['the setting', { settings: { autoMemoryEnabled: false } }],
    ['--bare', { bare: true }],
  ])('%s', async (_, how) => {
    const before = await work.snapshot()
    const prompt = await step('buildPrompt', {
      home: work.path('home'),
      projectDir: session.projectDir,
      ...how,
    })
    expect(prompt).toBeNull()
    expect(await work.snapshot()).toEqual(before)
    await expect(stat(work.path('home'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
