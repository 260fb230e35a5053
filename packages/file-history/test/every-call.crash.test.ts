import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { linkBackups } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { damageOf, filesBelow } from './fault-scene.ts'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

const child = fileURLToPath(new URL('call-until-killed.mjs', import.meta.url))
const isLong = process.env['LOCI_LONG'] === '1'

let work: Project
let fork: string
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1', 'b.txt': { text: 'b1', mode: 0o755 }, 'c.txt': 'c1' })
  fork = work.beside('fork')
  const history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await edit(work, history, 'b.txt', 'b2')
  await history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', 'a3')
  await history.rewind('m1')
  await history.undoRewind()
  await work.write('b.txt', 'b by hand')
  await history.close()
  // What gc removes.
  writeFileSync(work.inDir('0123456789abcdef@v1'), 'named by none')
  writeFileSync(work.inDir('.stage-1.tmp'), 'in the making')
  cpSync(work.dir, work.beside('saved'), { recursive: true })
})
afterEach(() => work.dispose())

/** Calls it in a child that is killed at a moment, `write 3` say; resolves to those there were, if it ended. */
function callUntil(what: string, moment: string): string[] | undefined {
  const args = [child, work.dir, work.root, what, moment, fork]
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status === 0) return stdout.split('\n')
  if (signal !== 'SIGKILL') throw new Error(stderr)
  return undefined
}

function reset(): void {
  for (const folder of [work.dir, fork]) rmSync(folder, { recursive: true, force: true })
  cpSync(work.beside('saved'), work.dir, { recursive: true })
}

async function textAt(history: FileHistory, id: string, name: string): Promise<string | null> {
  const bytes = await history.readFileAt(id, name)
  return bytes && Buffer.from(bytes).toString()
}

/** What was there before the call is there after the kill, and all goes on. */
async function expectWhole(dir: string): Promise<void> {
  expect(await damageOf({ dir, root: work.root })).toEqual([])
  const history = await work.open({ dir })
  expect(history.pendingRewind).toBeNull()
  const ids = history.snapshots().map(({ messageId }) => messageId)
  expect([
    ['m1', 'm2'],
    ['m1', 'm2', 'm3'],
  ]).toContainEqual(ids)
  const wanted = { m1: ['a1', 'b1'], m2: ['a2', 'b2'], m3: ['a3', 'b by hand'] }
  for (const [id, texts] of Object.entries(wanted)) {
    if (!ids.includes(id)) continue
    expect([await textAt(history, id, 'a.txt'), await textAt(history, id, 'b.txt')]).toEqual(texts)
  }
  await edit(work, history, 'c.txt', 'c2')
  await history.makeSnapshot('m4')
  await history.gc()
  expect((await history.gc({ dryRun: true })).removed).toEqual([])
  expect((await history.rewind('m1')).skipped).toEqual([])
  expect([await work.read('a.txt'), await work.read('b.txt'), await work.read('c.txt')]).toEqual([
    'a1',
    'b1',
    'c1',
  ])
  await history.undoRewind()
  await history.close()
  expect(await damageOf({ dir, root: work.root })).toEqual([])
  const reader = await work.open({ dir, mode: 'read' })
  expect(await textAt(reader, 'm4', 'c.txt')).toBe('c2')
  expect(await textAt(reader, 'm2', 'c.txt')).toBe('c1')
  await reader.close()
  await work.write('c.txt', 'c1')
}

describe.each(['trackEdit', 'makeSnapshot', 'gc', 'linkBackups'])(
  'killed at any file operation of %s',
  (what) => {
    test('every snapshot is exact, nothing that is needed is missing, and all goes on', async () => {
      const before = filesBelow(work.root)
      const all = callUntil(what, 'never') ?? []
      expect(all.length).toBeGreaterThan(10)
      // Each write, which is cut short, and two of the others; the long run tries each.
      const step = isLong ? 1 : Math.ceil(all.length / 2)
      const moments = all.filter((moment, index) => moment.startsWith('write') || index % step === step >> 1)
      let kills = 0
      for (const moment of moments) {
        reset()
        // With a look less to make it may end before.
        if (callUntil(what, moment) === undefined) kills += 1
        expect(filesBelow(work.root)).toEqual(before)
        if (what === 'linkBackups') {
          // Of a fork that was cut off the backups are there first.
          const found = existsSync(fork) ? await damageOf({ dir: fork, root: work.root }) : []
          expect(found.filter((line) => !line.startsWith('ledger-missing'))).toEqual([])
          await linkBackups({ fromDir: work.dir, toDir: fork })
          expect(await damageOf({ dir: fork, root: work.root })).toEqual([])
          const shared = readdirSync(work.beside('saved')).filter((name) => /^\w{16}@v/.test(name))
          expect(readdirSync(fork)).toEqual(expect.arrayContaining(shared))
        }
        await expectWhole(work.dir)
      }
      expect(kills).toBeGreaterThan(1)
    }, 300_000)
  },
)

/** Kills a child that takes turns once it has acknowledged so many; resolves to the last turn that it acknowledged. */
async function killAfter(turns: number): Promise<number> {
  const args = [child, work.dir, work.root, 'turns', '', fork]
  const killed = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  killed.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    if (said.split('\n').length > turns) killed.kill('SIGKILL')
  })
  await once(killed, 'close')
  return Number(said.trimEnd().split('\n').at(-1))
}

test('killed at a random moment of edits, snapshots, evictions, gc and forks: what was acknowledged is exact, here and in the fork', async () => {
  let former = 0
  for (let round = 0; round < (isLong ? 60 : 2); round += 1) {
    rmSync(work.dir, { recursive: true })
    rmSync(fork, { recursive: true, force: true })
    const last = await killAfter(4 + ((round * 7) % 11))
    expect(last).toBeGreaterThan(0)
    former += last
    const options = { dir: work.dir, root: work.root }
    expect(await damageOf(options)).toEqual([])
    const history = await work.open({ maxSnapshots: 4 })
    const ids = history.snapshots().map(({ messageId }) => messageId)
    expect(ids).toContain(`t${last}`)
    for (const id of ids) {
      if (id === 't0') continue
      expect(await textAt(history, id, 'a.txt')).toBe(`a of turn ${id.slice(1)}`)
      expect(await textAt(history, id, 'b.txt')).toBe(`b of turn ${id.slice(1)}`)
    }
    await history.makeSnapshot('next')
    await history.gc()
    await history.close()
    expect(await damageOf(options)).toEqual([])
    if (existsSync(fork)) expect(await damageOf({ ...options, dir: fork })).toEqual([])
  }
  expect(former).toBeGreaterThan(10)
}, 300_000)
