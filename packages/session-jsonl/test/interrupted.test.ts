import { truncate, writeFile } from 'node:fs/promises'
import { openSession } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { assertAccepted } from './accepted.ts'
import { assistant, call, jsonl, LONG_ENOUGH, often, project, result, SID, text, user } from './lines.ts'
import { healthyTranscript } from './random-transcript.ts'

test(
  'R6: a transcript cut at any byte opens, and the Messages API accepts what is sent, also once a prompt was appended',
  async () => {
    const made = await project('')
    const where = { projectDir: made.projectDir, sessionId: SID }
    await fc.assert(
      fc.asyncProperty(healthyTranscript(), fc.nat(), async ({ lines }, cut) => {
        const bytes = Buffer.from(jsonl(...lines))
        await writeFile(made.file, bytes.subarray(0, cut % (bytes.length + 1)))
        const session = await openSession(where)
        assertAccepted(await session.conversation())
        await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
        const sent = await session.conversation()
        assertAccepted(sent)
        expect(JSON.stringify(sent.at(-1))).toContain('on')
        await session.close()
      }),
      { numRuns: often(1_000, 25) },
    )
    await made.remove()
  },
  LONG_ENOUGH,
)

test(
  'R6: in the middle of a turn with several calls, cut at each byte: calls without a result are closed, once each',
  async () => {
    const turn = [
      user('m1', null, 'go'),
      assistant('m2', 'm1', [text('first')], { id: 'x' }),
      assistant('m3', 'm2', [call('t1')], { id: 'x' }),
      assistant('m4', 'm3', [call('t2')], { id: 'x' }),
      user('m5', 'm3', [result('t1')], { sourceToolAssistantUUID: 'm3' }),
      user('m6', 'm4', [result('t2')], { sourceToolAssistantUUID: 'm4' }),
      assistant('m7', 'm6', [text('done')], { id: 'y' }),
    ]
    const bytes = jsonl(...turn)
    const made = await project(bytes)
    for (let size = bytes.length; size > 0; size -= often(1, 29)) {
      await truncate(made.file, size)
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      const sent = await session.conversation()
      assertAccepted(sent)
      const whole = bytes.slice(0, size).split('\n').slice(0, -1).length
      const calls = JSON.stringify(sent).split('"tool_use"').length - 1
      const written = [...bytes.slice(0, size).matchAll(/"type":"tool_use"[^\n]*\n/g)].length
      expect(calls).toBeGreaterThanOrEqual(written)
      expect(await session.chain()).toHaveLength(
        // A line that lacks but its newline counts.
        bytes[size] === '\n' ? whole + 1 : whole,
      )
      await session.close()
    }
    await made.remove()
  },
  LONG_ENOUGH,
)
