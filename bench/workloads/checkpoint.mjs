import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { compareRuns } from '../compare.mjs'
import { changeTree, namesOfTree, writeTree } from '../data/source-tree.mjs'
import { runRounds } from '../rounds.mjs'

const COUNTS = [100, 1000]

/** Which peers there are for a step. `faster`: the peer takes longer than we; `most`: it does less, and is a floor. */
const STEPS = {
  first: { faster: ['writeTree', 'cpR', 'cpSync'], most: [] },
  none: { faster: ['writeTree', 'stashCreate'], most: ['stat'] },
  '1 %': { faster: ['writeTree', 'stashCreate'], most: [] },
  'restore 1 %': { faster: ['resetHard'], most: [] },
  link: { faster: ['copy'], most: [] },
}
/** What is to be reached, by step and peer, for so many files. */
const GOALS = {
  100: { none: { writeTree: 20, stat: 1.5 }, link: { copy: 10 } },
  1000: {
    first: { writeTree: 2 },
    none: { writeTree: 4, stat: 1.5 },
    '1 %': { writeTree: 3 },
    'restore 1 %': { resetHard: 2 },
    link: { copy: 10 },
  },
}

/** Git says of an index as new as its files that it may be wrong, and reads the files: so it is never that new here. */
const RACY_MS = 1100

/**
 * Checkpoints of a tree of 1 to 100 KB files in an agent that runs: the first of all files, one with nothing changed,
 * one with 1 % changed, the way back from that; and the backups linked into a fork. Each subject has a tree of its own.
 */
export async function* measure(bench, { only = COUNTS }) {
  const home = join(bench.home, 'checkpoint')
  try {
    for (const count of only.map(Number)) yield* measureSteps(bench, count, home)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

async function* measureSteps(bench, count, home) {
  for (const [number, [step, { faster, most }]] of Object.entries(STEPS).entries()) {
    const operation = `checkpoint ${count.toLocaleString('en')}: ${step}`
    const folder = join(home, `${count}-${number}`)
    const peers = [...faster, ...most]
    const args = (name) => ({ folder: join(folder, name), count, step })
    bench.onProgress(`${operation}: making the data`)
    for (const name of ['loci', ...peers]) writeTree(join(folder, name, 'tree'), count)
    await sleep(RACY_MS)
    const subjects = ['loci', ...peers].map((name) => ({ name, workload: 'checkpoint', args: args(name) }))
    const runs = await runRounds(bench, subjects, (checked) => {
      for (const [name, is] of Object.entries(checked))
        if (is !== true) throw new Error(`${operation}: ${name} has not what the tree held`)
    })
    const goals = GOALS[count]?.[step] ?? {}
    const rows = compareRuns(operation, runs, [
      ...faster.map((peer) => ({ peer, sense: 'times faster', goal: goals[peer] })),
      ...most.map((peer) => ({ peer, sense: 'times as much', goal: goals[peer] })),
    ])
    // Of what a peer does in a process of its own, git or cp, the processor's time is not known.
    for (const row of rows) yield row.peer === 'stat' ? row : { ...row, cpuRatio: undefined }
  }
}

/**
 * Frees a name for the next round. Nothing is deleted before all is measured: ext4 without a journal goes past inodes
 * that were deleted within minutes, one by one, with every file that it makes.
 */
function putAside(path) {
  if (existsSync(path)) renameSync(path, `${path}-${process.pid}`)
}

const digest = (path) => createHash('sha1').update(readFileSync(path)).digest('hex')

/** Git with its own directory beside the tree, as a shadow repository has it. */
function gitOf({ folder, count, step }) {
  const tree = join(folder, 'tree')
  const person = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  }
  const env = { PATH: process.env.PATH, GIT_DIR: join(folder, 'git'), GIT_WORK_TREE: tree, ...person }
  const git = (...words) =>
    execFileSync('git', words, { cwd: tree, env, maxBuffer: 1 << 28 })
      .toString()
      .trim()
  const prepare = async () => {
    if (step === 'first') putAside(join(folder, 'git'))
    if (!existsSync(join(folder, 'git'))) git('init', '-q')
    if (step === 'first') return
    git('add', '-A')
    git('commit', '-q', '--allow-empty', '-m', 'now')
    await sleep(RACY_MS)
    if (step !== 'none') changeTree(tree, count, String(performance.now()))
  }
  return { tree, git, prepare }
}

/** Whether a commit or a tree of git holds all files as they are. */
const holds = (git, tree, treeish, count) =>
  namesOfTree(count)
    .filter((_, number) => number % 37 === 0)
    .every((name) => git('rev-parse', `${treeish}:${name}`) === git('hash-object', join(tree, name)))

export const subjects = {
  loci: async ({ folder, count, step }) => {
    const { linkBackups, openFileHistory } = await import('../file-history.mjs')
    const [root, dir, fork] = ['tree', 'history', 'fork'].map((name) => join(folder, name))
    const names = namesOfTree(count)
    if (step === 'first') putAside(dir)
    const history = await openFileHistory({ dir, root })
    const id = String(history.snapshots().length)
    const track = () => Promise.all(names.map((name) => history.trackEdit(name, id)))
    const isAsTree = async (messageId) => {
      const some = names.filter((_, number) => number % 37 === 0)
      const kept = await Promise.all(some.map((name) => history.readFileAt(messageId, name)))
      return kept.every((bytes, place) => readFileSync(join(root, some[place])).equals(bytes))
    }
    let before
    return {
      prepare: async () => {
        await history.makeSnapshot(id)
        if (step === 'first') return
        if (id === '0') await track()
        await sleep(RACY_MS)
        await history.makeSnapshot(`${id} again`)
        putAside(fork)
        if (step === 'link' || step === 'none') return
        const [name] = changeTree(root, count, 'before')
        await history.makeSnapshot(`${id} before`)
        before = { path: join(root, name), digest: digest(join(root, name)) }
        changeTree(root, count, id)
      },
      run: () => {
        if (step === 'first') return track()
        if (step === 'link') return linkBackups({ fromDir: dir, toDir: fork })
        if (step === 'restore 1 %') return history.rewind(`${id} before`, { onConflict: 'overwrite' })
        return history.makeSnapshot(`${id} now`)
      },
      check: async (result) => {
        if (step === 'link') return result.linked >= count
        if (step === 'first') return isAsTree(id)
        if (step !== 'restore 1 %') return isAsTree(`${id} now`)
        return result.restored.length === Math.max(1, count / 100) && digest(before.path) === before.digest
      },
      close: () => history.close(),
    }
  },

  writeTree: (args) => {
    const { tree, git, prepare } = gitOf(args)
    return {
      prepare,
      run: () => {
        git('add', '-A')
        return git('write-tree')
      },
      check: (hash) => holds(git, tree, hash, args.count),
    }
  },

  stashCreate: (args) => {
    const { tree, git, prepare } = gitOf(args)
    return {
      prepare,
      run: () => git('stash', 'create'),
      check: (hash) => holds(git, tree, hash || 'HEAD', args.count),
    }
  },

  resetHard: (args) => {
    const { tree, git, prepare } = gitOf(args)
    return {
      prepare,
      run: () => git('reset', '-q', '--hard'),
      check: () => holds(git, tree, 'HEAD', args.count),
    }
  },

  cpR: ({ folder, count }) =>
    copying(folder, count, (from, to) => execFileSync('cp', ['-r', from, to]), 'tree'),

  cpSync: ({ folder, count }) =>
    copying(folder, count, (from, to) => cpSync(from, to, { recursive: true }), 'tree'),

  /** As many bytes copied as there are in backups: those of the tree. */
  copy: ({ folder, count }) =>
    copying(folder, count, (from, to) => cpSync(from, to, { recursive: true }), 'tree'),

  stat: ({ folder, count }) => {
    const paths = namesOfTree(count).map((name) => join(folder, 'tree', name))
    return {
      run: () => {
        let sizeBytes = 0
        for (const path of paths) sizeBytes += lstatSync(path).size
        return sizeBytes
      },
      check: (sizeBytes) => sizeBytes > count * 1024,
    }
  },
}

function copying(folder, count, copy, what) {
  const [from, to] = [join(folder, what), join(folder, 'copy')]
  putAside(to)
  mkdirSync(folder, { recursive: true })
  const last = namesOfTree(count).at(-1)
  return {
    run: () => copy(from, to),
    check: () => digest(join(from, last)) === digest(join(to, last)),
  }
}
