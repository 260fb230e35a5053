import { execFile } from 'node:child_process'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { jsonl, project, SID, user } from './lines.ts'
import { hasRoom, writeMostlyDead } from './mostly-dead.ts'

const SCRIPT = join(import.meta.dirname, 'use-large.mjs')
const MIB = 1024 * 1024
const GIB = 1024 * MIB
const MINUTES = 60_000

/** Uses the session in a process with a heap of that size at most; gives what it saw, and prints what it took. */
async function use(
  made: { root: string; projectDir: string },
  how: { heapMiB: number; asks: readonly string[]; mode?: 'read' },
): Promise<unknown> {
  const { heapMiB, asks, mode } = how
  const work = { projectsDir: made.root, projectDir: made.projectDir, sessionId: SID, asks, mode }
  const args = [`--max-old-space-size=${heapMiB}`, SCRIPT, JSON.stringify(work)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { seen, took, peakMiB }: { seen: unknown; took: unknown; peakMiB: number } = JSON.parse(stdout)
  console.log(`${expect.getState().currentTestName}: ${peakMiB} MiB at most; ms: ${JSON.stringify(took)}`)
  return seen
}

describe('R5: large transcripts in bounded memory', () => {
  test.skipIf(!hasRoom(2 * GIB))(
    '2 GB, mostly closed by a compaction, and a line of 64 MB, with a heap of 512 MB (needs room for 4 GB)',
    async () => {
      const made = await project(undefined)
      const how = { deadBytes: 2 * GIB - 64 * MIB, liveBytes: 16 * MIB, lineBytes: 8_000 }
      const living = await writeMostlyDead(made.file, how)
      const tip = `l${living - 3}`
      await appendFile(made.file, jsonl(user('long', tip, 'y'.repeat(64 * MIB))))
      const asks = ['chain', 'append', 'again', 'list']
      expect(await use(made, { heapMiB: 512, asks })).toEqual({
        tip: 'long',
        chain: living + 1,
        append: true,
        again: living + 2,
        list: ['the first prompt'],
      })
      await made.remove()
    },
    20 * MINUTES,
  )

  test.skipIf(!hasRoom(500 * MIB))(
    '500 MB of which nine tenths are dead: its chain with a heap of 1 GB (needs room for 1 GB)',
    async () => {
      const made = await project(undefined)
      const how = { deadBytes: 450 * MIB, liveBytes: 50 * MIB, lineBytes: 4_000 }
      const living = await writeMostlyDead(made.file, how)
      const asks = ['chain', 'conversation']
      expect(await use(made, { heapMiB: 1024, asks, mode: 'read' })).toMatchObject({ chain: living })
      expect(await use(made, { heapMiB: 1024, asks: ['tips'], mode: 'read' })).toMatchObject({ tips: 2 })
      await made.remove()
    },
    20 * MINUTES,
  )

  test.skipIf(!hasRoom(600 * MIB))(
    '600 MB that all live: what would be sent, with a heap of 2 GB (needs room for 1.2 GB)',
    async () => {
      const made = await project(undefined)
      const living = await writeMostlyDead(made.file, {
        deadBytes: 1,
        liveBytes: 600 * MIB,
        lineBytes: 20_000,
      })
      // The boundary says nothing; the rest alternates.
      expect(await use(made, { heapMiB: 2048, asks: ['conversation'], mode: 'read' })).toMatchObject({
        conversation: living - 1,
      })
      await made.remove()
    },
    20 * MINUTES,
  )
})
