import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { backupFileName, verifyFileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { asUpdates, parseRecords } from './ledgers.ts'
import { failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project()
})
afterEach(() => work.dispose())

type Files = Record<string, { mode: string; content: string }>

const load = async (fixture: string, name: string): Promise<string> =>
  fs.readFile(new URL(`./fixtures/${fixture}/${name}`, import.meta.url), 'utf8')

/** The absolute paths of the fixture, with the user's home moved below the temporary tree. */
const moved = (path: string): string =>
  path
    .replace(/^\/home\/user\/(project|longproj)(?=\/|$)/, work.root)
    .replace(/^\/home\/user/, dirname(work.root))

async function writeAll(at: string, files: Files): Promise<void> {
  for (const [name, { mode, content }] of Object.entries(files)) {
    await fs.mkdir(dirname(`${at}/${name}`), { recursive: true })
    await fs.writeFile(`${at}/${name}`, content)
    await fs.chmod(`${at}/${name}`, Number.parseInt(mode, 8))
  }
}

/** As the client writes a file that joins a snapshot, and as it did before. */
type Shape = 'deltas' | 'updates'

/**
 * Lays a fixture out where the test may write. Backup names are hashes of absolute paths, and so the names change
 * with the paths; nothing else does.
 */
async function layOut(fixture: string, originals: readonly string[], shape: Shape = 'deltas'): Promise<void> {
  const names = new Map(
    originals.map((path) => [
      backupFileName(path, 0).slice(0, 16),
      backupFileName(moved(path), 0).slice(0, 16),
    ]),
  )
  const rename = (text: string): string =>
    text.replace(/\b[0-9a-f]{16}(?=@v)/g, (hash) => names.get(hash) ?? `unknown-${hash}`)
  const ledger = rename(await load(fixture, 'ledger.jsonl')).replace(
    /"(\/home\/user[^"]*)"/g,
    (_, path: string) => JSON.stringify(moved(path)),
  )
  const blobs: Files = JSON.parse(await load(fixture, 'blobs.json'))
  await fs.mkdir(work.dir)
  await writeAll(
    work.dir,
    Object.fromEntries(Object.entries(blobs).map(([name, blob]) => [rename(name), blob])),
  )
  const lines = asUpdates(parseRecords(ledger)).map((record) => `${JSON.stringify(record)}\n`)
  await fs.writeFile(work.inDir('snapshots.jsonl'), shape === 'deltas' ? ledger : lines.join(''))
}

const BASIC = [
  '/home/user/project/notes.txt',
  '/home/user/project/README.md',
  '/home/user/project/src/deep/mod.js',
  '/home/user/elsewhere/out.txt',
]

interface Golden {
  messageId: string
  dryRun: { filesChanged: string[]; insertions: number; deletions: number }
  treeAfter: Files
}

async function writeProject(): Promise<void> {
  await writeAll(work.root, JSON.parse(await load('file-history-basic', 'project.json')))
  await writeAll(
    moved('/home/user/elsewhere'),
    JSON.parse(await load('file-history-basic', 'elsewhere.json')),
  )
}

async function readTree(): Promise<Files> {
  const entries = Object.entries(await work.all()).filter(([name]) => !/^\.?history/.test(name))
  return Object.fromEntries(
    entries.map(([name, file]) => {
      if (!('text' in file)) throw new Error(`${name} is a link`)
      return [`${dirname(work.root)}/${name}`, { mode: file.mode.toString(8), content: file.text }]
    }),
  )
}

test.each([
  ['file-history-basic', 'deltas'],
  ['file-history-basic', 'updates'],
  ['file-history-cli-fork', 'deltas'],
] as const)(
  '%s, %s: a rewind to each message gives the tree that the client gave, and the preview its numbers',
  async (fixture, shape) => {
    await layOut(fixture, BASIC, shape)
    await writeProject()
    const before = await readTree()
    expect(await verifyFileHistory(work)).toEqual([])
    const history = await work.open()
    const golden: Golden[] = JSON.parse(await load('file-history-basic', 'rewind.golden.json'))
    expect(golden).toHaveLength(6)
    // In either shape a message has one snapshot.
    const ids = history.snapshots().map((one) => one.messageId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { messageId, dryRun, treeAfter } of golden) {
      const plan = await history.planRewind(messageId)
      expect(plan).toMatchObject({ conflicts: [], skipped: [] })
      expect(plan.changes.map(({ path }) => path)).toEqual(dryRun.filesChanged.map(moved).toSorted())
      const sum = (of: 'insertions' | 'deletions'): number =>
        plan.changes.reduce((total, change) => total + change[of], 0)
      expect([sum('insertions'), sum('deletions')]).toEqual([dryRun.insertions, dryRun.deletions])
      await history.rewind(plan)
      const expected = Object.entries(treeAfter).map(([path, file]) => [moved(path), file])
      expect(await readTree()).toEqual(Object.fromEntries(expected))
      if (plan.changes.length > 0) await history.undoRewind()
      expect(await readTree()).toEqual(before)
    }
    await history.close()
  },
)

test('file-history-110-turns: the newest 100 are there, the first 10 are evicted and stay so', async () => {
  await layOut('file-history-110-turns', ['/home/user/longproj/n.txt'])
  await work.write('n.txt', 'version 109\n')
  const ids = (await load('file-history-110-turns', 'ledger.jsonl'))
    .split('\n')
    .filter((line) => line.includes('"type":"file-history-snapshot"'))
    .map((line): string => JSON.parse(line).messageId)
  expect(ids).toHaveLength(110)
  const history = await work.open()
  expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(ids.slice(10))
  for (const id of ids.slice(0, 10)) {
    expect(await failure(history.planRewind(id))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
  }
  expect(await verifyFileHistory(work)).toEqual([])
  expect(await history.gc({ dryRun: true })).toEqual({ removed: [], freedBytes: 0 })
  expect(Buffer.from((await history.readFileAt(ids[10] ?? '', 'n.txt')) ?? []).toString()).toBe(
    'version 10\n',
  )
  await history.makeSnapshot('next')
  expect(history.snapshots()).toHaveLength(100)
  expect(await failure(history.rewind(ids[10] ?? ''))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
  await history.close()
})

test.each(['deltas', 'updates'] as const)(
  'file-history-110-turns, %s: a rewind to each of the 100 gives what the client recorded, also where it missed a change',
  async (shape) => {
    await layOut('file-history-110-turns', ['/home/user/longproj/n.txt'], shape)
    await work.write('n.txt', 'version 109\n')
    const history = await work.open()
    const ids = history.snapshots().map(({ messageId }) => messageId)
    const missed: number[] = []
    for (const [index, id] of ids.entries()) {
      const turn = index + 10
      await history.rewind(id)
      const text = await work.read('n.txt')
      if (text !== `version ${turn}\n`) missed.push(turn)
      // Nothing can bring back what was not recorded; the state before it is what the snapshot holds.
      if (text !== `version ${turn}\n`) expect(text).toBe(`version ${turn - 1}\n`)
    }
    expect(missed).toEqual([74])
    await history.rewind(ids[90] ?? '')
    await history.undoRewind()
    expect(await work.read('n.txt')).toBe('version 109\n')
    await history.close()
  },
)

test('better on purpose: the change that the client missed (same size, older time) is seen and numbered on', async () => {
  await layOut('file-history-110-turns', ['/home/user/longproj/n.txt'])
  await work.write('n.txt', 'version 109\n')
  const history = await work.open()
  const { trackedFileBackups: former } = await history.makeSnapshot('one')
  await fs.writeFile(work.path('n.txt'), 'VERSION 109\n')
  await fs.utimes(work.path('n.txt'), new Date(0), new Date(0))
  const { trackedFileBackups: next } = await history.makeSnapshot('two')
  expect(next['n.txt']?.version).toBe((former['n.txt']?.version ?? 0) + 1)
  await history.rewind('one')
  expect(await work.read('n.txt')).toBe('version 109\n')
  await history.rewind('two')
  expect(await work.read('n.txt')).toBe('VERSION 109\n')
  await history.close()
})

test('better on purpose: what the client leaves without a name, links and lost backups, is named; a hard link is restored', async () => {
  await layOut('file-history-basic', BASIC)
  await writeProject()
  const golden: Golden[] = JSON.parse(await load('file-history-basic', 'rewind.golden.json'))
  const { messageId, treeAfter } = golden[1] ?? { messageId: '' }
  const history = await work.open()
  const changed = (await history.planRewind(messageId)).changes.filter(({ kind }) => kind === 'modify')
  const [hard, lost] = changed.map(({ path }) => path)
  if (hard === undefined || lost === undefined || treeAfter === undefined)
    throw new Error('the fixture has no such message')
  await fs.link(hard, work.beside('other-name'))
  // The client leaves it and counts it; here its other name follows.
  const [, wanted] = Object.entries(treeAfter).find(([path]) => moved(path) === hard) ?? []
  // The client passes over it in silence.
  for (const name of await fs.readdir(work.dir)) {
    if (name.startsWith(backupFileName(lost, 0).slice(0, 16))) await fs.rm(work.inDir(name))
  }
  const left = await fs.readFile(lost, 'utf8')
  const result = await history.rewind(messageId)
  expect(result.restored).toContain(hard)
  expect(await fs.readFile(work.beside('other-name'), 'utf8')).toBe(wanted?.content)
  expect(result.skipped).toEqual([{ path: lost, reason: expect.stringContaining('missing') }])
  expect(await fs.readFile(lost, 'utf8')).toBe(left)
  await history.close()
})

test('better on purpose: an evicted message is told from one that never was', async () => {
  await layOut('file-history-110-turns', ['/home/user/longproj/n.txt'])
  const history = await work.open()
  const [first] = parseRecords(await load('file-history-110-turns', 'ledger.jsonl'))
  expect(await failure(history.rewind(first?.messageId ?? ''))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
  expect(await failure(history.rewind('never'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  await history.close()
})

test('session-interactive-rewind: a rewind of the client in the middle, and on from there', async () => {
  await layOut('session-interactive-rewind', ['/home/user/project/notes.txt'])
  const history = await work.open()
  expect(await verifyFileHistory(work)).toEqual([])
  const at = async (id: string): Promise<string | null> => {
    await history.rewind(id)
    return work.read('notes.txt')
  }
  expect(await at('29a8932c-4f60-4412-b741-72a611c8d539')).toBe('alpha\nbeta\n')
  expect(await at('b3e4401c-3de5-4493-9150-0bdd0437e1e7')).toBeNull()
  expect(await at('29a8932c-4f60-4412-b741-72a611c8d539')).toBe('alpha\nbeta\n')
  expect(await at('7d0bd190-a4b9-47d3-a1d4-1071c1732a31')).toBeNull()
  // Numbering goes on where the client stopped, at v3.
  await history.trackEdit('notes.txt', 'a')
  await work.write('notes.txt', 'again')
  expect((await history.makeSnapshot('m')).trackedFileBackups['notes.txt']?.version).toBe(4)
  await history.close()
})
