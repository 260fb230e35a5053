import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { setFaultHook } from '@loci/disk/testing'
import { verifyFileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

const child = fileURLToPath(new URL('command-until-killed.mjs', import.meta.url))

let work: Project
beforeEach(async () => {
  work = await project({
    '.gitignore': '*.log\n',
    'a.txt': { text: 'a1', mode: 0o755 },
    'd/b.txt': { text: new Uint8Array([0, 255, 10]), mode: 0o444 },
    'e/c.txt': 'c1',
    'e/g/d.txt': 'd1',
    'tracked.txt': 't1',
    'x.log': 'x1',
  })
  const history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'tracked.txt', 't2')
  await history.close()
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.dispose()
})

/** Tracks a command in a child that is killed; resolves to how many file operations it made, if it was not. */
function commandUntil(nth: number): number | undefined {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [child, work.dir, work.root, String(nth)],
    { encoding: 'utf8' },
  )
  if (status === 0) return Number(stdout)
  if (signal !== 'SIGKILL') throw new Error(stderr)
  return undefined
}

/** The files as they were at `m1`, but for what no history covers. */
async function filesAtFirst(): Promise<unknown> {
  const now = await work.files()
  return { ...now, 'tracked.txt': { mode: 0o644, text: 't1' } }
}

/** Everything but what is ignored. */
async function covered(): Promise<unknown> {
  return Object.fromEntries(Object.entries(await work.files()).filter(([name]) => name !== 'x.log'))
}

test('what a command did before it was killed comes back, byte for byte and mode for mode, and can be undone', async () => {
  const before = await filesAtFirst()
  expect(commandUntil(0)).toBeUndefined()
  const after = await work.files()
  const all = await work.all()
  const history = await work.open()
  // Opening touches nothing, and looks at nothing below the root.
  expect((await work.files())['a.txt']).toEqual(after['a.txt'])
  expect(Object.keys(await work.all()).filter((name) => !(name in all))).toHaveLength(1)
  const plan = await history.planRewind('m1')
  expect(plan.conflicts).toEqual([])
  expect(plan.changes.map(({ kind, path }) => [kind, path])).toEqual([
    ['modify', work.path('a.txt')],
    ['create', work.path('d/b.txt')],
    ['create', work.path('e/c.txt')],
    ['create', work.path('e/g/d.txt')],
    ['delete', work.path('f/c.txt')],
    ['delete', work.path('f/g/d.txt')],
    ['delete', work.path('new/file.txt')],
    ['modify', work.path('tracked.txt')],
  ])
  // What is not covered is named.
  expect(plan.skipped).toEqual([
    { path: work.path('x.log'), reason: expect.stringMatching(/^it changed since a command of c1 began/) },
  ])
  expect((await history.planRewind('m1', { paths: ['d'] })).skipped).toEqual([])
  await history.rewind(plan)
  await fs.writeFile(work.path('x.log'), 'x1')
  expect(await work.files()).toEqual(before)
  await history.undoRewind()
  await fs.writeFile(work.path('x.log'), 'ignored')
  expect(await work.files()).toEqual(after)
  expect(await verifyFileHistory(work)).toEqual([])
  await history.close()
})

test.each(['makeSnapshot', 'trackEdit', 'trackCommand', 'rewind', 'gc'] as const)(
  'the first call of %s covers it, and what changed since, which is no conflict',
  async (first) => {
    const before = await filesAtFirst()
    commandUntil(0)
    await work.write('a.txt', 'by the user, since')
    let history = await work.open()
    if (first === 'makeSnapshot') await history.makeSnapshot('m2')
    else if (first === 'trackEdit') await edit(work, history, 'a.txt', 'by the agent, since', 'e2')
    else if (first === 'trackCommand') await history.trackCommand('c2', () => work.write('a.txt', 'c2'))
    else if (first === 'gc') {
      await history.gc()
      expect(await fs.readdir(work.inDir('base'))).toEqual([])
    }
    const after = await work.files()
    await history.close()
    history = await work.open()
    await history.rewind('m1')
    await fs.writeFile(work.path('x.log'), 'x1')
    expect(await work.files()).toEqual(before)
    await history.undoRewind()
    await fs.writeFile(work.path('x.log'), 'ignored')
    expect(await work.files()).toEqual(after)
    if (first === 'makeSnapshot') {
      await work.write('a.txt', 'later')
      await history.rewind('m2', { onConflict: 'overwrite' })
      expect(await work.read('a.txt')).toBe('by the user, since')
    }
    expect(await verifyFileHistory(work)).toEqual([])
    await history.close()
  },
)

test('of commands that overlapped when they were cut off, each is covered from its own start', async () => {
  const before = await filesAtFirst()
  const first = await work.open()
  const killed = work.beside('killed')
  await first.trackCommand('c1', async () => {
    await work.write('a.txt', 'by c1')
    await first.makeSnapshot('m2')
    await first.trackCommand('c2', async () => {
      await work.write('a.txt', 'by c2')
      await work.write('e/c.txt', 'by c2')
      // What a kill leaves.
      await fs.cp(work.dir, killed, { recursive: true })
    })
  })
  await first.close()
  const history = await work.open({ dir: killed })
  expect(await history.rewind('m2')).toMatchObject({ skipped: [], conflicts: [] })
  expect([await work.read('a.txt'), await work.read('e/c.txt')]).toEqual(['by c1', 'c1'])
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
  await history.close()
})

test('open for reading, the command is named, and nothing is written', async () => {
  commandUntil(0)
  const before = await work.all()
  const history = await work.open({ mode: 'read' })
  expect((await history.planRewind('m1')).skipped).toEqual([
    { path: work.root, reason: expect.stringMatching(/^a command of c1 was cut off/) },
  ])
  await history.close()
  expect(await work.all()).toEqual(before)
})

test.each([
  ['cut short', (text: string) => text.slice(0, -20)],
  ['with a line missing', (text: string) => text.replace(/\n.*a\.txt.*\n/, '\n')],
  ['of another command', (text: string) => text.replace('"c1"', '"c2"')],
  ['with a key that climbs', (text: string) => text.replace('"a.txt"', '"../a.txt"')],
  ['with a copy that is elsewhere', (text: string) => text.replace(/"copy":"[^"]*"/, '"copy":"../x"')],
  ['gone', () => undefined],
])(
  'an index that is %s: the command is named, its copies stay, and nothing is guessed',
  async (_, damage) => {
    commandUntil(0)
    const index = work.inDir('base-c1.jsonl')
    const text = damage(await fs.readFile(index, 'utf8'))
    await (text === undefined ? fs.rm(index) : fs.writeFile(index, text))
    const history = await work.open()
    const plan = await history.planRewind('m1')
    expect(plan.skipped).toEqual([
      { path: work.root, reason: expect.stringMatching(/^a command of c1 was cut off/) },
    ])
    expect(plan.changes.map(({ path }) => path)).toEqual([work.path('tracked.txt')])
    await history.trackCommand('c2', () => work.write('a.txt', 'c2'))
    expect(await verifyFileHistory(work)).toMatchObject([{ kind: 'command-incomplete' }])
    const texts = await Promise.all(
      (await fs.readdir(work.inDir('base'))).map((name) => fs.readFile(work.inDir(`base/${name}`), 'utf8')),
    )
    expect(texts).toEqual(expect.arrayContaining(['a1', 'c1', 'd1']))
    await history.gc()
    expect(await fs.readdir(work.dir)).not.toContain('base-c1.jsonl')
    expect(await verifyFileHistory(work)).toEqual([])
    await history.close()
  },
)

test('where the disk is full meanwhile, nothing is lost: the next call goes on', async () => {
  const before = await filesAtFirst()
  commandUntil(0)
  let history = await work.open()
  let writes = 0
  setFaultHook((operation) =>
    operation === 'write' && (writes += 1) > 3
      ? Object.assign(new Error('injected'), { code: 'ENOSPC' })
      : undefined,
  )
  expect(await failure(history.makeSnapshot('m2'))).toMatchObject({ code: 'DISK_FULL' })
  setFaultHook(undefined)
  await history.close()
  history = await work.open()
  await history.rewind('m1')
  await fs.writeFile(work.path('x.log'), 'x1')
  expect(await work.files()).toEqual(before)
  await history.close()
})

test('killed at any moment of a tracked command, a rewind has the tree before and an undo the one after', async () => {
  const scene = await fs.mkdtemp(`${work.beside('')}scene-`)
  const copy = (from: string, to: string): Promise<void> => fs.cp(from, to, { recursive: true })
  await copy(work.root, `${scene}/project`)
  await copy(work.dir, `${scene}/history`)
  const before = await filesAtFirst()
  const operations = commandUntil(Infinity) ?? 0
  expect(operations).toBeGreaterThan(100)
  const step = process.env['LOCI_LONG'] === '1' ? 1 : Math.floor(operations / 12)
  let kills = 0
  for (let nth = operations; nth > 0; nth -= step) {
    await fs.rm(work.root, { recursive: true })
    await fs.rm(work.dir, { recursive: true })
    await copy(`${scene}/project`, work.root)
    await copy(`${scene}/history`, work.dir)
    // One that has as little as a look less to make may end before that.
    if (commandUntil(nth) !== undefined) continue
    kills += 1
    const after = await covered()
    const history = await work.open()
    expect((await history.rewind('m1')).conflicts).toEqual([])
    await fs.writeFile(work.path('x.log'), 'x1')
    expect(await work.files()).toEqual(before)
    await history.undoRewind()
    expect(await covered()).toEqual(after)
    await history.close()
  }
  expect(kills).toBeGreaterThan(9)
}, 300_000)

test('what could not be recorded at the end of a command is recorded by the next call, in this process or another', async () => {
  for (const reopens of [false, true]) {
    const before = await filesAtFirst()
    const history = await work.open()
    const disk = (operation: string, path: string): Error | undefined =>
      ['open', 'write', 'link'].includes(operation) && path.startsWith(`${work.dir}/`)
        ? Object.assign(new Error('full'), { code: 'ENOSPC' })
        : undefined
    const command = history.trackCommand('c1', async () => {
      await work.write('a.txt', 'a2', 0o600)
      await work.remove('e/c.txt')
      await work.write('new.txt', 'n')
      setFaultHook(disk)
    })
    expect(await failure(command)).toMatchObject({ code: 'DISK_FULL' })
    setFaultHook(undefined)
    if (reopens) await history.close()
    const next = reopens ? await work.open() : history
    const { skipped } = await next.rewind('m1')
    expect(skipped).toEqual([])
    expect(await work.files()).toEqual(before)
    expect(await fs.readdir(work.dir)).not.toContainEqual(expect.stringMatching(/^base-/))
    await next.undoRewind()
    await next.close()
    await work.write('a.txt', 'a1', 0o755)
    await work.write('e/c.txt', 'c1')
    await work.remove('new.txt')
  }
})
