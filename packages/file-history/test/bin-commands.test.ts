import * as fs from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SignalName } from '../src/command-line/command-context.ts'
import { fileHistory, fileHistoryIn } from './command-line.ts'
import type { Run } from './command-line.ts'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': { text: 'a1\n', mode: 0o644 }, 'b.txt': 'b1\n' })
  const history = await work.open()
  await history.makeSnapshot('run-1')
  await edit(work, history, 'a.txt', 'a2\n')
  await edit(work, history, 'b.txt', 'b2\n')
  await edit(work, history, 'new.txt', 'n2\n')
  await history.close()
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.dispose()
})

const run = (...argv: string[]): Promise<Run> => fileHistory(work.root, ...argv, '--dir', work.dir)
const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await run(...argv, '--json')).out)

describe('looking', () => {
  test('list: the snapshots, oldest first', async () => {
    expect(await json('list')).toMatchObject([
      { messageId: 'run-1', trackedFileBackups: { 'a.txt': { version: 1 } } },
    ])
    expect((await run('list')).out).toMatch(/^run-1 {2}2026-01-01T00:00:\d\d\.000Z {2}tracks 3 files\n$/)
  })

  test('diff: from the last run to the disk, as git shows it; with --exit-code 1 if something differs', async () => {
    await fs.chmod(work.path('a.txt'), 0o600)
    await fs.chmod(work.path('b.txt'), 0o755)
    expect(await run('diff')).toEqual({
      code: 0,
      out: [
        'b/a.txt: mode 644 is now 600',
        'diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-a1\n+a2',
        'diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755',
        '--- a/b.txt\n+++ b/b.txt\n@@ -1,1 +1,1 @@\n-b1\n+b2',
        'diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+n2\n',
      ].join('\n'),
      err: '',
    })
    expect((await run('diff', '--exit-code')).code).toBe(1)
    expect(await json('diff', 'run-1')).toMatchObject([
      { path: work.path('a.txt'), kind: 'modify', insertions: 1 },
      { path: work.path('b.txt'), kind: 'modify' },
      { path: work.path('new.txt'), kind: 'create' },
    ])
    await run('rewind', '--on-conflict', 'overwrite')
    expect(await run('diff', '--exit-code')).toEqual({ code: 0, out: '', err: '' })
  })

  test('diff: what has no lines, and a mode alone, are named', async () => {
    await fs.chmod(work.path('a.txt'), 0o640)
    await work.write('a.txt', 'a1\n')
    await work.write('b.txt', new Uint8Array([0, 1, 2]))
    await work.write('new.txt', '')
    // Deflated bytes are zlib's choice.
    expect((await run('diff')).out.replaceAll(/^K.+$/gm, 'K…')).toBe(
      [
        'b/a.txt: mode 644 is now 640',
        'diff --git a/b.txt b/b.txt',
        'index c9c6af7f78bc47490dbf3e822cf2f3c24d4b9061..8352675d67aed6625ece79af41c27fdb4ee2e867',
        'GIT binary patch\nliteral 3\nK…\n\nliteral 3\nK…\n',
        'diff --git a/new.txt b/new.txt\nnew file mode 100644\n',
      ].join('\n'),
    )
    await work.remove('b.txt')
    await work.remove('new.txt')
    expect((await run('diff')).out).toContain(
      'a/b.txt b/b.txt\ndeleted file mode 100644\n--- a/b.txt\n+++ /dev/null\n',
    )
  })

  test('diff: names are quoted as git does it', async () => {
    const name = 'tab\tquo"te\\ü'
    const history = await work.open()
    await edit(work, history, name, '')
    await edit(work, history, 'a b', '')
    await history.close()
    const { out } = await run('diff')
    expect(out).toContain(String.raw`diff --git "a/tab\tquo\"te\\\303\274" "b/tab\tquo\"te\\\303\274"`)
    expect(out).toContain('diff --git a/a b b/a b\n')
  })

  test('the last run is the last snapshot that a run made', async () => {
    const history = await work.open()
    await history.makeSnapshot('mine')
    await history.close()
    expect((await run('diff', '--exit-code')).code).toBe(1)
    expect((await run('diff', 'mine', '--exit-code')).code).toBe(0)
  })

  test('verify: exit code 3 if something is damaged', async () => {
    expect(await run('verify')).toEqual({ code: 0, out: 'no damage\n', err: '' })
    await fs.appendFile(work.inDir('snapshots.jsonl'), '{"torn')
    const { code, out } = await run('verify')
    expect(code).toBe(3)
    expect(out).toMatch(/^[a-z-]+ {2}\S+snapshots\.jsonl:\d+ {2}[^\n]+\n$/)
    expect(await json('verify')).toHaveLength(1)
  })
})

describe('going back', () => {
  test('rewind stops at what somebody changed since, touches nothing and says how to go on', async () => {
    await work.write('b.txt', 'by hand\n')
    const before = await work.all()
    const { code, out, err } = await run('rewind')
    expect(code).toBe(3)
    expect(out).toBe('conflict b.txt: it was changed after the agent left it\n')
    expect(err).toMatch(
      /^file-history: [^\n]+--on-conflict skip, or overwrite, decides \[REWIND_CONFLICT\]\n$/,
    )
    expect(await work.files()).toEqual(Object.fromEntries(projectFiles(before)))
    expect(await json('rewind')).toMatchObject({
      messageId: 'run-1',
      restored: [],
      conflicts: [{ path: work.path('b.txt') }],
      undoable: false,
    })
  })

  test('--on-conflict skip leaves it and says so; overwrite does not, and undo brings it back', async () => {
    await work.write('b.txt', 'by hand\n')
    expect(await run('rewind', '--on-conflict', 'skip')).toMatchObject({
      code: 3,
      out: expect.stringMatching(
        /^restored a\.txt\ndeleted new\.txt\nconflict b\.txt: .+\nfile-history undo/,
      ),
    })
    expect(await work.read('b.txt')).toBe('by hand\n')
    expect((await run('rewind', '--on-conflict', 'overwrite')).code).toBe(0)
    expect(await work.read('b.txt')).toBe('b1\n')
    expect(await json('undo')).toMatchObject({ restored: [work.path('b.txt')], undoable: true })
    expect(await work.read('b.txt')).toBe('by hand\n')
  })

  test('undo --list names the rewinds, and undo ID takes back that one', async () => {
    expect((await run('undo', '--list')).out).toBe('no rewinds\n')
    await run('rewind')
    await run('undo')
    await work.write('a.txt', 'by hand\n')
    await run('rewind', '--on-conflict', 'overwrite')
    const [newest] = (await json('undo', '--list')) as { id: string }[]
    const { out } = await run('undo', '--list')
    expect(out.split('\n').map((line) => line.replace(/^(\S+) {2}\S+/, '$1'))).toEqual([
      `${newest?.id ?? ''}  rewind to run-1`,
      expect.stringMatching(/^r\d+ {2}undo of a rewind to run-1$/),
      expect.stringMatching(/^r\d+ {2}rewind to run-1, undone$/),
      '',
    ])
    expect((await run('undo', newest?.id ?? '')).code).toBe(0)
    expect(await work.read('a.txt')).toBe('by hand\n')
    expect(await run('undo', 'r99')).toMatchObject({
      code: 125,
      err: 'file-history: There is no rewind "r99"; file-history undo --list shows the ids [SNAPSHOT_NOT_FOUND]\n',
    })
  })

  test('an error names the file that was meant, not one in the making', async () => {
    const denied = (part: string): void =>
      setFaultHook((_, path) =>
        path.includes(part) ? Object.assign(new Error('no'), { code: 'EACCES' }) : undefined,
      )
    denied('/.loci-')
    const skipped = await run('rewind')
    denied('.tmp')
    const refused = await run('rewind')
    setFaultHook(undefined)
    expect(skipped.out).toMatch(/^skipped a\.txt: Cannot \w+ it: /m)
    expect(refused.err).toMatch(/^file-history: Cannot \w+ "\S+\/\.history\.lock\.\d+": .+ \[DISK_IO\]\n$/)
    expect(`${skipped.out}${refused.err}`).not.toContain('.tmp')
  })

  test('undo keeps what was changed since, unless told to overwrite it', async () => {
    await run('rewind')
    await work.write('a.txt', 'by hand\n')
    const kept = await run('undo')
    expect(kept).toMatchObject({ code: 3, out: expect.stringContaining('conflict a.txt: ') })
    expect(await work.read('a.txt')).toBe('by hand\n')
    expect(await work.read('b.txt')).toBe('b2\n')
  })

  test.each(['', 'r1'])('what undo %s left is taken back by what its last line says', async (id) => {
    await run('rewind')
    await work.write('a.txt', 'by hand\n')
    const ids = id === '' ? [] : [id]
    const advice = ['undo', ...ids, '--on-conflict', 'overwrite']
    expect((await run('undo', ...ids)).out.split('\n').at(-2)).toBe(
      `file-history ${advice.join(' ')} takes back what is left`,
    )
    expect((await run(...advice)).code).toBe(0)
    expect(await work.read('a.txt')).toBe('a2\n')
  })

  test('what an undo could not write is taken back by the next one, as its last line says', async () => {
    await run('rewind')
    await fs.mkdir(work.path('new.txt'))
    expect((await run('undo')).out).toMatch(
      /^skipped new\.txt: [^\n]+\nfile-history undo takes back what is left, once that can be done\n$/m,
    )
    await work.remove('new.txt')
    expect(await run('undo')).toMatchObject({ code: 0, out: expect.stringContaining('restored new.txt\n') })
  })

  test.each([
    ['finish', 'a1\n'],
    ['undo', 'a2\n'],
  ])('an interrupted rewind is reported, and resolve %s ends it', async (how, text) => {
    let appends = 0
    setFaultHook((operation, path) => {
      if (operation !== 'append' && operation !== 'write') return undefined
      if (path.endsWith('edits.jsonl')) appends += 1
      return appends > 1 ? Object.assign(new Error('full'), { code: 'ENOSPC' }) : undefined
    })
    expect(await run('rewind')).toMatchObject({ code: 125, err: expect.stringContaining('[DISK_FULL]') })
    setFaultHook(undefined)
    for (const command of [['rewind'], ['undo'], ['snapshot'], ['rewind', 'run-1']]) {
      const refused = await run(...command)
      expect(refused.code).toBe(3)
      expect(refused.err).toMatch(
        /^[^\n]+was interrupted; file-history resolve finish, or undo, ends it \[REWIND_INCOMPLETE\]\n$/,
      )
    }
    expect((await fileHistory(work.root, 'run', '--dir', work.dir, '--', 'true')).code).toBe(125)
    expect((await run('verify')).code).toBe(3)
    expect((await run('resolve', how)).code).toBe(0)
    expect(await work.read('a.txt')).toBe(text)
    expect((await run('verify')).code).toBe(0)
  })
})

describe('a signal', () => {
  /** Runs it, and sends a signal just before a file operation that fits. */
  function signalled(when: (operation: string, path: string) => boolean, ...argv: string[]): Promise<Run> {
    let tell: ((signal: SignalName) => void) | undefined
    setFaultHook((operation, path) => {
      if (when(operation, path)) tell?.('SIGTERM')
      return undefined
    })
    const world = {
      cwd: () => work.root,
      onSignal: (listener: typeof tell) => {
        tell = listener
      },
    }
    return fileHistoryIn(world, ...argv, '--dir', work.dir)
  }
  const looking = (_: string, path: string): boolean => path.endsWith('edits.jsonl')

  test.each(['rewind', 'undo'])(
    'before %s has touched a file: it says so, exit code 128 + n',
    async (command) => {
      await run('rewind')
      if (command === 'rewind') await run('undo')
      const before = await work.files()
      const interrupted = await signalled(looking, command, '--json')
      expect(interrupted).toEqual({
        code: 143,
        out: '',
        err: 'file-history: interrupted; nothing was changed\n',
      })
      expect(await work.files()).toEqual(before)
    },
  )

  test('after that: the rewind goes to its end and says what it did', async () => {
    const result = await signalled(
      (operation, path) => operation === 'rename' && path === work.path('a.txt'),
      'rewind',
    )
    expect(result).toMatchObject({ code: 143, err: '', out: expect.stringContaining('restored b.txt\n') })
    expect(await work.read('b.txt')).toBe('b1\n')
    expect((await run('verify')).code).toBe(0)
  })
})

function projectFiles(all: Awaited<ReturnType<Project['all']>>): [string, unknown][] {
  return Object.entries(all).flatMap(([name, file]): [string, unknown][] =>
    name.startsWith('project/') ? [[name.slice('project/'.length), file]] : [],
  )
}

describe('snapshot', () => {
  test('records the files named, and a rewind to it goes back from whatever is done next', async () => {
    await work.write('d/c.txt', 'c1\n')
    const here = (...argv: string[]): Promise<Run> => fileHistory(work.path('d'), ...argv, '--dir', work.dir)
    const made: unknown = JSON.parse((await here('snapshot', 'c.txt', '--json', '--root', work.root)).out)
    expect(made).toMatchObject({
      messageId: expect.stringMatching(/^snapshot-[0-9a-f]{8}$/),
      trackedFileBackups: { 'a.txt': {}, 'd/c.txt': { version: 1 } },
    })
    await work.write('d/c.txt', 'c2\n')
    await work.write('a.txt', 'a3\n')
    const { messageId } = made as { messageId: string }
    expect(await run('rewind', messageId)).toMatchObject({ code: 0, err: '' })
    expect(await work.read('d/c.txt')).toBe('c1\n')
    expect(await work.read('a.txt')).toBe('a2\n')
  })

  test('with paths that cannot be recorded there is none; each is named', async () => {
    await fs.symlink('a.txt', work.path('link'))
    await work.write('c.txt', 'c1\n')
    await work.write('.git/config', '')
    await fs.symlink('.git', work.path('git'))
    const paths = [
      'link',
      'c.txt',
      '.',
      '.git/config',
      'git/config',
      'nofile',
      `${work.dir}/edits.jsonl`,
      'a.txt/x',
    ]
    const before = await work.all()
    const { code, out, err } = await run('snapshot', ...paths)
    expect({ code, out }).toEqual({ code: 125, out: '' })
    expect(err.split('\n').map((line) => /"(\S+)" .+ \[(\w+)\]$/.exec(line)?.slice(1))).toEqual([
      [work.path('link'), 'PATH_LINK'],
      [`${work.root}/.`, 'PATH_INVALID'],
      [work.path('.git/config'), 'PATH_INVALID'],
      [work.path('.git/config'), 'PATH_INVALID'],
      [work.path('nofile'), 'PATH_INVALID'],
      [`${work.dir}/edits.jsonl`, 'PATH_INVALID'],
      [work.path('a.txt/x'), 'PATH_INVALID'],
      undefined,
    ])
    expect((await run('list')).out).toMatch(/^run-1 [^\n]+\n$/)
    expect(projectFiles(await work.all())).toEqual(projectFiles(before))
  })

  test('without a file to record it is made, and says that it holds none', async () => {
    const { code, out, err } = await fileHistory(work.root, 'snapshot', '--dir', work.beside('fresh'))
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^snapshot-\S+ {2}\S+ {2}tracks 0 files\n$/),
    })
    expect(err).toBe('file-history: no file is recorded yet; file-history snapshot PATH… names some\n')
    expect((await run('snapshot')).err).toBe('')
  })

  test('a tracked file that is gone is recorded as such', async () => {
    await work.remove('b.txt')
    expect(await run('snapshot', 'b.txt')).toMatchObject({ code: 0, err: '' })
  })

  test('what stands in the place of a tracked file is no reason to refuse', async () => {
    await work.remove('a.txt')
    await fs.symlink('b.txt', work.path('a.txt'))
    expect(await run('snapshot')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/3 files\n$/),
    })
  })
})

describe('words', () => {
  test.each([
    ['', 'a command is needed'],
    ['frobnicate', 'there is no command "frobnicate"'],
    ['toString', 'there is no command "toString"'],
    ['run', 'run needs -- and then what is to be run'],
    ['run true', 'run needs -- and then what is to be run'],
    ['run --', 'run needs -- and then what is to be run'],
    ['run true -- true', 'run needs -- and then what is to be run'],
    ['run npx --yes', 'what is to be run goes after --'],
    ['run --dry-run -- true', 'run has no option --dry-run'],
    ['list x', 'list takes no further word: "x"'],
    ['list -- x', 'list takes no further word: "x"'],
    ['rewind a b', 'rewind takes no further word: "b"'],
    ['rewind --on-conflict maybe', '--on-conflict takes stop, skip, overwrite, not "maybe"'],
    ['undo --on-conflict stop', '--on-conflict takes skip, overwrite, not "stop"'],
    ['resolve', 'resolve needs finish|undo'],
    ['resolve it', 'resolve takes finish, undo, not "it"'],
    ['run --max-files 0 -- true', '--max-files takes a whole number from 1, not "0"'],
    ['run --max-bytes 1e3 -- true', '--max-bytes takes a whole number from 1, not "1e3"'],
    ['undo r1 --list', 'undo takes an ID or --list, not both'],
    ['list --dir', 'argument missing'],
    ['list --dir=', '--dir needs a value that is not empty'],
    ['list --root=', '--root needs a value that is not empty'],
    ['list --root nowhere', '--root "nowhere" is no directory'],
    ['list --nonsense', '--nonsense'],
  ])('file-history %s: exit code 2 and one line', async (words, problem) => {
    const { code, out, err } = await fileHistory(work.root, ...words.split(' ').filter((word) => word !== ''))
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^file-history: [^\n]+; see file-history --help\n$/)
    expect(err).toContain(problem)
  })

  test('help is the help, whatever it is asked about', async () => {
    const { out } = await fileHistory(work.root, '--help')
    for (const words of [['help'], ['help', 'run'], ['run', '--help']])
      expect(await fileHistory(work.root, ...words)).toEqual({ code: 0, out, err: '' })
  })

  test('the help names every command and fits 80 columns', async () => {
    const { code, out } = await fileHistory(work.root, '--help')
    expect(code).toBe(0)
    for (const name of [
      'run',
      'snapshot',
      'list',
      'diff',
      'rewind',
      'undo',
      'resolve',
      'verify',
      'gc',
      'unlock',
    ])
      expect(out).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('an unknown id, and an undo of nothing, are refused in one line', async () => {
    expect(await run('rewind', 'nowhere')).toMatchObject({
      code: 125,
      err: expect.stringMatching(
        /^file-history: There is no snapshot nowhere; file-history list shows the ids \[SNAPSHOT_NOT_FOUND\]\n$/,
      ),
    })
    expect(await run('undo')).toMatchObject({ code: 125, err: expect.stringMatching(/^[^\n]+\n$/) })
  })
})

describe('upkeep', () => {
  test('gc says what it would remove, and removes it', async () => {
    await fs.mkdir(work.inDir('base'), { recursive: true })
    await fs.writeFile(work.inDir('base/0123'), 'left over')
    expect((await run('gc', '--dry-run')).out).toBe('would remove 1 file, 9 bytes\n')
    expect((await run('gc')).out).toBe('removed 1 file, 9 bytes\n')
    expect(await json('gc')).toEqual({ removed: [], freedBytes: 0 })
  })

  test('unlock refuses as long as the owner lives', async () => {
    const history = await work.open()
    expect(await run('unlock')).toMatchObject({
      code: 125,
      err: expect.stringMatching(/^[^\n]+\[HISTORY_LOCKED\]\n$/),
    })
    await history.close()
    expect(await run('unlock')).toMatchObject({ code: 0, out: 'unlocked\n' })
  })
})
