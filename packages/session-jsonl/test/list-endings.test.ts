import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { listSessions, openSession } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { jsonl, SID, straight, user } from './lines.ts'
import type { Line } from './lines.ts'

let made: Tree
let projectsDir: string
beforeEach(async () => {
  made = await tree({ 'projects/': '' })
  projectsDir = made.path('projects')
})
afterEach(() => made.remove())

async function plant(bytes: string): Promise<string> {
  const path = join(projectsDir, 'p', `${SID}.jsonl`)
  await mkdir(join(projectsDir, 'p'), { recursive: true })
  await writeFile(path, bytes)
  return path
}

describe('S03: where the end of a file tells nothing, the list still says what the session does', () => {
  const KB = 1_000
  const torn = (fields: Line): string =>
    JSON.stringify(
      user('m9', 'm4', 'x'.repeat(140 * KB), { timestamp: '2027-01-01T00:00:00.000Z', ...fields }),
    )
  const timeFirst = (bytes: number): string => {
    const { message, ...fields } = user('m9', 'm4', 'x'.repeat(bytes), {
      timestamp: '2027-01-01T00:00:00.000Z',
    })
    return jsonl({ ...fields, message })
  }
  const timeLast = (bytes: number): string => {
    const { uuid, timestamp, ...fields } = user('m9', 'm4', 'x'.repeat(bytes))
    return jsonl({ ...fields, uuid, timestamp })
  }
  const endings: [name: string, ending: string][] = [
    ['zeros', '\0'.repeat(140 * KB)],
    ['zeros, many', '\0'.repeat(900 * KB)],
    ['zeros with an end of line', `${'\0'.repeat(140 * KB)}\n`],
    ['blank lines', '\n'.repeat(140 * KB)],
    ['blanks', ' '.repeat(140 * KB)],
    ['garbage', '}{"[x,:\\'.repeat(20 * KB)],
    ['lines of garbage', 'not json, "in any way"}\n'.repeat(6 * KB)],
    ['an entry that was written in part', torn({}).slice(0, -20)],
    ['an entry that was written up to its last brace', torn({}).slice(0, -1)],
    [
      'a small entry that was written in part',
      `{"type":"user","uuid":"m9","timestamp":"2027-01-01T00:00:00.000Z","message":{"role`,
    ],
    ['a large entry that says its time first', timeFirst(140 * KB)],
    ['one larger still', timeFirst(900 * KB)],
    ['a large entry that was not ended', timeFirst(140 * KB).trimEnd()],
    ['a large entry that says its time last', timeLast(2_000 * KB)],
    [
      'a large record of another kind',
      jsonl({ type: 'x-note', pad: 'x'.repeat(140 * KB), timestamp: '2027-01-01T00:00:00.000Z' }),
    ],
    ['many records of other kinds', jsonl({ type: 'mode', mode: 'plan', sessionId: SID }).repeat(2 * KB)],
    ['a large entry of a subagent', jsonl(user('s1', null, 'x'.repeat(140 * KB), { isSidechain: true }))],
  ]
  const said = straight(4).map((line) => ({ ...line, cwd: '/w/p' }))

  test.each(endings)('%s', async (_name, ending) => {
    for (const beginning of ['', jsonl({ type: 'x-note', pad: 'y'.repeat(140 * KB) })]) {
      const path = await plant(beginning + jsonl(...said) + ending)
      // No file time to fall back to.
      await utimes(path, 1, 1)
      const session = await openSession({ projectDir: join(projectsDir, 'p'), sessionId: SID, mode: 'read' })
      const newest = (await session.chain()).at(-1)
      await session.close()
      const [info] = await listSessions({ projectsDir })
      expect(info).toMatchObject({ firstPrompt: 'say m1', cwd: '/w/p' })
      expect(info?.lastActivityMs).toBe(Date.parse(String(newest?.['timestamp'])))
    }
  })

  test('to 1 MiB; then the time of the file counts', async () => {
    const path = await plant(jsonl(...said) + '\0'.repeat(1024 * 1024))
    await utimes(path, 1_800_000_000, 1_800_000_000)
    expect(await listSessions({ projectsDir })).toMatchObject([
      { lastActivityMs: 1_800_000_000_000, damaged: true },
    ])
  })
})

test.each([
  [
    'no line is damaged that a longer look cuts too',
    jsonl({ type: 'x-note', pad: 'x'.repeat(1_200_000) }),
    false,
  ],
  ['a line is damaged that only a longer look holds whole', `${'x'.repeat(100_000)}\n`, true],
])('%s', async (_name, long, damaged) => {
  const blanks = '\n'.repeat(100_000)
  await plant(damaged ? long + jsonl(...straight(2)) + blanks : jsonl(...straight(2)) + long + blanks)
  expect(await listSessions({ projectsDir })).toMatchObject([{ firstPrompt: 'say m1', damaged }])
})

test('what cannot hold a record is not parsed to see that', async () => {
  await plant(
    jsonl(...straight(2)) +
      '{not json, "in any way"}\n'.repeat(6_000) +
      '{}'.repeat(6_000) +
      '\n'.repeat(140_000),
  )
  const parsed = vi.spyOn(JSON, 'parse')
  const [info] = await listSessions({ projectsDir })
  expect(parsed.mock.calls.length).toBeLessThan(20)
  parsed.mockRestore()
  expect(info).toMatchObject({ firstPrompt: 'say m1', lastPrompt: 'say m1' })
})

test('a title that was written behind the stub of a long entry is one', async () => {
  const stub = JSON.stringify(user('m3', 'm2', 'x'.repeat(2_000))).slice(0, -30)
  const title = { type: 'custom-title', customTitle: 'T', sessionId: SID }
  await plant(jsonl(...straight(2)) + stub + jsonl(title))
  expect(await listSessions({ projectsDir })).toMatchObject([{ customTitle: 'T' }])
})

test.each([
  ['of many bytes each character', '漢字 '.repeat(2_000), `${'漢字 '.repeat(100).slice(0, 200).trimEnd()}…`],
  [
    'that begins with many blanks',
    `${'\n '.repeat(900)}then ${'more '.repeat(500)}`,
    `then ${'more '.repeat(39).trimEnd()}…`,
  ],
  [
    'in which an editor says much',
    `said <ide_selection>${'not this '.repeat(400)}</ide_selection> and more`,
    'said  and more',
  ],
])('of a long prompt %s a list shows as much as of any other', async (_name, content, shown) => {
  await plant(jsonl(user('m1', null, content)))
  expect(await listSessions({ projectsDir })).toMatchObject([{ firstPrompt: shown, lastPrompt: shown }])
})
