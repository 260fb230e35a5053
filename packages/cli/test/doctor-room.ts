import { appendFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { resolveProjectDir } from '@loci/disk/project'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'
import { openMemdir } from '@loci/memdir'
import { createSession } from '@loci/session-jsonl'
import type { Examination } from '../src/doctor/examine.ts'
import { transcriptLedger } from '../src/transcript-ledger.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

export const SESSION = '11111111-1111-4111-8111-111111111111'

/** A config home with everything in it, and nothing wrong. */
export interface DoctorRoom {
  work: Tree
  /** A path in the config home. */
  home: (name: string) => string
  /** The folder of the project in the config home. */
  projectDir: string
  transcript: string
  history: string
  memory: string
  /** The id of each prompt. */
  prompts: string[]
  run: (...argv: string[]) => Promise<Run>
  /** `doctor --json`, and its exit code. */
  examine: (...argv: string[]) => Promise<Examination & { code: number }>
  /** What is damaged, as `kind name-of-file`. */
  damaged: (...argv: string[]) => Promise<string[]>
}

export async function doctorRoom(): Promise<DoctorRoom> {
  const work = await tree({ 'project/a.txt': 'v0\n', 'project/b.txt': 'v0\n', 'home/loci.json': '{}' })
  const cwd = work.path('project')
  const home = (name: string): string => work.path(`home/${name}`)
  const projectDir = await resolveProjectDir({ projectsDir: home('projects'), root: cwd, create: true })
  const transcript = join(projectDir, `${SESSION}.jsonl`)
  const history = home(`file-history/${SESSION}`)
  const prompts = await makeSession({ projectDir, history, cwd })
  const memory = join(projectDir, 'memory')
  for (const dir of [memory, home('memory')]) {
    await mkdir(dir, { recursive: true })
    const memdir = await openMemdir({ dir })
    await memdir.save({ name: 'Indentation', description: '4 spaces', type: 'feedback', body: 'Always.' })
    await memdir.close()
  }
  const run = (...argv: string[]): Promise<Run> => loci({ home: work.path('home'), cwd }, ...argv)
  const examine: DoctorRoom['examine'] = async (...argv) => {
    const { code, json } = await run('doctor', '--json', ...argv)
    return { ...(json() as Examination), code }
  }
  return {
    work,
    home,
    projectDir,
    transcript,
    history,
    memory,
    prompts,
    run,
    examine,
    async damaged(...argv) {
      const { findings } = await examine(...argv)
      return findings
        .filter(({ severity }) => severity === 'damage')
        .map(({ kind, path }) => `${kind} ${path.slice(path.lastIndexOf('/') + 1)}`)
        .toSorted()
    },
  }
}

async function makeSession(of: { projectDir: string; history: string; cwd: string }): Promise<string[]> {
  const { projectDir, cwd } = of
  const session = await createSession({ projectDir, sessionId: SESSION, cwd })
  const ledger = transcriptLedger({ path: session.path, record: (draft) => session.record(draft) })
  const history = await openFileHistory({ dir: of.history, root: cwd, ledger })
  const prompts: string[] = []
  for (const version of [1, 2]) {
    const prompt = { role: 'user' as const, content: `to v${version}` }
    const { uuid } = await session.append({ type: 'user', message: prompt })
    prompts.push(uuid)
    await history.makeSnapshot(uuid)
    for (const name of ['a.txt', 'b.txt']) {
      await history.trackEdit(join(cwd, name), uuid)
      await writeFile(join(cwd, name), `v${version}\n`)
      await history.recordEdit(join(cwd, name), uuid)
    }
  }
  await history.close()
  await session.close()
  const side = join(projectDir, SESSION)
  await mkdir(join(side, 'subagents'), { recursive: true })
  await writeFile(join(side, 'subagents', 'agent-1.jsonl'), '', { mode: 0o600 })
  return prompts
}

/** A line of a conversation that follows nothing that is there. */
export function orphanLine(): string {
  const line = {
    type: 'user',
    uuid: '99999999-9999-4999-8999-999999999999',
    parentUuid: '88888888-8888-4888-8888-888888888888',
    sessionId: SESSION,
    timestamp: '2026-01-01T00:00:00.000Z',
    message: { role: 'user', content: 'hi' },
  }
  return `${JSON.stringify(line)}\n`
}

/** The first backup of a folder, by name. */
export async function firstBackup(history: string): Promise<string> {
  const name = (await readdir(history)).find((one) => one.includes('@v')) ?? ''
  return join(history, name)
}

export async function tear(path: string): Promise<void> {
  await appendFile(path, '{"type":"user","uu')
}
