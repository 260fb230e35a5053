import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { files, orAbsent, writeFileAtomic } from '@loci/disk'
import { z } from 'zod'
import type { CommandContext, CommandResult } from './command-context.ts'
import { filesBelow } from './files-below.ts'

/** What every step of the tour works in. */
interface Stage {
  project: string
  say: (line: string) => void
  /** Runs `loci` and shows what it prints. Nothing is shared between two runs but what is on disk. */
  show: (...argv: string[]) => Promise<string>
  /** One turn, of which the answer is shown, and what it took. */
  prompt: (text: string, options?: { argv?: string[]; env?: Record<string, string> }) => Promise<Turn>
  /** A session with these lines on standard input. */
  type: (lines: readonly string[], ...argv: string[]) => Promise<string>
  /** What a command prints with `--json`, not shown. */
  look: (...argv: string[]) => Promise<unknown>
}

const turnSchema = z.object({
  messageId: z.string(),
  sessionId: z.string(),
  result: z.string(),
  numTurns: z.number(),
})
type Turn = z.output<typeof turnSchema> & { notices: string }

/** One thing a step found to be so, or not. */
interface Finding {
  what: string
  holds: boolean
}

/**
 * Plays an agent with the offline model in a temporary directory, which is removed at the end, and says what each of the
 * four systems did: a memory recalled, a wrong turn taken back and again, a conversation rewound and branched, half a
 * line survived, memory switched off.
 */
export async function tourCommand({ env, say }: CommandContext): Promise<CommandResult> {
  const root = join(await files.realpath(env['TMPDIR'] ?? tmpdir()), `loci-tour-${randomUUID().slice(0, 8)}`)
  const project = join(root, 'project')
  await files.mkdir(project)
  try {
    const stage = await makeStage({ root, project, path: env['PATH'], say })
    const findings: Finding[] = []
    for (const [index, [title, play]] of STEPS.entries()) {
      say(`\n${index + 1}. ${title}`)
      for (const finding of await play(stage)) {
        say(`  ${finding.holds ? 'yes' : 'NO '}  ${finding.what}`)
        findings.push(finding)
      }
    }
    say('\nThe files that were made:')
    const paths = await filesBelow(root)
    const made = await Promise.all(
      paths.map(async (path) => ({
        path: relative(root, path),
        sizeBytes: Number((await files.lstat(path)).size),
      })),
    )
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

const STEPS: readonly [title: string, play: (stage: Stage) => Promise<Finding[]>][] = [
  ['What one conversation was told, the next one knows', playMemory],
  ['A turn that went wrong is taken back, and back again', playFiles],
  ['The conversation goes back before its second prompt', playRewind],
  ['It is branched, and what was sent before is sent again byte for byte', playBranch],
  ['A process killed in the middle of a line leaves half of it', playTornLine],
  ['Memory is switched off', playMemoryOff],
]

/** Lines that are shown of what one run prints. */
const MAX_LINES = 24

async function makeStage(options: {
  root: string
  project: string
  path: string | undefined
  say: (line: string) => void
}): Promise<Stage> {
  const { root, project, path, say } = options
  // Not above: the tour is one of the commands that it runs.
  const { runCli } = await import('./run-cli.ts')
  const run = async (argv: string[], input = '', env = {}): Promise<{ out: string; err: string }> => {
    let out = ''
    let err = ''
    await runCli({
      argv,
      env: { PATH: path, LOCI_CONFIG_DIR: join(root, 'home'), ...env },
      cwd: () => project,
      readInput: async () => input,
      print: (text) => void (out += text),
      warn: (text) => void (err += text),
    })
    return { out, err }
  }
  const sayAll = (text: string): void => {
    const all = text.split('\n').filter((line) => line !== '')
    for (const line of all.slice(0, MAX_LINES)) say(`    ${line}`)
    if (all.length > MAX_LINES) say(`    … ${all.length - MAX_LINES} lines more`)
  }
  const sayCommand = (argv: readonly string[]): void => {
    const words = argv.map((word) => (/^[\w./=-]+$/.test(word) ? word : `'${word}'`))
    say(`  $ ${['loci', ...words].join(' ')}`)
  }
  return {
    project,
    say,
    async show(...argv) {
      sayCommand(argv)
      const { out, err } = await run(argv)
      sayAll(err + out)
      return err + out
    },
    async prompt(text, { argv = [], env = {} } = {}) {
      sayCommand(['-p', text, ...argv])
      const { out, err } = await run(['-p', text, ...argv, '--output-format', 'json'], '', env)
      sayAll(err)
      const turn = turnSchema.parse(JSON.parse(out))
      sayAll(turn.result)
      return { ...turn, notices: err }
    },
    async type(lines, ...argv) {
      sayCommand(argv)
      for (const line of lines) say(`  > ${line}`)
      const { out, err } = await run(argv, lines.map((line) => `${line}\n`).join(''))
      sayAll(err + out)
      return err + out
    },
    look: async (...argv) => JSON.parse((await run([...argv, '--json'])).out),
  }
}

async function playMemory({ prompt, look, say }: Stage): Promise<Finding[]> {
  await prompt('remember that we indent with 4 spaces')
  const { result } = await prompt('what is our indentation?')
  const { raw } = z.object({ raw: z.string() }).parse(await look('memory', 'index'))
  say(`  memory: the index holds ${raw.trim()}`)
  return [{ what: 'the second conversation says 4 spaces', holds: result.includes('4 spaces') }]
}

const WRONG_TURN = [
  'create auth.ts with "export const allow = () => true"',
  'create src/new/b.ts with "export {}"',
  'run rm c.txt',
].join(', then ')

async function playFiles({ project, prompt, show, look, say }: Stage): Promise<Finding[]> {
  const [auth, added, gone] = ['auth.ts', 'src/new/b.ts', 'c.txt'].map((name) => join(project, name))
  if (auth === undefined || added === undefined || gone === undefined) return []
  await writeFileAtomic(auth, 'export const allow = (user) => user.admin\n', { mode: 0o755 })
  await writeFileAtomic(gone, 'precious\n')
  const looks = async (): Promise<string> => (await Promise.all([auth, added, gone].map(contents))).join('|')
  const before = await looks()
  const { messageId } = await prompt(WRONG_TURN, { argv: ['--permission-mode', 'bypassPermissions'] })
  const after = await looks()
  await show('--rewind-files', messageId, '--dry-run')
  await show('--rewind-files', messageId)
  const rewound = await looks()
  await show('history', 'undo')
  const undone = await looks()
  await show('history', 'undo')
  const snapshots = z.array(z.unknown()).parse(await look('history', 'list')).length
  say(`  files: ${snapshots} snapshot of this conversation, and what each rewind wrote over`)
  return [
    { what: 'the rewind brings back bytes and mode, and the deleted file', holds: rewound === before },
    { what: 'its undo brings the turn back', holds: undone === after && after !== before },
    { what: 'the undo of the undo takes it back again', holds: (await looks()) === before },
  ]
}

const entriesSchema = z.object({
  entries: z.array(z.object({ type: z.string() })),
  tip: z.string().nullable(),
})

/** The conversation of this directory that was active last. */
async function newest({ look }: Stage): Promise<{ sessionId: string; path: string; length: number }> {
  const listed = z.array(z.object({ sessionId: z.string(), path: z.string() }))
  const [session] = listed.parse(await look('sessions', 'list', '--limit', '1'))
  if (session === undefined) throw new Error('the tour found no session')
  const { entries } = entriesSchema.parse(await look('sessions', 'show', session.sessionId))
  return { ...session, length: entries.filter(({ type }) => type === 'user' || type === 'assistant').length }
}

async function playRewind(stage: Stage): Promise<Finding[]> {
  await stage.type(['hello', 'what is our indentation?', 'thanks', '/rewind 2', '/exit'])
  const { sessionId, length } = await newest(stage)
  const tips = z.array(z.unknown()).parse(await stage.look('sessions', 'tips', sessionId))
  stage.say(`  session: ${length} messages from here, ${tips.length} end that can be gone back to`)
  return [
    { what: 'opened again, it ends after the first turn', holds: length === 2 },
    { what: 'its old end is still there', holds: tips.length === 1 },
  ]
}

async function playBranch(stage: Stage): Promise<Finding[]> {
  const out = await stage.type(
    [
      'run seq 1 20000 | tr "\\n" " "',
      'thanks',
      '/branch another way',
      'and what is our indentation?',
      '/exit',
    ],
    '--permission-mode',
    'bypassPermissions',
  )
  const last = [...out.matchAll(/(\d+) tokens sent \((\d+) cached\)/g)].at(-1)
  const [, sent = 0, cached = 0] = last?.map(Number) ?? []
  const { path } = await newest(stage)
  const aside = await files.readdir(join(path.slice(0, -'.jsonl'.length), 'tool-results'))
  const isAside = aside.length === 1 && out.includes('too many to show')
  stage.say(`  state: ${sent} tokens sent after the branch, ${cached} of them known to the server`)
  return [
    {
      what: 'a long output was put into a file, and the model got its beginning',
      holds: isAside,
    },
    { what: 'the branch shares at least 95 % of what it sends', holds: cached >= 0.95 * sent && sent > 0 },
  ]
}

async function playTornLine(stage: Stage): Promise<Finding[]> {
  const { path, length } = await newest(stage)
  const transcript = await files.open(path, 'a')
  await transcript.writeAll(Buffer.from('{"type":"user","uuid":"0f'))
  await transcript.close()
  await stage.prompt('hello', { argv: ['--continue'] })
  const notice = await stage.show('--continue')
  const after = await newest(stage)
  stage.say(`  session: ${after.length} messages`)
  return [
    { what: 'every message is there, and the new ones', holds: after.length === length + 2 },
    { what: 'what cannot be read is said', holds: notice.includes('cannot be read') },
  ]
}

async function playMemoryOff({ prompt }: Stage): Promise<Finding[]> {
  const { result } = await prompt('what is our indentation?', {
    env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' },
  })
  return [{ what: 'no text of it reaches the model', holds: !result.includes('4 spaces') }]
}

/** Permission bits and text of a file; nothing if it is not there. */
async function contents(path: string): Promise<string> {
  const stats = await orAbsent(files.stat(path))
  if (stats === undefined) return ''
  return `${(stats.mode & 0o777n).toString(8)} ${(await files.readFile(path)).toString('utf8')}`
}
