import { readFile } from 'node:fs/promises'
import { openSession, readTranscript, verifySession } from '@loci/session-jsonl'
import type { TranscriptItem } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { assertAccepted } from './accepted.ts'
import { damaged } from './damaged-transcript.ts'
import { LONG_ENOUGH, often, project, SID } from './lines.ts'
import { healthyTranscript } from './random-transcript.ts'

test(
  'whatever is wrong with a transcript: all that is a record is read, and every answer is given',
  async () => {
    await fc.assert(
      fc.asyncProperty(damaged(healthyTranscript()), async ({ bytes }) => {
        const made = await project(bytes)
        try {
          const items: TranscriptItem[] = []
          for await (const item of readTranscript(made.file)) items.push(item)
          const read = items.flatMap(({ record }) => (record ? [record] : []))
          const found = new Set(read.map((record) => JSON.stringify(record)))
          for (const line of plainRecords(bytes)) expect(found).toContain(line)
          const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
          const names = new Set<string>()
          for (const { uuid } of [{ uuid: session.tip }, ...(await session.tips())]) {
            if (uuid === null) continue
            const chain = await session.chain(uuid)
            expect(new Set(chain).size).toBe(chain.length)
            expect(chain.map((entry) => entry.uuid)).toContain(uuid)
            for (const entry of chain) names.add(entry.uuid)
            assertAccepted(await session.conversation({ tip: uuid }))
          }
          for (const name of names) expect((await session.entry(name))?.uuid).toBe(name)
          expect(await verifySession(made.file)).toEqual(await session.damage())
          await session.close()
          expect(Buffer.compare(await readFile(made.file), bytes)).toBe(0)
        } finally {
          await made.remove()
        }
      }),
      { numRuns: often(1_500, 40) },
    )
  },
  LONG_ENOUGH,
)

/** What a plain reader finds: the lines that are JSON objects with a type. */
function plainRecords(bytes: Uint8Array): Set<string> {
  const found = new Set<string>()
  for (const line of Buffer.from(bytes).toString().split('\n')) {
    try {
      const value: unknown = JSON.parse(line.trim())
      const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
      if (typeof type === 'string' && type !== '' && !Array.isArray(value)) found.add(JSON.stringify(value))
    } catch {
      // Not a record by itself.
    }
  }
  return found
}
