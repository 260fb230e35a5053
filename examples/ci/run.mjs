// Shows `file-history` alone in CI: a codemod over a sample tree, put back when it fails, and when it was not wanted.
//
//   node run.mjs TARBALL…     the packed tarballs of @loci/disk and @loci/file-history
//
// Works in a directory of its own, needs npm and its registry, and exits with 0 only if each tree is, file by file,
// byte for byte and mode for mode, what it has to be.
import { spawnSync } from 'node:child_process'
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const TS_MORPH = 'ts-morph@28.0.0'

const tarballs = process.argv.slice(2).map((path) => resolve(path))
const here = import.meta.dirname
const work = mkdtempSync(join(tmpdir(), 'file-history-ci-'))
const project = join(work, 'project')
try {
  if (tarballs.length === 0) throw new Error('give the tarballs of @loci/disk and @loci/file-history')
  cpSync(join(here, 'sample'), project, { recursive: true })
  cpSync(join(here, 'codemod.mjs'), join(work, 'codemod.mjs'))
  install()
  aCodemodThatSucceeds()
  aCodemodThatFailsHalfWay()
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** Beside the sample, so that the tree that is compared is the sample alone. */
function install() {
  writeFileSync(join(work, 'package.json'), JSON.stringify({ name: 'empty', private: true }))
  const options = ['--no-audit', '--no-fund', '--loglevel=error']
  run('npm', ['install', ...options, ...tarballs, TS_MORPH], { cwd: work, code: 0 })
  same(
    readdirSync(join(work, 'node_modules/@loci')).toSorted(),
    ['disk', 'file-history'],
    'what is installed',
  )
}

function aCodemodThatSucceeds() {
  const before = treeOf(project)
  const { stdout } = wrapped({ code: 0 })
  const { changed, rewound } = JSON.parse(stdout.trimEnd().split('\n').at(-1))
  const expected = ['src/greet.ts', 'src/index.ts', 'src/legacy.js']
  same(
    changed,
    expected.map((name) => join(project, name)),
    'what the codemod changed',
  )
  same(rewound, false, 'whether that was put back')
  const after = treeOf(project)
  same(differing(before, after), expected, 'the files that differ')

  const { stdout: diff } = history(['diff', '--exit-code'], { code: 1 })
  process.stdout.write(diff)
  same(diff.includes('+export function greet(name: string): string {'), true, 'the diff shows the new name')

  history(['rewind'], { code: 0 })
  same(treeOf(project), before, 'the tree after the rewind')
  history(['diff', '--exit-code'], { code: 0 })
  history(['undo'], { code: 0 })
  same(treeOf(project), after, 'the tree after the undo of the rewind')
  history(['rewind'], { code: 0 })
  same(treeOf(project), before, 'the tree after the second rewind')
  say('a codemod that succeeds: its changes shown, rewound, redone and rewound again')
}

function aCodemodThatFailsHalfWay() {
  writeFileSync(join(project, 'src/later.ts'), 'export const = sayHello(\n')
  const before = treeOf(project)
  const { stdout, stderr } = wrapped({ code: 7 })
  const { exitCode, changed, untracked, rewound } = JSON.parse(stdout.trimEnd().split('\n').at(-1))
  same({ exitCode, untracked, rewound }, { exitCode: 7, untracked: [], rewound: true }, 'the report')
  same(changed.length, 2, 'how many of the three files were done')
  same(treeOf(project), before, 'the tree after the failure')
  history(['verify'], { code: 0 })
  process.stderr.write(stderr)
  say('a codemod that fails half-way: everything back, its exit code kept')
}

function wrapped(options) {
  const command = [process.execPath, join(work, 'codemod.mjs')]
  return history(['run', '--rewind-on-fail', '--json', '--', ...command], options)
}

function history(words, options) {
  return run('npx', ['--no-install', 'file-history', ...words], { cwd: project, ...options })
}

function run(command, words, { cwd, code }) {
  const { status, stdout, stderr, error } = spawnSync(command, words, { cwd, encoding: 'utf8' })
  if (status === code) return { stdout, stderr }
  const output = `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
  throw new Error(`${output}\n${[command, ...words].join(' ')}: exit code ${status} instead of ${code}`)
}

/** Every file below a directory, with its bytes and its mode. The history itself is left out. */
function treeOf(directory, prefix = '') {
  return readdirSync(join(directory, prefix))
    .filter((name) => name !== '.file-history')
    .flatMap((name) => {
      const path = join(prefix, name)
      const stats = lstatSync(join(directory, path))
      if (stats.isDirectory()) return treeOf(directory, path)
      return [[path, stats.mode.toString(8), readFileSync(join(directory, path), 'base64')]]
    })
}

function differing(before, after) {
  return after.filter((file, index) => String(file) !== String(before[index])).map(([path]) => path)
}

function same(actual, expected, what) {
  const [is, shouldBe] = [actual, expected].map((value) => JSON.stringify(value, null, 1))
  if (is !== shouldBe) throw new Error(`${what}: ${is} instead of ${shouldBe}`)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}
