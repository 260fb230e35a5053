import { readFile, readdir, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile, TreeSnapshot } from '@loci/disk/testing'
import { openSession } from '@loci/session-jsonl'
import type { Damage } from '@loci/disk'
import type { Entry, RecordDraft, Tip } from '@loci/session-jsonl'
import { startLoci } from './agent-process.ts'
import type { Run, Running } from './agent-process.ts'
import { SCRIPTED, openStandIn } from './agent-stand-in.ts'
import type { StandIn } from './agent-stand-in.ts'

/** Who answers: the model in the process of the CLI, or the same rules behind a Messages API over HTTP. */
export const FORMS = ['the offline model', 'the stand-in'] as const
export type Form = (typeof FORMS)[number]

interface RunOptions {
  /** Standard input; default: none. */
  input?: string
  env?: Record<string, string>
  /** File for `node --import`, from this folder. */
  preload?: string
  /** Default: the bin as it is published. */
  bin?: string
}

/** A project, a config home and a model, and processes of the CLI between them. */
export interface Stage {
  readonly tree: Tree
  readonly home: string
  /** `undefined`: the offline model answers. */
  readonly standIn: StandIn | undefined
  /** What the stand-in refused, but for faults that the test asked for. */
  refused(): string[]
  /** Runs the CLI to its end. */
  loci(argv: readonly string[], options?: RunOptions): Promise<Run>
  /** Starts the CLI and leaves its standard input open. */
  start(argv: readonly string[], options?: RunOptions): Running
  /** Files of the project, with bytes and modes. */
  project(): Promise<TreeSnapshot>
  /** Everything in the config home. */
  homeTree(): Promise<TreeSnapshot>
  /** Lines of a session's transcript as they stand in the file. */
  lines(sessionId: string): Promise<RecordDraft[]>
  look(sessionId: string): Promise<Look>
  /** Sets the clock of processes that are started with `fake-date.mjs`. */
  setClock(time: string): Promise<void>
  close(): Promise<void>
}

/** A session as who opens it finds it. */
interface Look {
  chain: Entry[]
  tip: string | null
  tips: Tip[]
  damage: Damage[]
}

export async function openStage(form: Form, project: Record<string, TreeFile> = {}): Promise<Stage> {
  const files = Object.entries(project).map(([name, file]) => [`project/${name}`, file] as const)
  const work = await tree({
    'project/': '',
    'tmp/': '',
    // Requests that come beside the turns have tests of their own.
    'home/loci.json': '{"formatVersion":1}\n',
    'home/settings.json': '{"memoryExtraction":false}',
    ...Object.fromEntries(files),
  })
  const standIn = form === 'the stand-in' ? await openStandIn() : undefined
  const running: Running[] = []
  const clock = work.path('clock')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: work.root,
    TMPDIR: work.path('tmp'),
    TZ: 'UTC',
    LOCI_CONFIG_DIR: work.path('home'),
    LOCI_MAX_RETRIES: '2',
    FAKE_DATE_FILE: clock,
    ...(standIn ? { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: standIn.url } : {}),
  }
  const start = (argv: readonly string[], options: RunOptions = {}): Running => {
    const { preload, bin } = options
    const one = startLoci({
      argv,
      cwd: work.path('project'),
      env: { ...env, ...options.env },
      preload: preload === undefined ? [] : [preload],
      bin,
    })
    running.push(one)
    return one
  }
  const below = async (folder: string): Promise<TreeSnapshot> =>
    Object.fromEntries(Object.entries(await work.snapshot()).filter(([name]) => name.startsWith(folder)))
  const projectDir = async (): Promise<string> => {
    const [folder, ...others] = await readdir(work.path('home/projects'))
    if (folder === undefined || others.length > 0) throw new Error(`not one project: ${others.join(', ')}`)
    return work.path(`home/projects/${folder}`)
  }
  return {
    tree: work,
    home: work.path('home'),
    standIn,
    refused: () =>
      (standIn?.requests ?? []).flatMap(({ status, error = '' }) =>
        status === 200 || error === SCRIPTED ? [] : [error],
      ),
    start,
    loci: (argv, options = {}) => start(argv, options).end(options.input ?? ''),
    project: () => below('project/'),
    homeTree: () => below('home/'),
    async lines(sessionId) {
      const text = await readFile(`${await projectDir()}/${sessionId}.jsonl`, 'utf8')
      return text.split('\n').flatMap((line): RecordDraft[] => (line === '' ? [] : [JSON.parse(line)]))
    },
    async look(sessionId) {
      const session = await openSession({ projectDir: await projectDir(), sessionId, mode: 'read' })
      const [chain, tips, damage] = [await session.chain(), await session.tips(), await session.damage()]
      await session.close()
      return { chain, tips, damage, tip: session.tip }
    },
    setClock: (time) => writeFile(clock, time),
    async close() {
      for (const one of running) await one.kill()
      await standIn?.close()
      await work.remove()
    },
  }
}

/** The text of a prompt; `undefined` for any other entry. */
export function promptIn({ type, message }: RecordDraft): string | undefined {
  const content: unknown =
    type === 'user' && typeof message === 'object' && message !== null
      ? Reflect.get(message, 'content')
      : undefined
  return typeof content === 'string' ? content : undefined
}
