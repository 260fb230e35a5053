import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { forkSession, openSession, verifySession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
import { jsonl, project, SID, straight } from './lines.ts'

const SCRIPT = join(import.meta.dirname, 'write-entries.mjs')

/** Runs the writing process; resolves to the uuids it acknowledged, having killed it after the first `killAfter`. */
async function write(
  args: readonly string[],
  killAfter = Number.POSITIVE_INFINITY,
): Promise<{ uuids: string[]; failed: string }> {
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const uuids: string[] = []
  let failed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (failed += text))
  const closed = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    uuids.push(line)
    if (uuids.length === killAfter) child.kill('SIGKILL')
  }
  await closed
  return { uuids, failed }
}

describe('R1: killed while appending', () => {
  test.each([1, 2, 7, 40])(
    'after %i entries: all that was acknowledged is there, at most one stub is reported',
    async (killAfter) => {
      const made = await project(undefined)
      const { uuids } = await write([made.projectDir, SID, 'create', '1000000', '3000'], killAfter)
      expect(uuids.length).toBeGreaterThanOrEqual(killAfter)
      const damage = await verifySession(made.file)
      expect(damage.length).toBeLessThanOrEqual(1)

      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      const chain = (await session.chain()).map(({ uuid }) => uuid)
      // The one being written when it died may be there whole, unacknowledged.
      expect(chain.slice(0, uuids.length)).toEqual(uuids)
      expect(chain.length).toBeLessThanOrEqual(uuids.length + 1)
      const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
      expect((await session.chain()).map((entry) => entry.uuid)).toEqual([...chain, uuid])
      await session.close()
      await made.remove()
    },
  )

  test.each([
    [1, 1],
    [3, 250],
    [2, 3_100],
  ])(
    'in the middle of write %i, after %i bytes of it: what came before is there, the stub is reported',
    async (nth, bytes) => {
      const made = await project(undefined)
      const { uuids } = await write([
        made.projectDir,
        SID,
        'create',
        '10',
        '3000',
        String(nth),
        String(bytes),
      ])
      expect(uuids).toHaveLength(nth - 1)
      expect(await verifySession(made.file)).toMatchObject([{ kind: 'torn-line', line: nth }])
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
      expect((await session.chain()).map((entry) => entry.uuid)).toEqual([...uuids, uuid])
      expect(await session.damage()).toHaveLength(1)
      await session.close()
      await made.remove()
    },
  )

  test('cut anywhere in its last line: the rest loads, the next append begins its own line', async () => {
    const lines = straight(4)
    const whole = jsonl(...lines)
    const before = jsonl(...lines.slice(0, 3)).length
    const made = await project(whole)
    for (let size = whole.length - 1; size >= before; size -= 3) {
      await truncate(made.file, 0)
      await appendFile(made.file, whole.slice(0, size))
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      const complete = size === whole.length - 1
      expect(session.tip).toBe(complete ? 'm4' : 'm3')
      await session.append({ type: 'user', uuid: 'next', message: { role: 'user', content: 'on' } })
      expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(
        complete ? ['m1', 'm2', 'm3', 'm4', 'next'] : ['m1', 'm2', 'm3', 'next'],
      )
      const damage = await session.damage()
      expect(damage.map(({ kind, offset }) => [kind, offset])).toEqual(
        complete || size === before ? [] : [['torn-line', before]],
      )
      await session.close()
      expect((await readFile(made.file, 'utf8')).startsWith(whole.slice(0, size))).toBe(true)
    }
    await made.remove()
  })
})

describe('two processes on one session', () => {
  test('R2, R3: the second is told who has it; when that one is dead, it takes over at once', async () => {
    const made = await project(undefined)
    const child = spawn(process.execPath, [SCRIPT, made.projectDir, SID, 'create'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const closed = once(child, 'close')
    const uuids: string[] = []
    let refused: unknown
    for await (const line of createInterface({ input: child.stdout })) {
      uuids.push(line)
      if (uuids.length !== 3) continue
      refused = await openSession({ projectDir: made.projectDir, sessionId: SID }).catch(
        (error: unknown) => error,
      )
      // Reading and forking go on meanwhile.
      const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID, upTo: uuids[1] ?? '' })
      expect(await verifySession(fork.path)).toEqual([])
      child.kill('SIGKILL')
    }
    await closed
    expect(refused).toMatchObject({ code: 'SESSION_LOCKED', details: { pid: child.pid, decidable: true } })
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    expect((await session.chain()).slice(0, uuids.length).map(({ uuid }) => uuid)).toEqual(uuids)
    await session.close()
    await made.remove()
  })

  test('R2: of many that open it at once one writes at a time, and every acknowledged line is there', async () => {
    const made = await project(jsonl(...straight(1)))
    const runs = await Promise.all(
      Array.from({ length: 4 }, () => write([made.projectDir, SID, 'open', '5', '600000'])),
    )
    const wrote = runs.filter(({ uuids }) => uuids.length > 0)
    expect(wrote.length).toBeGreaterThanOrEqual(1)
    for (const { uuids, failed } of runs) {
      if (uuids.length === 0) expect(failed).toContain('SESSION_LOCKED')
      else expect(uuids).toHaveLength(5)
    }
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    const chain = (await session.chain()).map(({ uuid }) => uuid)
    expect(chain.toSorted()).toEqual(['m1', ...wrote.flatMap(({ uuids }) => uuids)].toSorted())
    expect(await session.damage()).toEqual([])
    await session.close()
    await made.remove()
  })
})
