import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { files } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeSnapshot } from '@loci/disk/testing'
import { createSession, openSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commands } from '../src/commands.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

// S25: other products delete transcripts by their age when they start. Here nothing does, whatever is run and whatever
// the settings say: only the command that deletes, which names each file.

const DAY = 24 * 60 * 60 * 1000
const NOW = Date.now()
const OLD = '35000000-0000-4000-8000-000000000000'
const OPEN = '00000000-0000-4000-8000-000000000000'
/** A backup that a snapshot names. */
const BACKUP = '0123456789abcdef@v1'
/** By how old the newest entry is, in days, and how old the file says it is. */
const AGES: readonly [sessionId: string, days: number, fileDays: number][] = [
  ['02000000-0000-4000-8000-000000000000', 2, 2],
  ['20000000-0000-4000-8000-000000000000', 20, 20],
  [OLD, 35, 35],
  ['35f00000-0000-4000-8000-000000000000', 35, 0],
  ['00f00000-0000-4000-8000-000000000000', 0, 400],
]

let work: Tree
let projectDir: string
beforeEach(async () => {
  work = await tree({
    'project/': '',
    'home/loci.json': '{}',
    'home/memory/MEMORY.md': '- [A](a.md)\n',
    'home/memory/a.md': '---\nname: A\ndescription: A\ntype: user\n---\nA\n',
  })
  const projectsDir = work.path('home/projects')
  projectDir = await resolveProjectDir({ projectsDir, root: work.path('project'), create: true })
  for (const [sessionId, days, fileDays] of AGES) {
    const at = new Date(NOW - days * DAY)
    const session = await createSession({
      projectDir,
      sessionId,
      cwd: work.path('project'),
      clock: () => at,
    })
    const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'word' } })
    const content = [{ type: 'text', text: 'answer' }]
    const backup = { backupFileName: BACKUP, version: 1, backupTime: at.toISOString() }
    const snapshot = { messageId: uuid, trackedFileBackups: { 'a.txt': backup }, timestamp: at.toISOString() }
    await session.record({
      type: 'file-history-snapshot',
      messageId: uuid,
      snapshot,
      isSnapshotUpdate: false,
    })
    await session.append({ type: 'assistant', message: { role: 'assistant', content } })
    await session.close()
    await writeSide(`${sessionId}.side`, sessionId)
    const when = new Date(NOW - fileDays * DAY)
    for (const name of [`${sessionId}.jsonl`, join(sessionId, 'tool-results', 't.txt')])
      await utimes(join(projectDir, name), when, when)
  }
})
afterEach(() => work.remove())

async function writeSide(text: string, sessionId: string): Promise<void> {
  await files.mkdir(join(projectDir, sessionId, 'tool-results'))
  await writeFile(join(projectDir, sessionId, 'tool-results', 't.txt'), text)
  await files.mkdir(work.path(`home/file-history/${sessionId}`))
  await writeFile(work.path(`home/file-history/${sessionId}/${BACKUP}`), 'before')
}

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, ...argv)

/** Files that were there before and are not, or say less: transcripts and backups, side files and memory. */
function lost(before: TreeSnapshot, after: TreeSnapshot): string[] {
  return Object.entries(before).flatMap(([name, file]) => {
    if (name.includes('.lock.')) return []
    const now = after[name]
    const grown = now !== undefined && 'text' in now && 'text' in file && now.text.startsWith(file.text)
    return grown || JSON.stringify(now) === JSON.stringify(file) ? [] : [name]
  })
}

const settings: [name: string, text: string | undefined][] = [
  ['absent', undefined],
  ['0', '{"cleanupPeriodDays":0}'],
  ['-1', '{"cleanupPeriodDays":-1}'],
  ['"abc"', '{"cleanupPeriodDays":"abc"}'],
  ['1', '{"cleanupPeriodDays":1}'],
  ['huge', '{"cleanupPeriodDays":1e308}'],
  ['null', '{"cleanupPeriodDays":null}'],
]

/** Arguments for each command of the table but the one that deletes a session. */
function argumentsFor(name: string): string[] {
  const some = OLD
  const values: Record<string, string> = { SID: some, ID: 'none', QUERY: 'word', TITLE: 'Title', TAG: 'tag' }
  const parameters = commands[name]?.parameters ?? []
  return parameters.map((parameter) => values[parameter.replace(/[[\].]/g, '')] ?? 'none')
}

describe('S25: nothing is deleted by age', () => {
  test('S25: no command of the table but the one that is there for it, though the settings ask for it', async () => {
    await writeFile(work.path('home/settings.json'), '{"cleanupPeriodDays":1}')
    const before = await work.snapshot()
    const others = Object.keys(commands).filter((name) => name !== 'sessions delete')
    expect(others).toEqual(
      expect.arrayContaining(['sessions list', 'sessions import', 'history gc', 'sessions verify']),
    )
    for (const name of others) {
      await run(...name.split(' '), ...argumentsFor(name))
      expect([name, lost(before, await work.snapshot())]).toEqual([name, []])
    }
  })

  test.each(settings)(
    'S25: with cleanupPeriodDays %s: no start of a session, old ones, odd times and an open one or not',
    async (_name, text) => {
      if (text !== undefined) await writeFile(work.path('home/settings.json'), text)
      const open = await openSession({ projectDir, sessionId: AGES[1]?.[0] ?? '' })
      const before = await work.snapshot()
      // A session of its own, one that goes on, and one that is chosen.
      await run('--offline', '-p', 'hello', '--session-id', OPEN)
      await run('--offline', '--continue', '-p', 'on')
      await run('--offline', '--resume', AGES[0]?.[0] ?? '', '-p', 'on')
      const after = await work.snapshot()
      expect(lost(before, after)).toEqual([])
      expect(Object.keys(after).some((file) => file.endsWith(`${OPEN}.jsonl`))).toBe(true)
      await open.append({ type: 'user', message: { role: 'user', content: 'still here' } })
      await open.close()
      const { json } = await run('sessions', 'list', '--json')
      const listed = (json() as { sessionId: string }[]).map(({ sessionId }) => sessionId)
      expect(listed).toEqual(expect.arrayContaining(AGES.map(([sessionId]) => sessionId)))
    },
  )

  test('S25: only the command that deletes does, that session alone, and it names each file', async () => {
    const before = await work.snapshot()
    const gone = OLD
    const { json } = await run('sessions', 'delete', gone, '--json')
    const { removed } = json() as { removed: string[] }
    const after = await work.snapshot()
    const missing = lost(before, after)
    expect(removed.toSorted()).toEqual(missing.map((name) => work.path(name)).toSorted())
    expect(missing.every((name) => name.includes(gone))).toBe(true)
    expect(Object.keys(after).filter((name) => name.includes(gone) && !name.includes('.lock.'))).toEqual([])
    for (const [sessionId] of AGES) {
      if (sessionId === gone) continue
      await (await openSession({ projectDir, sessionId })).close()
    }
  })
})
