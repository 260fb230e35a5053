import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { verifyFileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1', 'b.txt': 'b1' })
  const history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await history.makeSnapshot('m2')
  await edit(work, history, 'new.txt', 'n2')
  await edit(work, history, 'b.txt', null)
  await history.makeSnapshot('m3')
  await edit(work, history, 'a.txt', 'a4')
  await edit(work, history, 'new.txt', 'n4')
  await history.close()
})
afterEach(() => work.dispose())

/** What each file was at each snapshot. */
const TRUTH: Record<string, Record<string, string | null>> = {
  m1: { 'a.txt': 'a1', 'b.txt': 'b1', 'new.txt': null },
  m2: { 'a.txt': 'a2', 'b.txt': 'b1', 'new.txt': null },
  m3: { 'a.txt': 'a2', 'b.txt': null, 'new.txt': 'n2' },
}
const NAMES = ['a.txt', 'b.txt', 'new.txt']
const DAMAGES: Record<string, (text: Buffer, from: number, to: number) => Buffer> = {
  lost: (text, from, to) => Buffer.concat([text.subarray(0, from), text.subarray(to)]),
  zeroed: (text, from, to) => Buffer.from(text).fill(0, from, to - 1),
  torn: (text, from) => text.subarray(0, from + 9),
  'cut in the middle': (text, from, to) =>
    Buffer.concat([text.subarray(0, (from + to) >> 1), text.subarray(to - 1)]),
  'glued to the next': (text, _, to) => Buffer.concat([text.subarray(0, to - 1), text.subarray(to)]),
  'with one bit turned': (text, from, to) => {
    const bytes = Buffer.from(text)
    const middle = from + Math.floor((to - from) / 3)
    bytes[middle] = (bytes[middle] ?? 0) ^ 0x10
    return bytes
  },
}

/** Where each line begins, and the end of the last. */
function lineStarts(text: Buffer): number[] {
  const starts = [0]
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) starts.push(at + 1)
  return starts
}

/** Rewinds to each snapshot that is left: each file has its state then, or is named and left. Never a later state. */
async function checkAll(isSame: boolean): Promise<void> {
  const history = await work.open()
  for (const { messageId } of history.snapshots()) {
    const truth = TRUTH[messageId]
    if (truth === undefined) continue
    const before = await work.files()
    const result = await history.rewind(messageId, { onConflict: 'overwrite' })
    const named = new Set(result.skipped.map(({ path }) => path))
    for (const name of NAMES) {
      const now = await work.read(name)
      if (now === truth[name]) continue
      // Not brought back: left as it was, and named.
      const left = before[name]
      expect(now, `${name} at ${messageId}`).toBe(left && 'text' in left ? left.text : null)
      expect(named.has(work.path(name)), `${name} at ${messageId} is ${now}`).toBe(true)
    }
    if (isSame) expect(result.skipped).toEqual([])
  }
  await history.close()
}

/** The folder as it was before the damage, for the next one. */
async function saved(): Promise<() => Promise<void>> {
  await fs.cp(work.dir, work.beside('saved'), { recursive: true })
  return async () => {
    await fs.rm(work.dir, { recursive: true })
    await fs.cp(work.beside('saved'), work.dir, { recursive: true })
  }
}

test.each(Object.keys(DAMAGES))(
  'each line of the ledger %s: never a later state, never a deletion',
  async (kind) => {
    const restore = await saved()
    const path = work.inDir('snapshots.jsonl')
    const text = readFileSync(path)
    const starts = lineStarts(text)
    expect(starts.length).toBeGreaterThan(6)
    for (const [line, from] of starts.slice(0, -1).entries()) {
      writeFileSync(path, DAMAGES[kind]?.(text, from, starts[line + 1] ?? text.length) ?? text)
      await checkAll(false)
      await restore()
    }
  },
)

test.each(Object.keys(DAMAGES))('each line of edits.jsonl %s: every snapshot stays right', async (kind) => {
  const restore = await saved()
  const path = work.inDir('edits.jsonl')
  const text = readFileSync(path)
  const starts = lineStarts(text)
  expect(starts.length).toBeGreaterThan(10)
  for (const [line, from] of starts.slice(0, -1).entries()) {
    if (line % 3 !== 0 && process.env['LOCI_LONG'] !== '1') continue
    writeFileSync(path, DAMAGES[kind]?.(text, from, starts[line + 1] ?? text.length) ?? text)
    await checkAll(false)
    await restore()
  }
})

test('each backup cut at many places, and with a byte changed: named, and the others come back', async () => {
  const restore = await saved()
  const names = (await fs.readdir(work.dir)).filter((name) => name.includes('@v'))
  expect(names.length).toBeGreaterThan(3)
  for (const name of names) {
    const bytes = readFileSync(work.inDir(name))
    const damaged = [bytes.subarray(0, 1), Buffer.from('xx')]
    for (const content of damaged) {
      await fs.rm(work.inDir(name))
      writeFileSync(work.inDir(name), content)
      expect((await verifyFileHistory(work)).map(({ kind }) => kind)).toContain('bad-backup')
      await checkAll(false)
      await restore()
    }
  }
  await checkAll(true)
})

test('a FIFO in the place of the records is named, not waited on', async () => {
  for (const name of ['edits.jsonl', 'snapshots.jsonl']) {
    await fs.rename(`${work.dir}/${name}`, `${work.dir}/${name}.aside`)
    execFileSync('mkfifo', [`${work.dir}/${name}`])
    await expect(verifyFileHistory(work)).rejects.toMatchObject({
      code: 'DISK_IO',
      details: { path: `${work.dir}/${name}` },
    })
    await fs.rename(`${work.dir}/${name}.aside`, `${work.dir}/${name}`)
  }
})
