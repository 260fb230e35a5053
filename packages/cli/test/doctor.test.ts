import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SESSION, doctorRoom, firstBackup, orphanLine, tear } from './doctor-room.ts'
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

const SETTINGS = [
  'home/settings.json',
  'project/.claude/settings.json',
  'project/.claude/settings.local.json',
]
const fifo = (path: string): void => void execFileSync('mkfifo', [path])

/** Breaks one thing. */
interface Fault {
  plant: (room: DoctorRoom) => Promise<unknown>
  /** Kind and name of the file. */
  finds: string | RegExp
  advice: RegExp
}

const FAULTS: Record<string, Fault> = {
  'a torn line': {
    plant: ({ transcript }) => tear(transcript),
    finds: `torn-line ${SESSION}.jsonl`,
    advice: /loci sessions fork 1111/,
  },
  'a zero run': {
    plant: ({ transcript }) => appendFile(transcript, `\n${'\0'.repeat(20)}`),
    finds: `zero-run ${SESSION}.jsonl`,
    advice: /loci sessions fork/,
  },
  'a missing parent': {
    plant: ({ transcript }) => appendFile(transcript, `\n${orphanLine()}`),
    finds: `missing-parent ${SESSION}.jsonl`,
    advice: /loci sessions fork/,
  },
  'a mark that says nothing': {
    plant: ({ projectDir }) => writeFile(join(projectDir, SESSION, 'archived.json'), '{'),
    finds: 'archive-mark archived.json',
    advice: /loci sessions archive/,
  },
  "a subagent's torn line": {
    plant: ({ projectDir }) => tear(join(projectDir, SESSION, 'subagents', 'agent-1.jsonl')),
    finds: 'torn-line agent-1.jsonl',
    advice: /can be read/,
  },
  'a FIFO for a transcript of a subagent is a hint, a torn one beside it is found': {
    async plant({ projectDir }) {
      fifo(join(projectDir, SESSION, 'subagents', 'agent-0.jsonl'))
      await tear(join(projectDir, SESSION, 'subagents', 'agent-1.jsonl'))
    },
    finds: 'torn-line agent-1.jsonl',
    advice: /can be read/,
  },
  'a backup that is gone': {
    plant: async ({ history }) => rm(await firstBackup(history)),
    finds: /^bad-backup .*@v1$/,
    advice: /names it/,
  },
  'a backup cut short': {
    plant: async ({ history }) => writeFile(await firstBackup(history), 'x'),
    finds: /^bad-backup .*@v1$/,
    advice: /loci history list --session/,
  },
  'all backups gone': {
    plant: ({ history }) => rm(history, { recursive: true }),
    finds: /^bad-backup .*@v1$/,
    advice: /names it/,
  },
  'a torn line of the edits': {
    plant: ({ history }) => tear(join(history, 'edits.jsonl')),
    finds: 'torn-line edits.jsonl',
    advice: /no backup is removed/,
  },
  'a FIFO for the edits': {
    async plant({ history }) {
      await rm(join(history, 'edits.jsonl'))
      fifo(join(history, 'edits.jsonl'))
    },
    finds: 'unreadable edits.jsonl',
    advice: /move it away/,
  },
  'a rewind that was cut off': {
    plant: cutOffRewind,
    finds: 'rewind-incomplete edits.jsonl',
    advice: /loci history resolve finish --session 1111/,
  },
  'a memory without its line': {
    plant: ({ memory }) => writeFile(join(memory, 'MEMORY.md'), ''),
    finds: 'topic-without-line feedback_indentation.md',
    advice: /loci memory repair --scope project/,
  },
  'a line without its memory': {
    plant: ({ home }) => rm(home('memory/feedback_indentation.md')),
    finds: 'line-without-topic MEMORY.md',
    advice: /loci memory trash --scope user/,
  },
  'a proposal that cannot be read': {
    async plant({ memory }) {
      await mkdir(join(memory, '.proposed'))
      await writeFile(join(memory, '.proposed', 'p1.json'), '{')
    },
    finds: 'unreadable p1.json',
    advice: /by hand/,
  },
  'trash that cannot be read': {
    async plant({ home }) {
      await mkdir(home('memory/.trash'))
      await writeFile(home('memory/.trash/t1.json'), '{')
    },
    finds: 'unreadable t1.json',
    advice: /by hand/,
  },
  'an owner that says nothing': {
    plant: ({ projectDir }) => writeFile(join(projectDir, '.project.json'), '{"ro'),
    finds: 'bad-owner .project.json',
    advice: /not found until then/,
  },
  'a FIFO for the owner': {
    async plant({ projectDir }) {
      await rm(join(projectDir, '.project.json'))
      fifo(join(projectDir, '.project.json'))
    },
    finds: 'bad-owner .project.json',
    advice: /not found until then/,
  },
  'a FIFO for the settings': {
    plant: async ({ home }) => fifo(home('settings.json')),
    finds: 'bad-settings settings.json',
    advice: /until then/,
  },
  'a mark of the home that says nothing': {
    plant: ({ home }) => writeFile(home('loci.json'), ''),
    finds: 'bad-mark loci.json',
    advice: /formatVersion/,
  },
}

/** The disk fails for good while a rewind is under way. */
async function cutOffRewind({ run, prompts, work }: DoctorRoom): Promise<void> {
  let isBroken = false
  setFaultHook((operation, path) => {
    isBroken ||= operation === 'rename' && path.startsWith(work.path('project'))
    return isBroken ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
  })
  expect((await run('history', 'rewind', prompts[0] ?? '')).code).not.toBe(0)
  setFaultHook(undefined)
}

describe.each([[[]], [['--all']]])('%j', (argv: string[]) => {
  test.each(Object.entries(FAULTS))('%s', async (_, { plant, finds, advice }) => {
    await plant(room)
    const before = await room.work.snapshot()
    const { code, findings } = await room.examine(...argv)
    const found = findings.find(({ kind, path }) => {
      const name = `${kind} ${path.slice(path.lastIndexOf('/') + 1)}`
      return typeof finds === 'string' ? name === finds : finds.test(name)
    })
    expect(found, JSON.stringify(findings)).toMatchObject({ severity: 'damage' })
    expect(`${found?.message}; ${found?.advice}`).toMatch(advice)
    expect(code).toBe(3)
    expect(await room.work.snapshot()).toEqual(before)
    const shown = await room.run('doctor', ...argv)
    expect(shown.code).toBe(3)
    expect(shown.out).toContain(`${found?.kind}: `)
  })
})

test('each settings file is named, and memory is looked at all the same', async () => {
  await mkdir(room.work.path('project/.claude'))
  for (const name of SETTINGS) await writeFile(room.work.path(name), '{')
  await writeFile(join(room.memory, 'MEMORY.md'), '')
  expect(await room.damaged()).toEqual([
    'bad-settings settings.json',
    'bad-settings settings.json',
    'bad-settings settings.local.json',
    'topic-without-line feedback_indentation.md',
  ])
})

test('the settings where the memory is one are looked at from a folder below', async () => {
  await mkdir(room.work.path('project/.git'))
  for (const name of ['HEAD', 'objects', 'refs']) await writeFile(room.work.path(`project/.git/${name}`), '')
  for (const name of ['sub', '.claude']) await mkdir(room.work.path(`project/${name}`))
  await writeFile(room.work.path('project/.claude/settings.json'), '[')
  expect(await room.damaged('--cwd', room.work.path('project/sub'))).toEqual(['bad-settings settings.json'])
})

test('damaged things hide no others', async () => {
  const cutsAll = ['a FIFO for the edits', 'all backups gone', 'a rewind that was cut off']
  const planted = Object.entries(FAULTS).filter(
    ([name]) => !cutsAll.includes(name) && !name.startsWith('a FIFO'),
  )
  for (const [, { plant }] of planted) await plant(room)
  const found = await room.damaged('--all')
  for (const [name, { finds }] of planted)
    expect(
      found.some((one) => (typeof finds === 'string' ? one === finds : finds.test(one))),
      name,
    ).toBe(true)
})

test('a folder that cannot be read is named; the sessions of here are looked at, and with --all those of others', async () => {
  await mkdir(room.home('projects/-shut'))
  await tear(room.transcript)
  setFaultHook((_, path) =>
    path.endsWith('-shut') ? Object.assign(new Error('injected'), { code: 'EACCES' }) : undefined,
  )
  for (const argv of [[], ['--all']])
    expect(await room.damaged(...argv)).toEqual([`torn-line ${SESSION}.jsonl`, 'unreadable -shut'])
})

test('of one kind in one place ten are listed, the rest counted; people see one line', async () => {
  await appendFile(room.transcript, 'torn\n'.repeat(15))
  const { findings } = await room.examine()
  expect(findings).toHaveLength(10)
  expect(findings.at(-1)).toMatchObject({ kind: 'torn-line', more: 5 })
  const { out } = await room.run('doctor')
  expect(out.split('\n').filter((line) => line.includes('torn-line'))).toEqual([
    expect.stringContaining('(and 14 more)'),
  ])
})

test('what a fork leaves out and what repair mends is no longer found, as the advice says', async () => {
  await tear(room.transcript)
  await appendFile(room.transcript, `\n${orphanLine()}`)
  const { sessionId } = (await room.run('sessions', 'fork', SESSION, '--json')).json() as {
    sessionId: string
  }
  expect((await room.run('sessions', 'verify', sessionId)).code).toBe(0)
  await writeFile(join(room.memory, 'MEMORY.md'), '')
  expect((await room.run('memory', 'repair', '--scope', 'project')).code).toBe(0)
  expect((await room.run('memory', 'verify')).code).toBe(0)
  await writeFile(join(room.projectDir, SESSION, 'archived.json'), '{')
  await room.run('sessions', 'unarchive', SESSION)
  expect((await room.damaged()).filter((one) => one.startsWith('archive'))).toEqual([])
})

test('exit codes: 2 for words it does not know, 1 where the home cannot be read', async () => {
  expect((await room.run('doctor', 'everything')).code).toBe(2)
  await writeFile(room.work.path('file'), '')
  expect((await loci({ home: room.work.path('file'), cwd: room.work.root }, 'doctor')).code).toBe(1)
  expect(await readFile(room.work.path('file'), 'utf8')).toBe('')
})
