import * as fs from 'node:fs/promises'
import { appendRecords, appendRecordsNow, files, filesNow, OPEN_APPEND } from '@loci/disk'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ empty: '', whole: 'one\n', torn: 'one\n{"tw' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

async function append(name: string, ...records: string[]): Promise<void> {
  const file = await files.open(work.path(name), 'a+')
  try {
    for (const record of records) await appendRecords(file, Buffer.from(record))
  } finally {
    await file.close()
  }
}

test.each([
  ['empty', 'new\n'],
  ['whole', 'one\nnew\n'],
  ['torn', 'one\n{"tw\nnew\n'],
  ['absent', 'new\n'],
])('a record appended to the %s file stands on a line of its own', async (name, expected) => {
  await append(name, 'new\n')
  expect(await work.read(name)).toBe(expected)
})

test('one call is one write, newline before a torn line included', async () => {
  const writes: string[] = []
  setFaultHook((operation) => {
    if (operation === 'write') writes.push(operation)
    return undefined
  })
  await append('torn', 'a\nb\n')
  expect(writes).toHaveLength(1)
})

test('nothing to append writes nothing, not even the missing newline', async () => {
  await append('torn', '')
  expect(await work.read('torn')).toBe('one\n{"tw')
})

test('several writers never tear or mix records', async () => {
  const writers = Array.from({ length: 8 }, (_, writer) =>
    append('whole', ...Array.from({ length: 25 }, (__, n) => `${String(writer).repeat(5000)}-${n}\n`)),
  )
  await Promise.all(writers)
  // A writer that looks while another is in the middle of its write sees a torn end and fences it: a blank line.
  const lines = (await work.read('whole')).split('\n').filter((line) => line !== '')
  expect(lines).toHaveLength(1 + 8 * 25)
  expect(lines.slice(1).every((line) => /^(\d)\1{4999}-\d+$/.test(line))).toBe(true)
})

test('whatever fails, records that were acknowledged are there, each on its own line', async () => {
  let acknowledged: string[] = []
  const tripped = await faultLoop({
    run: async () => {
      await work.remove()
      work = await tree({ log: 'one\n{"tw' })
      acknowledged = []
      const file = await files.open(work.path('log'), 'a+')
      const failures: unknown[] = []
      for (const record of ['aaaa', 'bbbb', 'cccc']) {
        await appendRecords(file, Buffer.from(`${record}\n`)).then(
          () => acknowledged.push(record),
          (error: unknown) => failures.push(error),
        )
      }
      await file.close()
      if (failures.length > 0) throw failures[0]
    },
    verify: async () => {
      const lines = (await work.read('log')).split('\n')
      expect(lines).toEqual(expect.arrayContaining(['one', ...acknowledged]))
    },
  })
  expect(tripped).toBeGreaterThan(20)
})

test('without waiting: at the end, a torn line is fenced off, and nothing is made', async () => {
  const path = work.path('now.jsonl')
  const addNow = (text: string): void =>
    filesNow.look(path, OPEN_APPEND, (file) => appendRecordsNow(file, Buffer.from(text)))
  expect(() => addNow('a\n')).toThrow('ENOENT')
  await fs.writeFile(path, '')
  addNow('a\n')
  addNow('')
  addNow('b\n')
  await fs.appendFile(path, 'torn')
  addNow('c\n')
  expect(await fs.readFile(path, 'utf8')).toBe('a\nb\ntorn\nc\n')
})
