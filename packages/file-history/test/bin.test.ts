import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BIN, fileHistory, spawned, start } from './command-line.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

/** Edits, deletes, makes and chmods files. */
const CODEMOD = 'echo new > a.txt; chmod 600 a.txt; rm d/b.txt; mkdir e; echo made > "e/c d.txt"'
const CHANGED = ['a.txt', 'd/b.txt', 'e/c d.txt']

let work: Project
beforeEach(async () => {
  work = await project({
    'a.txt': { text: 'a1\n', mode: 0o755 },
    'd/b.txt': 'b1\n',
    'same.txt': 'same\n',
    '.git/HEAD': 'ref: refs/heads/main\n',
  })
})
afterEach(() => work.dispose())

const run = (...argv: string[]): ReturnType<typeof spawned> => spawned(work.root, 'run', ...argv)
/** The files of the project, without git's. */
const files = async (): Promise<unknown> =>
  Object.fromEntries(Object.entries(await work.files()).filter(([name]) => !name.startsWith('.git/')))

describe('run', () => {
  test('leaves standard output to the command and says on standard error what changed', async () => {
    const before = await files()
    const { code, out, err } = await run('--', 'sh', '-c', `echo out; ${CODEMOD}`)
    expect({ code, out }).toEqual({ code: 0, out: 'out\n' })
    const id = /^file-history: (run-[0-9a-f]{8}): 3 files changed/.exec(err)?.[1]
    for (const name of CHANGED) expect(err).toContain(`changed ${name}\n`)
    const after = await files()
    expect(after).not.toEqual(before)
    const rewind = await fileHistory(work.root, 'rewind', '--json')
    expect(rewind.code).toBe(0)
    expect(JSON.parse(rewind.out)).toMatchObject({
      messageId: id,
      restored: ['a.txt', 'd/b.txt'].map(work.path),
      deleted: [work.path('e/c d.txt')],
      skipped: [],
      conflicts: [],
    })
    expect(await files()).toEqual(before)
    expect((await fileHistory(work.root, 'undo')).code).toBe(0)
    expect(await files()).toEqual(after)
  })

  test.each([
    { name: 'exits with 7', command: ['sh', '-c', `${CODEMOD}; exit 7`], code: 7, changed: CHANGED },
    { name: 'is killed', command: ['sh', '-c', `${CODEMOD}; kill -9 $$`], code: 137, changed: CHANGED },
    { name: 'is not there', command: ['no-such-command'], code: 127, changed: [] },
    { name: 'is below a file', command: ['./same.txt/x'], code: 127, changed: [] },
    { name: 'cannot be executed', command: ['./same.txt'], code: 126, changed: [] },
  ])('a command that $name: all is put back, its code is kept', async ({ command, code, changed }) => {
    const before = await files()
    const result = await run('--rewind-on-fail', '--json', '--', ...command)
    expect(result.code).toBe(code)
    expect(JSON.parse(result.out)).toEqual({
      id: expect.stringMatching(/^run-[0-9a-f]{8}$/),
      exitCode: code,
      changed: changed.map(work.path),
      untracked: [],
      rewound: true,
    })
    expect(await files()).toEqual(before)
  })

  test('without the option, or where the command succeeds, what it did stays', async () => {
    const before = await files()
    const failed = await run('--json', '--', 'sh', '-c', `${CODEMOD}; exit 1`)
    expect(JSON.parse(failed.out)).toMatchObject({ exitCode: 1, rewound: false })
    expect(await files()).not.toEqual(before)
    await fileHistory(work.root, 'rewind')
    const good = await run('--json', '--rewind-on-fail', '--', 'sh', '-c', CODEMOD)
    expect(JSON.parse(good.out)).toMatchObject({ exitCode: 0, rewound: false })
    expect(await files()).not.toEqual(before)
  })

  test('with --json standard output is one JSON document, whatever the command prints', async () => {
    const { out, err } = await run('--json', '--', 'sh', '-c', 'echo line; printf "no end"; echo warning >&2')
    expect(out).toMatch(/^\{[^\n]*\}\n$/)
    expect(JSON.parse(out)).toMatchObject({ exitCode: 0, changed: [] })
    expect(err).toContain('line\nno end')
    expect(err).toContain('warning\n')
  })

  test('what cannot be covered is named, and what cannot be put back as well', async () => {
    const { code, out, err } = await run(
      '--rewind-on-fail',
      '--json',
      '--',
      'sh',
      '-c',
      'ln -s a.txt link; rm d/b.txt; mkdir d/b.txt; touch d/b.txt/x; echo x > a.txt; exit 3',
    )
    expect(code).toBe(3)
    expect(JSON.parse(out)).toMatchObject({ untracked: ['d/b.txt', 'link'].map(work.path), rewound: false })
    for (const name of ['d/b.txt', 'link']) expect(err).toContain(`not put back: ${name} is not covered\n`)
    expect(await work.read('a.txt')).toBe('a1\n')
  })

  test('what was not covered is named with the reason', async () => {
    await work.write('.gitignore', '*.log\nout/\n')
    await work.write('big.txt', 'b'.repeat(5000))
    await work.write('out/x', 'x1')
    const script = [
      'echo x > a.log',
      'echo x2 > out/x',
      'ln -s a.txt link',
      'mkfifo pipe',
      'rm d/b.txt; mkdir -p d/b.txt; touch d/b.txt/x',
      'echo b > big.txt',
    ]
    const { err } = await run('--max-bytes', '1000', '--', 'sh', '-c', script.join('; '))
    const named = [...err.matchAll(/changed, but not covered: (\S+): (.+)$/gm)].map(([, ...match]) => match)
    const ignored = 'ignored by git’s rules; file-history snapshot PATH covers it'
    expect(named).toEqual([
      ['a.log', ignored],
      ['big.txt', 'it or its copy could not be read, or it was over a limit: --max-files, --max-bytes'],
      ['d/b.txt', 'a directory is in its place'],
      ['link', 'it is a symbolic link'],
      ['out/x', ignored],
      ['pipe', 'it is no regular file'],
    ])
    // And it is true.
    await fileHistory(work.root, 'snapshot', 'out/x')
    await run('--rewind-on-fail', '--', 'sh', '-c', 'echo x3 > out/x; exit 1')
    expect(await work.read('out/x')).toBe('x2\n')
  })

  test('where all is put back, ignored folders that were not looked into are named', async () => {
    await work.write('.gitignore', 'out/\n')
    for (const name of ['a', 'b', 'c', 'd', 'e']) await work.write(`out/deep/${name}`, 'x1')
    const fail = ['--rewind-on-fail', '--', 'sh', '-c', 'echo x > a.txt; echo x2 > out/deep/a; exit 1']
    const { err } = await run('--max-files', '4', ...fail)
    expect(err).toContain('put back: 1 of 1 file\n')
    expect(err).toContain(
      '1 ignored folder not looked into, beyond --max-files: out/deep; what changed there stays\n',
    )
    const all = await run(...fail)
    expect(all.err).toContain('not put back: out/deep/a is not covered\n')
    expect(all.err).not.toContain('not looked into')
  })

  test('--max-files bounds what is covered', async () => {
    const { err } = await run('--max-files', '1', '--', 'sh', '-c', 'echo 2 > a.txt; echo 2 > d/b.txt')
    expect(err).toContain('1 file changed')
    expect(err).toContain('changed, but not covered: d/b.txt: ')
  })

  test.each([
    ['git is not used', 'echo new > a.txt', ''],
    ['a commit', 'git commit -qam two', 'HEAD moved and the index was written'],
    ['a checkout', 'git checkout -q --detach', 'HEAD moved'],
    ['git add', 'git add same.txt', 'the index was written'],
  ])('what git keeps for itself is not taken back, and that is said: %s', async (_, script, what) => {
    await fs.rm(work.path('.git'), { recursive: true })
    const git = 'git -c user.name=n -c user.email=e@x'
    const prepare = `git init -q && git add -A && ${git} commit -qm one && git pack-refs --all; echo 2 > same.txt`
    spawnSync('sh', ['-c', prepare], { cwd: work.root })
    const { err } = await run('--', 'sh', '-c', script.replace(/^git/, git))
    const said = /^file-history: git: (.+); no rewind takes that back, git does$/m.exec(err)?.[1]
    // A checkout may refresh what the index says of the files.
    expect((said ?? '').replace(script.includes('detach') ? / and the index was written/ : '', '')).toBe(what)
  })

  test('list says what a run was and how it ended, until that is lost', async () => {
    await run('--', 'sh', '-c', 'echo $(( 1 + 1 )); exit 7')
    await run('--', 'true', 'a\n', 'x'.repeat(100))
    const text = String.raw`  exit code 0: true 'a\n' ${'x'.repeat(49)}…`
    const { out } = await fileHistory(work.root, 'list')
    expect(out.split('\n').map((line) => line.replace(/^run-\w+ {2}\S+ {2}tracks \d files?/, ''))).toEqual([
      "  exit code 7: sh -c 'echo $(( 1 + 1 )); exit 7'",
      text,
      '',
    ])
    const noted = work.path('.git/file-history/runs.jsonl')
    expect((await fs.stat(noted)).mode & 0o777).toBe(0o600)
    await fs.writeFile(noted, 'damaged\n{"id":1}\n')
    expect((await fileHistory(work.root, 'list')).out).not.toContain('exit code')
    expect((await fileHistory(work.root, 'verify')).out).toBe('no damage\n')
  })

  test('of runs whose snapshots are not listed any more nothing is kept: arguments may be secret', async () => {
    const noted = work.path('.git/file-history/runs.jsonl')
    await run('--', 'true', 'first')
    const [line = ''] = (await fs.readFile(noted, 'utf8')).split('\n')
    await fs.writeFile(
      noted,
      `${line.replace(/run-\w+/, 'run-evicted').replace('first', 'secret')}\n{"torn\n${line}`,
    )
    await run('--', 'true', 'second')
    const left = (await fs.readFile(noted, 'utf8')).trimEnd().split('\n')
    expect(left).toEqual([line, expect.stringMatching(/"command":\["true","second"\],"exitCode":0\}$/)])
    expect((await fs.stat(noted)).mode & 0o777).toBe(0o600)
  })

  test('of more than 20 names the rest is counted', async () => {
    const { err, out } = await run('--json', '--', 'sh', '-c', 'for i in $(seq 23); do echo $i > new$i; done')
    expect(err.match(/ {2}changed new/g)).toHaveLength(20)
    expect(err).toContain('23 files changed')
    expect(err).toMatch(/… and 3 more\n$/)
    expect(JSON.parse(out)).toMatchObject({ changed: { length: 23 } })
  })

  test('of a command that cannot be started it says what helps, and counts no files', async () => {
    const { err } = await run('--rewind-on-fail', '--', './same.txt')
    expect(err).toMatch(/\(EACCES\); chmod \+x \.\/same\.txt, or run it with a shell: sh \.\/same\.txt\n/)
    expect(err).not.toContain('put back')
  })

  test('a file outside of the root does not keep the others from being put back, and is named', async () => {
    await fs.writeFile(work.beside('outside.txt'), 'o1')
    await fileHistory(work.root, 'snapshot', '../outside.txt')
    const script = 'echo new > a.txt; echo o2 > ../outside.txt; exit 3'
    const { out, err } = await run('--rewind-on-fail', '--json', '--', 'sh', '-c', script)
    expect(JSON.parse(out)).toMatchObject({ changed: [work.path('a.txt')], untracked: [], rewound: false })
    expect(err).toContain(`not put back: conflict ${work.beside('outside.txt')}: `)
    expect(await work.read('a.txt')).toBe('a1\n')
  })

  test('standard input, and output of any size through a pipe, are the command’s', async () => {
    await work.write('big.txt', 'x'.repeat(1 << 20))
    const { child, ended } = start(work.root, 'run', '--', 'sh', '-c', 'cat; cat big.txt')
    child.stdin?.end('typed')
    const { code, out } = await ended
    expect({ code, sizeBytes: out.length, start: out.slice(0, 6) }).toEqual({
      code: 0,
      sizeBytes: (1 << 20) + 5,
      start: 'typedx',
    })
  })

  test('arguments come through as they are, options of ours among them', async () => {
    const { out } = await run('--', 'printf', '%s|', '--json', '--', '', 'a b', '$HOME')
    expect(out).toBe('--json|--||a b|$HOME|')
  })

  test('a history that is open elsewhere is one line, and the command is not run', async () => {
    const holder = start(work.root, 'run', '--', 'sh', '-c', 'echo ready; cat')
    await holder.printed
    const { code, out, err } = await run('--rewind-on-fail', '--', 'sh', '-c', CODEMOD)
    expect({ code, out }).toEqual({ code: 125, out: '' })
    expect(err).toMatch(
      /^file-history: The file history "[^\n;]+; end that process, [^\n]+\[HISTORY_LOCKED\]\n$/,
    )
    expect(await work.read('a.txt')).toBe('a1\n')
    // Those who only look are let in.
    expect((await fileHistory(work.root, 'list')).out).toMatch(/^run-/)
    holder.child.stdin?.end()
    expect((await holder.ended).code).toBe(0)
  })

  test('a command that cannot be taken back is not run', async () => {
    const { code, out, err } = await spawned(
      work.root,
      'run',
      '--dir',
      'same.txt/h',
      '--',
      'sh',
      '-c',
      CODEMOD,
    )
    expect({ code, out }).toEqual({ code: 125, out: '' })
    expect(err).toMatch(/^file-history: [^\n]+same\.txt[^\n]+\n$/)
    expect(await work.read('a.txt')).toBe('a1\n')
  })

  test.each([
    [0, 125],
    [3, 3],
  ])('a command that ends with %i and could not be recorded: exit code %i, no JSON', async (own, code) => {
    const script = `echo new > a.txt; rm .git/file-history/snapshots.jsonl; mkdir .git/file-history/snapshots.jsonl; exit ${own}`
    const { code: exitCode, out, err } = await run('--rewind-on-fail', '--json', '--', 'sh', '-c', script)
    expect({ exitCode, out }).toEqual({ exitCode: code, out: '' })
    expect(err).toMatch(
      /file-history: run-\w+: what the command changed is not recorded; file-history rewind run-/,
    )
  })

  test.each([
    [0, 125],
    [3, 3],
  ])(
    'a command that removes the history and ends with %i: that is said, exit code %i, no JSON',
    async (own, code) => {
      const script = `echo new > a.txt; rm -r .git/file-history; exit ${own}`
      const { code: exitCode, out, err } = await run('--rewind-on-fail', '--json', '--', 'sh', '-c', script)
      expect({ exitCode, out }).toEqual({ exitCode: code, out: '' })
      const lost =
        /: the command removed the file history "\S+\/\.git\/file-history"; nothing can be put back; [^\n]*--dir/
      expect(err).toMatch(lost)
      expect(err).not.toContain('rewind')
    },
  )

  test('names that would pass for other lines, or for more of them, are escaped', async () => {
    const { err } = await run('--', 'sh', '-c', "touch 'a\nfile-history: fake' 'b\u001b[2J'")
    expect(err).toContain(String.raw`changed a\nfile-history: fake`)
    expect(err).toContain(String.raw`changed b\u001b[2J`)
    expect(err).not.toContain('\u001b')
  })
})

describe('signals', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends the command and its children, and all is put back', async (signal, code) => {
    const before = await files()
    const waiting = 'console.log(process.pid); setInterval(() => {}, 1000)'
    const { child, printed, ended } = start(
      work.root,
      'run',
      '--rewind-on-fail',
      '--',
      'sh',
      '-c',
      `${CODEMOD}; "$0" -e "$1"; echo more > a.txt`,
      process.execPath,
      waiting,
    )
    const [pid] = (await printed) as [Buffer]
    child.kill(signal)
    const { code: exitCode, err } = await ended
    expect(exitCode).toBe(code)
    expect(err).toContain('put back: 3 of 3 files\n')
    expect(await files()).toEqual(before)
    expect(isRunning(Number(pid))).toBe(false)
  })

  test('a command that ends well after a signal has not succeeded; one with a code of its own keeps it', async () => {
    for (const [own, code] of [
      [0, 143],
      [9, 9],
    ] as const) {
      const { child, printed, ended } = start(
        work.root,
        'run',
        '--rewind-on-fail',
        '--',
        'sh',
        '-c',
        `trap 'exit ${own}' TERM; ${CODEMOD}; echo ready; while :; do read x; done`,
      )
      await printed
      child.kill('SIGTERM')
      expect((await ended).code).toBe(code)
      expect(await work.read('a.txt')).toBe('a1\n')
    }
  })

  test.each(['at once', 'after the next run'])(
    'what a run that was killed had done is put back %s',
    async (when) => {
      const before = await files()
      const { child, printed, ended } = start(
        work.root,
        'run',
        '--',
        'sh',
        '-c',
        `${CODEMOD}; echo ready; cat`,
      )
      await printed
      child.kill('SIGKILL')
      child.stdin?.end()
      await ended
      expect(await files()).not.toEqual(before)
      if (when === 'at once')
        expect(await fileHistory(work.root, 'rewind')).toMatchObject({ code: 0, err: '' })
      else {
        const next = await run('--', 'true')
        expect(next.code).toBe(0)
        const killed = /^file-history: (run-\w+) was cut off: file-history rewind \1 puts back/.exec(
          next.err,
        )?.[1]
        expect(await fileHistory(work.root, 'rewind', killed ?? '')).toMatchObject({ code: 0, err: '' })
      }
      expect(await files()).toEqual(before)
    },
  )
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('the process', () => {
  test('--help and --version load what they need and nothing else', () => {
    for (const flag of ['--help', '--version']) {
      const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, flag], {
        env: { ...process.env, NODE_DEBUG: 'esm' },
        encoding: 'utf8',
      })
      const urls = stderr.matchAll(/file:\/\/\S+?\/([\w-]+)\.m?js/g)
      const loaded = new Set(Array.from(urls, ([, name = '']) => name))
      expect(status).toBe(0)
      expect(stdout).not.toBe('')
      expect([...loaded].toSorted()).toEqual(['arguments', 'bin', 'commands', 'run-command-line'])
    }
  })

  test('--version is that of the package', async () => {
    const manifest: unknown = JSON.parse(
      await fs.readFile(new URL('../package.json', import.meta.url), 'utf8'),
    )
    expect(manifest).toMatchObject({ version: (await spawned(work.root, '--version')).out.trim() })
  })

  test('a reader that closes the pipe early is no failure', async () => {
    const child = spawn(process.execPath, [BIN, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test.runIf(process.platform === 'linux')('an answer that cannot be written is an error of one line', () => {
    const shell = spawnSync('sh', ['-c', '"$0" "$1" --help >/dev/full', process.execPath, BIN], {
      encoding: 'utf8',
    })
    expect(shell).toMatchObject({
      status: 125,
      stderr: 'file-history: cannot write to standard output: ENOSPC\n',
    })
  })
})
