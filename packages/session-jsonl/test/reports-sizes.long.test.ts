import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { listSessions, openSession, verifySession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
import { writeLargeSession } from './large-file.ts'
import { jsonl, project, SID, straight } from './lines.ts'

const SCRIPT = join(import.meta.dirname, 'large-session.mjs')
const MINUTES = 60_000

describe('S13: files that are larger than memory or than a string', () => {
  /** What would be sent is asked for up to the first result: nobody sends hundreds of megabytes. */
  const use = async (made: { root: string; projectDir: string }): Promise<unknown> => {
    const args = ['--max-old-space-size=1024', SCRIPT, made.root, made.projectDir, SID, 't0r']
    const { stdout } = await promisify(execFile)(process.execPath, args)
    return JSON.parse(stdout)
  }

  test(
    'S13: 600 MB in results of 300 kB and a small tail: listed, loaded, gone on with and forked with 1 GB of heap',
    async () => {
      const made = await project(undefined)
      await writeLargeSession(made.file, 2_000, 300_000)
      expect(await use(made)).toEqual({
        firstPrompt: 'prompt 0',
        tips: 1,
        length: 6_005,
        sent: 3,
        forked: 6_005,
        isLast: true,
        damage: [],
      })
      await made.remove()
    },
    10 * MINUTES,
  )

  test(
    'S13: a single line of 80 MB: the same',
    async () => {
      const made = await project(undefined)
      await writeLargeSession(made.file, 1, 80_000_000)
      expect(await use(made)).toMatchObject({ length: 8, forked: 8, isLast: true, damage: [] })
      await made.remove()
    },
    10 * MINUTES,
  )

  test(
    'a line that no string could hold is reported where it is, and everything else loads',
    async () => {
      const made = await project(undefined)
      const out = createWriteStream(made.file)
      const [first, second] = straight(2)
      out.write(`${jsonl(first ?? {})}{"type":"x-note","pad":"`)
      const piece = 'x'.repeat(1024 * 1024)
      for (let n = 0; n < 600; n += 1) if (!out.write(piece)) await once(out, 'drain')
      out.end(`"}\n${jsonl(second ?? {})}`)
      await once(out, 'close')
      const offset = jsonl(first ?? {}).length
      expect(await verifySession(made.file)).toMatchObject([{ kind: 'line-too-long', line: 2, offset }])
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
      expect(await session.chain()).toHaveLength(2)
      await session.close()
      await made.remove()
    },
    10 * MINUTES,
  )
})

test('S03: list and load agree on the newest turn where zeros fill the window that the list reads', async () => {
  const lines = straight(20)
  const made = await project(jsonl(...lines) + '\0'.repeat(140_000))
  const [info] = await listSessions({ projectsDir: made.root })
  expect(info?.lastActivityMs).toBe(Date.parse(String(lines[19]?.['timestamp'])))
  await made.remove()
})
