import { execFileSync } from 'node:child_process'
import { appendFile, chmod, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acquireLease } from '@loci/disk'
import { setFaultHook, tree } from '@loci/disk/testing'
import { makeCheckpoint } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SESSION, doctorRoom, tear } from './doctor-room.ts'
import type { DoctorRoom } from './doctor-room.ts'
import { loci } from './run.ts'

let room: DoctorRoom
beforeEach(async () => {
  room = await doctorRoom()
})
afterEach(async () => {
  setFaultHook(undefined)
  await room.work.remove()
})

/** The kinds of all hints, where there is no damage and the exit code says so. */
async function hints(...argv: string[]): Promise<string[]> {
  const { code, findings } = await room.examine(...argv)
  expect(code, JSON.stringify(findings)).toBe(0)
  for (const { severity } of findings) expect(severity).toBe('hint')
  return findings.map(({ kind }) => kind)
}

/** The record of a lease whose owner has ended. */
async function endedOwner(): Promise<string> {
  const lease = await acquireLease(room.work.path('any'))
  const record = await readFile(room.work.path('.any.lock.1'), 'utf8')
  await lease.release()
  return record.replace(/"pid":\d+/, '"pid":4194304').replace(/"thread":"[^"]*"/, '"thread":null')
}

test('a home in order: nothing found, what was checked and what it takes, nothing written', async () => {
  const writes: string[] = []
  const reads = new Set([
    'access',
    'close',
    'fstat',
    'lstat',
    'open',
    'read',
    'readdir',
    'readlink',
    'realpath',
    'stat',
    'statfs',
  ])
  const before = await room.work.snapshot()
  setFaultHook((operation, path) => {
    if (!reads.has(operation)) writes.push(`${operation} ${path}`)
    return undefined
  })
  for (const argv of [[], ['--all']]) {
    const { code, findings, versions, usage, checked, home } = await room.examine(...argv)
    expect({ code, findings }).toEqual({ code: 0, findings: [] })
    expect(checked).toEqual({ sessions: 1, histories: 1, memories: 2 })
    expect(home).toEqual({ dir: room.work.path('home'), kind: 'ours', writable: true })
    expect(versions).toMatchObject({ loci: expect.any(String), node: process.versions.node })
    expect(usage.transcripts).toEqual({ files: 1, sizeBytes: (await readFile(room.transcript)).length })
    expect(usage.memories.files).toBe(4)
    expect(usage.backups.files).toBeGreaterThan(2)
    expect(usage.sideFiles.files).toBe(1)
  }
  expect(writes).toEqual([])
  expect(await room.work.snapshot()).toEqual(before)
  const { out } = await room.run('doctor')
  expect(out).toContain('all in order')
  expect(out).toMatch(/^ {2}transcripts {7}1 +\d+\.\d KB$/m)
  for (const line of out.split('\n')) if (line.startsWith('  ')) expect(line.length).toBeLessThanOrEqual(40)
})

test('an absent and an empty home: nothing to find, nothing made', async () => {
  const empty = await tree({ 'empty/': '', 'project/': '' })
  for (const name of ['empty', 'absent']) {
    const place = { home: empty.path(name), cwd: empty.path('project') }
    for (const argv of [[], ['--all']]) {
      const { code, json } = await loci(place, 'doctor', '--json', ...argv)
      expect(code).toBe(0)
      expect(json()).toMatchObject({ findings: [], home: { kind: 'vacant' }, checked: { sessions: 0 } })
    }
  }
  expect(await empty.snapshot()).toEqual({})
  await empty.remove()
})

test('a home that Loci did not make is named, and looked at as any', async () => {
  await rm(room.home('loci.json'))
  expect(await hints()).toEqual(['foreign-home'])
  expect((await room.examine()).home).toMatchObject({ kind: 'foreign' })
  await tear(room.transcript)
  expect(await room.damaged('--all')).toEqual([`torn-line ${SESSION}.jsonl`])
})

test('locks: of one that has ended, of one that cannot be judged, and of one that lives', async () => {
  const ended = await endedOwner()
  await writeFile(join(room.projectDir, `.${SESSION}.jsonl.lock.7`), ended)
  await writeFile(join(room.projectDir, SESSION, '.scratchpad.lock.1'), 'not a record')
  await writeFile(join(room.memory, '.MEMORY.md.lock.9'), 'not a record')
  expect(await hints()).toEqual(['undecided-lock', 'stale-lock', 'undecided-lock'])
  const { findings } = await room.examine()
  expect(findings.map(({ advice }) => advice)).toEqual([
    expect.stringMatching(/empty ".*MEMORY\.md\.lock\.9"/),
    expect.stringContaining('takes it over'),
    expect.stringContaining(`loci sessions unlock ${SESSION}`),
  ])
  // The advice helps.
  await writeFile(join(room.memory, '.MEMORY.md.lock.9'), '')
  expect((await room.run('sessions', 'unlock', SESSION)).code).toBe(0)
  expect(await hints()).toEqual([])
  const lease = await acquireLease(room.transcript)
  expect(await hints('--all')).toEqual([])
  await lease.release()
})

test('of a lock in the place of which is a FIFO nobody can say who holds it', async () => {
  execFileSync('mkfifo', [join(room.projectDir, `.${SESSION}.jsonl.lock.9`)])
  expect(await hints()).toEqual(['undecided-lock'])
})

test('a command that runs is a hint while its session is open, damage once nobody is there', async () => {
  const record = { type: 'command', id: 'c1', messageId: room.prompts[1], phase: 'begin', anchor: null }
  await appendFile(join(room.history, 'edits.jsonl'), `${JSON.stringify(record)}\n`)
  const kinds = (await room.examine()).findings.map(({ kind }) => kind)
  expect(kinds).toEqual(['command-incomplete'])
  expect((await room.examine()).code).toBe(3)
  const lease = await acquireLease(room.history)
  expect(await hints()).toEqual(['command-incomplete'])
  await lease.release()
})

test('what says nothing bad of the data: plain notes, long lines, a history of no session, special files', async () => {
  await writeFile(join(room.memory, 'notes.md'), '# Notes\n')
  await appendFile(join(room.memory, 'MEMORY.md'), `- [notes](notes.md) — ${'long '.repeat(50)}\n`)
  await cp(room.history, room.home('file-history/22222222-2222-4222-8222-222222222222'), { recursive: true })
  execFileSync('mkfifo', [room.home('pipe')])
  expect((await hints()).toSorted()).toEqual(['long-line', 'no-front-matter'])
  expect((await hints('--all')).toSorted()).toEqual([
    'history-without-session',
    'long-line',
    'no-front-matter',
    'special-file',
  ])
})

test('files that others can read are told of in one line, if they can come as far', async () => {
  await chmod(room.transcript, 0o644)
  expect(await hints()).toEqual([])
  await chmod(room.work.root, 0o755)
  expect(await hints()).toEqual(['not-private'])
  expect((await room.run('doctor')).out).toContain(`chmod go= ${room.work.path('home')}`)
  await chmod(room.work.path('home'), 0o777)
  expect((await hints()).toSorted()).toEqual(['not-private', 'writable-by-others'])
  await chmod(room.work.path('home'), 0o700)
  expect(await hints()).toEqual([])
})

test('a home that cannot be written is told of', async () => {
  setFaultHook((operation, path) =>
    operation === 'access' && path.endsWith('projects')
      ? Object.assign(new Error('injected'), { code: 'EROFS' })
      : undefined,
  )
  expect(await hints()).toEqual(['not-writable'])
  expect((await room.examine()).home.writable).toBe(false)
})

test('a setting that stands where it does not count', async () => {
  await mkdir(room.work.path('project/.claude'))
  await writeFile(room.work.path('project/.claude/settings.json'), '{"memoryReview":true}')
  expect(await hints()).toEqual(['unused-setting'])
})

test('--all: other sessions, other memories, checkpoints in the home; without it those of here', async () => {
  const other = room.home('projects/-other')
  await mkdir(join(other, 'memory'), { recursive: true })
  await writeFile(join(other, '.project.json'), '{"root":"/o"}')
  await writeFile(join(other, 'memory', 'a.md'), '# a\n')
  await cp(room.transcript, join(other, '33333333-3333-4333-8333-333333333333.jsonl'))
  const moved = (await readFile(room.transcript, 'utf8')).replaceAll(room.work.path('project'), '/o')
  await writeFile(join(other, '33333333-3333-4333-8333-333333333333.jsonl'), `${moved}torn\n`)
  await makeCheckpoint('m1', [room.work.path('project/a.txt')], { file: room.home('points.json') })
  await rename(room.home('points.json'), room.home('points.aside'))
  await writeFile(room.home('points.json'), '{')
  expect(await room.damaged()).toEqual([])
  const { findings } = await room.examine('--all')
  const kinds = findings.map(({ kind }) => kind)
  expect(kinds).toEqual(expect.arrayContaining(['torn-line', 'index-missing', 'bad-index']))
  expect(findings.find(({ kind }) => kind === 'index-missing')?.advice).toBe(
    'loci memory repair --scope project --cwd /o',
  )
})

test('what others wrote into names stays on its line', async () => {
  await writeFile(join(room.projectDir, 'evil\nname\u001b[2J.jsonl'), 'torn\n')
  const { code, out } = await room.run('doctor', '--all')
  expect(code).toBe(3)
  expect(out).toContain('evil name')
  expect(out).not.toContain('\u001b')
})
