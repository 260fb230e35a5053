import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileSessionStore } from '@loci/session-jsonl'
import type { SessionStoreEntry } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import { expect, test } from 'vitest'
import { jsonl, LONG, SID } from './lines.ts'

const SCRIPT = join(import.meta.dirname, 'append-to-store.mjs')
const KEY = { projectKey: 'p', sessionId: SID }

/** Three batches, each with records that have no uuid. */
const BATCHES: SessionStoreEntry[][] = [0, 1, 2].map((n) => [
  { type: 'user', uuid: `a${n}`, text: 'x'.repeat(100) },
  { type: 'mode', mode: 'default' },
  { type: 'mode', mode: 'default' },
  { type: 'user', uuid: `b${n}`, text: 'y'.repeat(200) },
  { type: 'mode', mode: 'default' },
])

/** Runs the appending process until it kills itself; resolves to how many batches it acknowledged. */
async function append(projectsDir: string, killInWrite: number, killAfterBytes: number): Promise<number> {
  const args = [
    projectsDir,
    KEY.projectKey,
    SID,
    JSON.stringify(BATCHES),
    `${killInWrite}`,
    `${killAfterBytes}`,
  ]
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const [, signal] = (await once(child, 'close')) as [unknown, string]
  expect(signal).toBe('SIGKILL')
  return printed.split('\n').length - 1
}

const size = jsonl(...(BATCHES[0] ?? [])).length
const firstLine = jsonl(...(BATCHES[0]?.slice(0, 1) ?? [])).length
const cuts = [1, firstLine - 1, firstLine, firstLine + 28, firstLine + 30, size - 40, size - 1]

test.each(
  [1, 2, 3].flatMap((nth) => (LONG || nth === 2 ? cuts : cuts.slice(2, 4)).map((bytes) => [nth, bytes])),
)(
  'R1: killed in write %i after %i bytes of it: what was acknowledged is there, and with the same call again everything, once',
  async (nth, bytes) => {
    const made = await tree()
    const acknowledged = await append(made.root, nth, bytes)
    expect(acknowledged).toBe(nth - 1)
    const store = fileSessionStore({ projectsDir: made.root })
    const before = BATCHES.slice(0, acknowledged).flat()
    const held = (await store.load(KEY)) ?? []
    expect(held).toEqual([...before, ...(BATCHES[acknowledged] ?? [])].slice(0, held.length))
    expect(held.length).toBeGreaterThanOrEqual(before.length)
    // The lease of the dead process is no hindrance.
    for (const batch of BATCHES.slice(acknowledged)) await store.append(KEY, batch)
    expect(await store.load(KEY)).toEqual(BATCHES.flat())
    expect(await store.listSessions('p')).toMatchObject([{ sessionId: SID }])
    await made.remove()
  },
)
