import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkSession, listSessions, openSession, sessionInfo, verifySession } from '@loci/session-jsonl'
import type { Entry, Session } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'

// Transcripts as a widely used client wrote them; each case has a README that says what was done.
const OBSERVED = join(import.meta.dirname, 'fixtures/observed')
const projectDirOf = (name: string, project = '-home-user-project'): string =>
  join(OBSERVED, name, 'config/projects', project)

async function inSession<T>(
  name: string,
  sessionId: string,
  ask: (session: Session) => Promise<T>,
  project?: string,
): Promise<T> {
  const session = await openSession({ projectDir: projectDirOf(name, project), sessionId, mode: 'read' })
  try {
    return await ask(session)
  } finally {
    await session.close()
  }
}

/** Who said what: prompts by their text, results and calls by kind. */
async function said(session: Session): Promise<string[]> {
  const messages = await session.conversation()
  return messages.map(({ role, content }) => {
    const blocks =
      typeof content === 'string'
        ? [content]
        : content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`))
    return `${role}: ${blocks.map((text) => text.slice(0, 40)).join(' | ')}`
  })
}

const LINEAR = '11111111-1111-4111-8111-111111111111'

test('session-linear: six runs with tools one by one and at once, thinking, a failed read, a subagent', async () => {
  await inSession('session-linear', LINEAR, async (session) => {
    const all = await said(session)
    const prompts = all.filter((line) => line.startsWith('user: ') && !line.includes('<'))
    expect(prompts).toEqual([
      'user: Please create notes (task new)',
      'user: Read both in parallel (task par)',
      'user: Run three commands (task chain)',
      'user: Read a missing file (task err)',
      'user: Think (task think)',
      'user: Use a subagent (task agent)',
      'user: [redacted product text, 673 chars]',
    ])
    expect(all).toHaveLength(28)
    expect(all[5]).toBe('assistant: Looking at both. | <tool_use> | <tool_use> | <tool_use>')
    expect(all[6]).toBe('user: <tool_result> | <tool_result> | <tool_result>')
    expect(all.filter((line) => line.includes('<thinking>'))).toHaveLength(1)
    expect(await session.damage()).toEqual([])
    expect(await session.tips()).toMatchObject([{ current: true }])
    const chain = await session.chain()
    expect(chain.some(({ isSidechain }) => isSidechain)).toBe(false)
  })
})

test('session-resume-at-branch: two branches in one file; the newest goes on, the other stays', async () => {
  await inSession('session-resume-at-branch', LINEAR, async (session) => {
    const prompts = (await said(session)).filter((line) => line.startsWith('user: ') && !line.includes('<'))
    expect(prompts).toEqual([
      'user: Please create notes (task new)',
      'user: Read both in parallel (task par)',
      'user: branch here (task hi)',
      'user: which leaf (task hi)',
    ])
    const [current, other] = await session.tips()
    expect(current).toMatchObject({ uuid: '9bcc4280-20e5-4ab6-a63a-66e042831b5a', current: true })
    expect(other).toMatchObject({ uuid: '7c11454b-87e9-426a-b3e2-4713b5d68a63', current: false })
    // The other branch is session-linear, to its end.
    const linear = await inSession('session-linear', LINEAR, (first) => first.chain())
    expect((await session.chain(other?.uuid)).map(({ uuid }) => uuid)).toEqual(linear.map(({ uuid }) => uuid))
  })
})

test('session-cli-fork: the same uuids in another session, and one turn more', async () => {
  const linear = await inSession('session-linear', LINEAR, (session) => session.chain())
  await inSession('session-cli-fork', '22222222-2222-4222-8222-222222222222', async (session) => {
    const chain = await session.chain()
    expect(chain.slice(0, linear.length).map(({ uuid }) => uuid)).toEqual(linear.map(({ uuid }) => uuid))
    expect((await said(session)).slice(-2)[0]).toBe('user: hi there (task hi)')
    expect(await session.damage()).toEqual([])
  })
})

test('session-compact: summary, the message that was kept, the rest', async () => {
  await inSession('session-compact', '33333333-3333-4333-8333-333333333333', async (session) => {
    const chain = await session.chain()
    expect(chain.slice(0, 4).map(({ type, uuid }) => [type, uuid.slice(0, 4)])).toEqual([
      ['system', '415c'],
      ['user', 'db09'],
      ['assistant', '7e7c'],
      ['user', 'c08d'],
    ])
    const all = await said(session)
    expect(all).toHaveLength(4)
    expect(all[0]).toMatch(/^user: This session is being continued/)
    expect(all[2]).toMatch(/\| after compact \(task hi\)$/)
    expect(await session.tips()).toHaveLength(1)
    expect(await session.damage()).toEqual([])
  })
})

const INTERACTIVE = '146d3c36-d03d-4f4d-8af3-2e3a7e11d2a7'
test('session-interactive and -rewind: three turns; back before the second, and another prompt', async () => {
  const before = await inSession(
    'session-interactive',
    INTERACTIVE,
    async (session) => [await said(session), session.tip] as const,
  )
  expect(before[0].filter((line) => line.startsWith('user: ') && !line.includes('<'))).toEqual([
    'user: hello there (task hi)',
    'user: please create (task new)',
    'user: third (task hi)',
  ])
  await inSession('session-interactive-rewind', INTERACTIVE, async (session) => {
    expect((await said(session)).filter((line) => line.startsWith('user: '))).toEqual([
      'user: hello there (task hi)',
      'user: after rewind (task hi)',
    ])
    const tips = await session.tips()
    expect(tips.map(({ uuid }) => uuid)).toEqual([session.tip, before[1]])
    expect(await session.damage()).toEqual([])
  })
})

test('file-history-*: turns with checkpoints, whose records are given out as they are', async () => {
  for (const [name, id] of [
    ['file-history-basic', '44444444-4444-4444-8444-444444444444'],
    ['file-history-cli-fork', '55555555-5555-4555-8555-555555555555'],
  ] as const) {
    await inSession(name, id, async (session) => {
      const prompts = (await said(session)).filter((line) => line.startsWith('user: ') && !line.includes('<'))
      expect(prompts.length).toBe(name === 'file-history-basic' ? 6 : 7)
      const snapshots = await session.records('file-history-snapshot')
      expect(snapshots.length).toBeGreaterThanOrEqual(6)
      expect(snapshots[0]).not.toHaveProperty('sessionId')
      expect(await session.damage()).toEqual([])
    })
  }
})

test('file-history-110-turns: only prompts are left, so every parent is bridged, in order', async () => {
  await inSession(
    'file-history-110-turns',
    '77777777-7777-4777-8777-777777777777',
    async (session) => {
      const chain = await session.chain()
      expect(chain).toHaveLength(110)
      expect(JSON.stringify(chain[109]?.message)).toContain('turn 110 ')
      expect(await session.records('file-history-snapshot')).toHaveLength(110)
      const damage = await session.damage()
      expect(damage).toHaveLength(109)
      expect(damage.every(({ kind }) => kind === 'missing-parent')).toBe(true)
    },
    '-home-user-longproj',
  )
})

interface Expected {
  list: {
    sessionId: string
    summary: string
    customTitle?: string
    firstPrompt: string
    gitBranch: string
    cwd: string
    tag?: string
    createdAt: number
    archived?: boolean
  }[]
  messages: Record<string, [type: string, uuid: string][]>
}
const expected: Expected = JSON.parse(
  readFileSync(join(OBSERVED, 'sdk-mutations-fork/expected.json'), 'utf8'),
)

describe('sdk-mutations-fork: what the SDK answers', () => {
  test.each(Object.entries(expected.messages))('messages of %s', async (id, messages) => {
    const isShown = ({ type, isMeta }: Entry): boolean =>
      (type === 'user' || type === 'assistant') && isMeta !== true
    const name = readdirSync(projectDirOf('sdk-mutations-fork')).includes(`${id}.jsonl`)
      ? 'sdk-mutations-fork'
      : id.startsWith('2')
        ? 'session-cli-fork'
        : 'session-compact'
    const chain = await inSession(name, id, (session) => session.chain())
    expect(chain.filter((entry) => isShown(entry)).map(({ type, uuid }) => [type, uuid])).toEqual(messages)
  })

  test('the list', async () => {
    const list = await listSessions({
      projectsDir: join(OBSERVED, 'sdk-mutations-fork/config/projects'),
      archived: true,
    })
    const known = expected.list.filter(({ sessionId }) => list.some((info) => info.sessionId === sessionId))
    expect(known).toHaveLength(3)
    expect(list.map(({ sessionId }) => sessionId)).toEqual(known.map(({ sessionId }) => sessionId))
    for (const [index, { createdAt, archived = false, ...rest }] of known.entries()) {
      expect(list[index]).toMatchObject({ ...rest, createdAtMs: createdAt, archived })
    }
    expect(list.map(({ forkedFrom }) => forkedFrom)).toEqual([LINEAR, LINEAR, undefined])
  })

  test('sessions of the other cases, as it lists them', async () => {
    for (const [name, id] of [
      ['session-cli-fork', '22222222-2222-4222-8222-222222222222'],
      ['session-compact', '33333333-3333-4333-8333-333333333333'],
    ] as const) {
      const { createdAt, ...rest } = expected.list.find(({ sessionId }) => sessionId === id) ?? {
        createdAt: 0,
      }
      expect(await sessionInfo(join(projectDirOf(name), `${id}.jsonl`))).toMatchObject({
        ...rest,
        createdAtMs: createdAt,
      })
    }
  })

  test('its content-replacement is sent, and goes with a fork of ours', async () => {
    const made = await tree({ 'p/': '' })
    await mkdir(made.path('p'), { recursive: true })
    await copyFile(
      join(projectDirOf('sdk-mutations-fork'), `${LINEAR}.jsonl`),
      made.path(`p/${LINEAR}.jsonl`),
    )
    const read = async (sessionId: string): Promise<string> => {
      const session = await openSession({ projectDir: made.path('p'), sessionId, mode: 'read' })
      const sent = JSON.stringify(await session.conversation())
      await session.close()
      return sent
    }
    const source = await read(LINEAR)
    expect(source).toContain('<persisted-output>made-up preview</persisted-output>')
    const fork = await forkSession({ projectDir: made.path('p'), sessionId: LINEAR })
    expect(await read(fork.sessionId)).toBe(source)
    await made.remove()
  })
})

describe('every observed transcript', () => {
  const all = readdirSync(OBSERVED).flatMap((name) =>
    readdirSync(join(OBSERVED, name, 'config/projects')).flatMap((project) =>
      readdirSync(join(OBSERVED, name, 'config/projects', project))
        .filter((file) => file.endsWith('.jsonl'))
        .map((file) => [name, project, file.slice(0, -'.jsonl'.length)] as const),
    ),
  )
  test.each(all)(
    '%s/%s/%s: its fork, at every tip, sends the same and is whole',
    async (name, project, id) => {
      const made = await tree({ 'p/': '' })
      const source = join(projectDirOf(name, project), `${id}.jsonl`)
      await copyFile(source, made.path(`p/${id}.jsonl`))
      const session = await openSession({ projectDir: made.path('p'), sessionId: id, mode: 'read' })
      for (const { uuid } of await session.tips()) {
        const { sessionId, path } = await forkSession({
          projectDir: made.path('p'),
          sessionId: id,
          upTo: uuid,
        })
        const fork = await openSession({ projectDir: made.path('p'), sessionId, mode: 'read' })
        expect(JSON.stringify(await fork.conversation())).toBe(
          JSON.stringify(await session.conversation({ tip: uuid })),
        )
        await fork.close()
        expect(await verifySession(path)).toEqual([])
        // Each line is one of the source with the id changed, or our one. Where parents were missing they are mended.
        if (name === 'file-history-110-turns') continue
        const own = `"sessionId":"${id}"`
        const known = (await readFile(source, 'utf8'))
          .replaceAll(own, `"sessionId":"${sessionId}"`)
          .split('\n')
        const added = (await readFile(path, 'utf8')).split('\n').filter((line) => !known.includes(line))
        expect(added).toHaveLength(1)
        expect(added[0]).toContain('"type":"forked-from"')
      }
      await session.close()
      await made.remove()
    },
  )
})
