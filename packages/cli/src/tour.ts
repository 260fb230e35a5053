import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { createStore, getDefaultAppState } from '@loci/app-state'
import { files, writeFileAtomic } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { isAutoMemoryEnabled, loadMemoryPrompt } from '@loci/memdir'
import { createSession } from '@loci/session-jsonl'
import type { ModelMessage, Session } from '@loci/session-jsonl'
import type { CommandContext, CommandResult } from './commands.ts'
import { findMemory, forkWithHistory, withHistory, withMemory, withSession } from './compose.ts'
import { openConfigHome } from './config-home.ts'
import type { ConfigHome } from './config-home.ts'
import { findSession } from './find-session.ts'
import type { SessionPlace } from './find-session.ts'

/** What every step of the tour works in. */
interface Stage {
  home: ConfigHome
  project: string
  say: (line: string) => void
}

/** One thing a step found to be so, or not. */
interface Finding {
  what: string
  holds: boolean
}

/**
 * Plays the four systems in a temporary directory, which is removed at the end: a memory recalled, a wrong edit
 * taken back and again, a conversation rewound and forked, half a line survived, memory switched off.
 */
export async function tourCommand({ env, say }: CommandContext): Promise<CommandResult> {
  const root = join(await files.realpath(env['TMPDIR'] ?? tmpdir()), `loci-tour-${randomUUID().slice(0, 8)}`)
  const project = join(root, 'project')
  await files.mkdir(project)
  try {
    const home = await openConfigHome({ dir: join(root, 'home'), write: false })
    await home.claim()
    const stage: Stage = { home, project, say }
    const findings: Finding[] = []
    const step = async (title: string, play: () => Promise<Finding[]>): Promise<void> => {
      say(`\n${title}`)
      for (const finding of await play()) {
        say(`  ${finding.holds ? 'yes' : 'NO '}  ${finding.what}`)
        findings.push(finding)
      }
    }
    const place = await startSession(stage)
    await step('1. A memory is saved, and the next prompt holds it', () => playMemory(stage))
    await step('2. A wrong edit and a new file are taken back, and back again', () => playFiles(stage, place))
    await step('3. The conversation goes back before the second prompt', () => playRewind(place))
    await step('4. It is forked at its second message, with its history', () => playFork(stage, place))
    await step('5. A process killed in the middle of a line leaves half of it', () => playTornLine(place))
    await step('6. Memory is switched off', () => playMemoryOff(stage))
    say('\nThe files that were made:')
    const made = await filesBelow(root)
    for (const file of made) say(`  ${file.sizeBytes.toString().padStart(7)}  ${file.path}`)
    const failed = findings.filter(({ holds }) => !holds)
    if (failed.length > 0)
      throw new Error(`the tour found: not ${failed.map(({ what }) => what).join('; not ')}`)
    return {
      value: { findings, files: made },
      text: `\n${findings.length} findings, all as promised. ${root} is removed.\n`,
    }
  } finally {
    await files.removeTree(root)
  }
}

async function playMemory({ home, project, say }: Stage): Promise<Finding[]> {
  const { dirs } = await findMemory({ home, cwd: project, env: {}, bare: false, create: true })
  const { memory } = await withMemory({ dir: dirs.project }, (memdir) =>
    memdir.save({
      name: 'indentation',
      description: 'we indent with 4 spaces',
      type: 'project',
      body: 'Four spaces.',
    }),
  )
  say(`  saved ${memory.file}; the index says:`)
  const prompt = await loadMemoryPrompt({ dirs, enabled: true })
  say(`  | ${prompt?.context.split('\n').find((line) => line.includes(memory.file)) ?? ''}`)
  return [
    {
      what: 'the prompt holds the memory',
      holds: prompt?.context.includes('we indent with 4 spaces') === true,
    },
  ]
}

async function startSession({ home, project, say }: Stage): Promise<SessionPlace> {
  // What happens now is in a store; what is to last, in the session.
  const sessionId = randomUUID()
  const state = createStore(getDefaultAppState({ cwd: project }), {
    onChange: ({ state: now }) => say(`  state: session ${now.sessionId ?? 'none'} in ${now.cwd}`),
  })
  state.setState((previous) => ({ ...previous, sessionId }))
  const projectDir = await resolveProjectDir({ projectsDir: home.projectsDir, root: project, create: true })
  const session = await createSession({ projectDir, sessionId, cwd: project })
  try {
    for (const [prompt, answer] of [
      ['fix the login', 'Done.'],
      ['now add tests', 'Added.'],
      ['and document it', 'Documented.'],
    ] as const) {
      await session.append({ type: 'user', message: { role: 'user', content: prompt } })
      await session.append({
        type: 'assistant',
        message: { role: 'assistant', content: [{ type: 'text', text: answer }] },
      })
    }
  } finally {
    await session.close()
  }
  return findSession(home, project, sessionId)
}

async function playFiles({ home, project, say }: Stage, place: SessionPlace): Promise<Finding[]> {
  const auth = join(project, 'auth.ts')
  const added = join(project, 'src/new/b.ts')
  const wrong = 'export const allow = () => true\n'
  const right = 'export const allow = (user) => user.admin\n'
  await writeFileAtomic(auth, right, { mode: 0o755 })
  const firstPrompt = await withSession(
    place,
    'read',
    async (session) => (await session.chain())[0]?.uuid ?? '',
  )
  return withHistory(home, place, 'write', async (history) => {
    await history.makeSnapshot(firstPrompt)
    for (const [path, text] of [
      [auth, wrong],
      [added, 'export {}\n'],
    ] as const) {
      await history.trackEdit(path, firstPrompt)
      await files.mkdir(dirname(path))
      await writeFileAtomic(path, text)
      await history.recordEdit(path, firstPrompt)
    }
    const looks = async (): Promise<string> => `${await contents(auth)}|${await contents(added)}`
    const edited = await looks()
    const plan = await history.planRewind(firstPrompt)
    for (const change of plan.changes) say(`  plan: ${change.kind} ${relative(project, change.path)}`)
    await history.rewind(plan)
    const rewound = await looks()
    await history.undoRewind()
    const undone = await looks()
    await history.undoRewind()
    return [
      {
        what: 'auth.ts has its bytes and its mode 0755 back, b.ts is gone',
        holds: rewound === `755 ${right}|`,
      },
      { what: 'the undo brings the edit back', holds: undone === edited },
      { what: 'the undo of the undo takes it back again', holds: (await looks()) === rewound },
    ]
  })
}

async function playRewind(place: SessionPlace): Promise<Finding[]> {
  const before = await withSession(place, 'write', async (session) => {
    const chain = await session.chain()
    await session.moveTip(chain[1]?.uuid ?? null)
    return chain
  })
  return withSession(place, 'read', async (session) => {
    const tips = await session.tips()
    return [
      { what: 'opened again, it ends after the first turn', holds: session.tip === before[1]?.uuid },
      { what: 'its old end is still there', holds: tips.some((tip) => tip.uuid === before.at(-1)?.uuid) },
    ]
  })
}

async function playFork({ home, project }: Stage, place: SessionPlace): Promise<Finding[]> {
  const prefix = await withSession(place, 'read', (session) => session.conversation())
  const { sessionId } = await forkWithHistory(home, place, { title: 'a fork' })
  const fork = await findSession(home, project, sessionId)
  const copied = await withSession(fork, 'read', (session) => session.conversation())
  const snapshots = await withHistory(home, fork, 'read', (history) =>
    Promise.resolve(history.snapshots().length),
  )
  return [
    { what: 'the fork says the same, byte for byte', holds: sameBytes(copied, prefix) },
    { what: 'the fork has the snapshots', holds: snapshots === 1 },
  ]
}

async function playTornLine(place: SessionPlace): Promise<Finding[]> {
  const { entries, sizeBytes } = await withSession(place, 'read', async (session) => ({
    entries: (await session.chain()).length,
    sizeBytes: Number((await files.stat(place.path)).size),
  }))
  const transcript = await files.open(place.path, 'a')
  await transcript.writeAll(Buffer.from('{"type":"user","uuid":"0f'))
  await transcript.close()
  return withSession(place, 'write', async (session: Session) => {
    await session.append({ type: 'user', message: { role: 'user', content: 'still here?' } })
    const damage = await session.damage()
    return [
      {
        what: 'every message is there, and the new one',
        holds: (await session.chain()).length === entries + 1,
      },
      {
        what: 'the half line is reported at its byte',
        holds: damage.some(({ offset }) => offset === sizeBytes),
      },
    ]
  })
}

async function playMemoryOff({ home, project }: Stage): Promise<Finding[]> {
  const env = { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }
  const { dirs } = await findMemory({ home, cwd: project, env, bare: false })
  const prompt = await loadMemoryPrompt({ dirs, enabled: isAutoMemoryEnabled({ env }) })
  return [{ what: 'no text of it is in the prompt', holds: prompt === null }]
}

function sameBytes(one: ModelMessage[], other: ModelMessage[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Permission bits and text of a file; nothing if it is not there. */
async function contents(path: string): Promise<string> {
  try {
    const { mode } = await files.stat(path)
    return `${(mode & 0o777n).toString(8)} ${(await files.readFile(path)).toString('utf8')}`
  } catch {
    return ''
  }
}

async function filesBelow(
  root: string,
  directory: string = root,
): Promise<{ path: string; sizeBytes: number }[]> {
  const found: { path: string; sizeBytes: number }[] = []
  for (const entry of await files.readdir(directory)) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) found.push(...(await filesBelow(root, path)))
    else found.push({ path: relative(root, path), sizeBytes: Number((await files.lstat(path)).size) })
  }
  return found
}
