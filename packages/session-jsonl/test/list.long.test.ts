import { appendFile, mkdir, truncate, writeFile } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { listSessions } from '@loci/session-jsonl'
import { setFaultHook, tree } from '@loci/disk/testing'
import { afterEach, expect, test } from 'vitest'
import { assistant, jsonl, straight, text, user } from './lines.ts'

afterEach(() => setFaultHook(undefined))

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

test('S14: 5,000 sessions, one of 300 MB and one with 400 subagents: one file open at a time, memory flat', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const made = await tree({ 'f/': '' })
  const bytes = jsonl(
    ...straight(2),
    user('m3', 'm2', 'long '.repeat(4_000)),
    assistant('m4', 'm3', [text('ok')]),
  )
  expect(bytes.length).toBeGreaterThan(20_000)
  for (let n = 0; n < 5_000; n += 1) await writeFile(made.path(`f/${id(n)}.jsonl`), bytes)
  const huge = made.path(`f/${id(5_000)}.jsonl`)
  await writeFile(huge, jsonl(user('m1', null, 'first')))
  await truncate(huge, 300_000_000)
  await appendFile(
    huge,
    `\n${jsonl(assistant('m9', 'm1', [text('last')], { timestamp: '2026-09-01T00:00:00.000Z' }))}`,
  )
  await mkdir(made.path(`f/${id(0)}/subagents`), { recursive: true })
  for (let n = 0; n < 400; n += 1) await writeFile(made.path(`f/${id(0)}/subagents/agent-${n}.jsonl`), bytes)

  let [open, most, opened] = [0, 0, 0]
  setFaultHook((operation) => {
    if (operation === 'open') {
      opened += 1
      most = Math.max(most, (open += 1))
    }
    if (operation === 'close') open -= 1
    return undefined
  })
  collect()
  const before = process.memoryUsage()
  const list = await listSessions({ projectsDir: made.root })
  collect()
  const after = process.memoryUsage()
  expect(list).toHaveLength(5_001)
  expect(list[0]).toMatchObject({ sessionId: id(5_000), firstPrompt: 'first' })
  expect([opened, most, open]).toEqual([5_001, 1, 0])
  // What is shown of a session, and nothing of the 100 MB that were read.
  expect((after.heapUsed - before.heapUsed) / list.length).toBeLessThan(4_000)
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(1_000_000)
  await made.remove()
}, 120_000)
