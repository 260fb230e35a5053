import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import { openScratchpad } from '@loci/session-jsonl'
import { expect, test } from 'vitest'
import { jsonl, LONG, often, project, SID, straight } from './lines.ts'

/** Generous: each round waits for a process, or for the disk many times. */
const TIMEOUT_MS = often(600_000, 60_000)
const SCRIPT = join(import.meta.dirname, 'scratch-updates.mjs')

/** Runs a process that counts up; resolves to the numbers it acknowledged. */
async function countUp(projectDir: string, count: number, dieAt?: number): Promise<number[]> {
  const env = { ...process.env, ...(dieAt === undefined ? {} : { DIE_AT: String(dieAt) }) }
  const child = spawn(process.execPath, [SCRIPT, projectDir, SID, String(count)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const numbers: number[] = []
  for await (const line of createInterface({ input: child.stdout })) numbers.push(Number(line))
  const [code, signal] = (await closed) as [number | null, string | null]
  if (dieAt === undefined) expect([code, signal]).toEqual([0, null])
  return numbers
}

test('J10b: two processes that update one file lose nothing', { timeout: TIMEOUT_MS }, async () => {
  const made = await project(jsonl(...straight(1)))
  const count = often(500, 100)
  const [a, b] = await Promise.all([countUp(made.projectDir, count), countUp(made.projectDir, count)])
  const all = Array.from({ length: 2 * count }, (_, index) => index + 1)
  expect([...a, ...b].toSorted((x, y) => x - y)).toEqual(all)
  expect(await made.read(`p/${SID}/scratchpad/count.txt`)).toBe(String(2 * count))
  await made.remove()
})

test(
  'killed before any file operation of an update: the old bytes or the new, and the next writer goes on',
  { timeout: TIMEOUT_MS },
  async () => {
    const made = await project(jsonl(...straight(1)))
    const scratchpad = openScratchpad({ projectDir: made.projectDir, sessionId: SID })
    await scratchpad.write('count.txt', '41')
    for (let dieAt = 1; ; dieAt += often(1, 4)) {
      const acknowledged = await countUp(made.projectDir, 1, dieAt)
      const read = Number(Buffer.from((await scratchpad.read('count.txt'))?.bytes ?? []).toString())
      expect(acknowledged.length === 1 ? [42] : [41, 42]).toContain(read)
      expect((await scratchpad.list()).map(({ name }) => name)).toEqual(['count.txt'])
      // At once, though the owner of the lease died with it.
      await scratchpad.write('count.txt', '41')
      if (acknowledged.length === 1) {
        expect(dieAt).toBeGreaterThan(10)
        break
      }
    }
    await made.remove()
  },
)

test(
  'R8: whatever file operation fails, a change that resolved is there, and one that did not left the file as it was',
  { timeout: TIMEOUT_MS },
  async () => {
    const made = await project(jsonl(...straight(1)))
    const scratchpad = openScratchpad({ projectDir: made.projectDir, sessionId: SID, waitMs: 0 })
    const text = async (name: string): Promise<string | undefined> => {
      const read = await scratchpad.read(name)
      return read && Buffer.from(read.bytes).toString()
    }
    let done: string[] = []
    await faultLoop({
      faults: LONG ? ['EIO', 'ENOSPC', 'EACCES', 'short-write'] : ['EIO', 'short-write'],
      run: async () => {
        done = []
        await rm(made.path(`p/${SID}`), { recursive: true, force: true })
        await scratchpad.write('notes/a.txt', 'old')
        done.push('written')
        await scratchpad.update('notes/a.txt', () => 'new')
        done.push('updated')
        await scratchpad.list()
        await scratchpad.remove('notes/a.txt')
        done.push('removed')
      },
      verify: async (error) => {
        if (error !== undefined) expect(isLociError(error, 'DISK_IO', 'DISK_FULL')).toBe(true)
        const possible = [[undefined, 'old'], ['old', 'new'], ['new', undefined], [undefined]][done.length]
        expect(possible).toContain(await text('notes/a.txt'))
        // What failed keeps nobody out.
        await scratchpad.write('notes/a.txt', 'after')
        expect(await text('notes/a.txt')).toBe('after')
      },
    })
    await made.remove()
  },
)
