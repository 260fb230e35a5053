import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  chmodSync,
} from 'node:fs'
import { dirname, relative } from 'node:path'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { project } from './project.ts'
import type { Project } from './project.ts'

/** The state of one file in the model; `null`: absent. */
type State = { text: string; mode: number } | null
type Tree = Record<string, State>

const NAMES = ['a', 'd/b', 'd/e/c']
const name = fc.constantFrom(...NAMES)
const text = fc.constantFrom('', 'x', 'y', 'longer\nthan\nothers\n')
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444)

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('edit' as const), name, text, mode }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('external' as const), name, text, mode }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('command' as const), name, text, mode, gone: name }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const), name, to: name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('snapshot' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('rewind' as const),
      target: fc.nat(100),
      onConflict: fc.constantFrom('skip' as const, 'overwrite' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('undo' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('gc' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What must be true, without files, backups, ledgers or journals. */
class Model {
  disk: Tree = {}
  tracked = new Set<string>()
  snapshots: { id: string; states: Tree }[] = []
  /** State of each file before its first edit, and how many snapshots there were then. */
  first = new Map<string, { state: State; at: number }>()
  /** As the agent left it, where that is known. */
  left = new Map<string, State>()
  /** What the last rewind or undo wrote: the next undo takes it back. */
  undo: { name: string; before: State; after: State }[] = []
  /** What the last undo left behind: the next one goes on with it first. */
  rest: Model['undo'] = []

  track(file: string): void {
    if (this.tracked.has(file)) return
    this.tracked.add(file)
    this.first.set(file, { state: this.disk[file] ?? null, at: this.snapshots.length })
  }

  stateAt(index: number, file: string): State {
    const first = this.first.get(file)
    if (first && index < first.at) return first.state
    return this.snapshots[index]?.states[file] ?? null
  }

  /** The tree after a rewind; files that stay because they are conflicts. */
  rewind(index: number, onConflict: 'skip' | 'overwrite'): string[] {
    const conflicts: string[] = []
    const undo: Model['undo'] = []
    for (const file of this.tracked) {
      const [before, after] = [this.disk[file] ?? null, this.stateAt(index, file)]
      if (isSame(before, after)) continue
      if (onConflict === 'skip' && !isSame(before, this.left.get(file) ?? null)) {
        conflicts.push(file)
        continue
      }
      undo.push({ name: file, before, after })
    }
    this.apply(undo, [])
    return conflicts
  }

  /** Files that stay because they are conflicts. */
  undoLast(): string[] {
    const now = (change: Model['undo'][number]): State => this.disk[change.name] ?? null
    const leftOf = (changes: Model['undo']): Model['undo'] =>
      changes.filter((change) => !isSame(now(change), change.before))
    const rest = leftOf(this.rest)
    const changes = rest.length > 0 ? rest : leftOf(this.undo)
    const isOurs = (change: Model['undo'][number]): boolean => isSame(now(change), change.after)
    const conflicts = changes.filter((change) => !isOurs(change))
    const back = changes
      .filter(isOurs)
      .map((change) => ({ name: change.name, before: change.after, after: change.before }))
    this.apply(back, conflicts)
    return conflicts.map((change) => change.name)
  }

  apply(changes: Model['undo'], rest: Model['rest']): void {
    if (changes.length === 0) return
    for (const { name: file, after } of changes) {
      this.disk[file] = after
      this.left.set(file, after)
    }
    this.undo = changes
    this.rest = rest
  }
}

const isSame = (a: State, b: State): boolean => JSON.stringify(a) === JSON.stringify(b)

/** The test's own work does not wait: thousands of runs spend their time in the history. */
function put(work: Project, file: string, state: State): void {
  const path = work.path(file)
  rmSync(path, { force: true })
  if (state === null) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, state.text)
  chmodSync(path, state.mode)
}

function move(work: Project, from: string, to: string): void {
  mkdirSync(dirname(work.path(to)), { recursive: true })
  renameSync(work.path(from), work.path(to))
}

/** What a command leaves of the files that it touches. */
function changesOf(command: Step & { kind: 'command' | 'move' }, disk: Tree): [string, State][] {
  if (command.kind === 'move') {
    const moved = disk[command.name] ?? null
    return moved === null || command.name === command.to
      ? []
      : [
          [command.name, null],
          [command.to, moved],
        ]
  }
  const { name: file, gone, text: bytes, mode: bits } = command
  return file === gone
    ? [[file, { text: bytes, mode: bits }]]
    : [
        [file, { text: bytes, mode: bits }],
        [gone, null],
      ]
}

/** Every file of the project. */
function look(work: Project, folder = work.root): Tree {
  const found: Tree = {}
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) Object.assign(found, look(work, path))
    else {
      found[relative(work.root, path)] = {
        text: readFileSync(path, 'utf8'),
        mode: statSync(path).mode & 0o7777,
      }
    }
  }
  return found
}

async function run(work: Project, steps: readonly Step[]): Promise<void> {
  const model = new Model()
  let history: FileHistory = await work.open()
  const tracking = async (file: string): Promise<void> => {
    await history.trackEdit(file, 'a')
    if (model.snapshots.length === 0) model.snapshots.push({ id: 'a', states: {} })
    model.track(file)
  }
  for (const [number, next] of steps.entries()) {
    if (next.kind === 'edit' || next.kind === 'delete') {
      const state = next.kind === 'edit' ? { text: next.text, mode: next.mode } : null
      await tracking(next.name)
      put(work, next.name, state)
      await history.recordEdit(next.name, 'a')
      model.disk[next.name] = state
      model.left.set(next.name, state)
    } else if (next.kind === 'external') {
      const state = { text: next.text, mode: next.mode }
      put(work, next.name, state)
      model.disk[next.name] = state
    } else if (next.kind === 'command' || next.kind === 'move') {
      const doing = changesOf(next, model.disk).filter(
        ([file, state]) => !isSame(model.disk[file] ?? null, state),
      )
      const { changed, untracked } = await history.trackCommand('a', async () => {
        // A move keeps the inode, as `mv` does.
        if (next.kind === 'move' && doing.length > 0) move(work, next.name, next.to)
        else for (const [file, state] of doing) put(work, file, state)
      })
      expect(changed).toEqual(doing.map(([file]) => work.path(file)).toSorted())
      expect(untracked).toEqual([])
      if (doing.length > 0 && model.snapshots.length === 0) model.snapshots.push({ id: 'a', states: {} })
      for (const [file, state] of doing) {
        model.track(file)
        model.disk[file] = state
        model.left.set(file, state)
      }
    } else if (next.kind === 'snapshot') {
      const id = `m${number}`
      await history.makeSnapshot(id)
      for (const file of model.tracked) model.left.set(file, model.disk[file] ?? null)
      model.snapshots.push({ id, states: { ...model.disk } })
    } else if (next.kind === 'rewind' && model.snapshots.length > 0) {
      const index = next.target % model.snapshots.length
      const plan = await history.planRewind(model.snapshots[index]?.id ?? '')
      const result = await history.rewind(plan, { onConflict: next.onConflict })
      const conflicts = model.rewind(index, next.onConflict)
      expect(result.conflicts.map(({ path }) => path)).toEqual(conflicts.map(work.path).toSorted())
      expect(result.skipped).toEqual([])
      const named = [...result.restored, ...result.deleted, ...result.unchanged]
      expect(named.length + conflicts.length).toBe(model.tracked.size)
    } else if (next.kind === 'undo' && model.undo.length > 0) {
      const result = await history.undoRewind()
      const conflicts = model.undoLast()
      expect(result.conflicts.map(({ path }) => path)).toEqual(conflicts.map(work.path).toSorted())
    } else if (next.kind === 'reopen') {
      await history.close()
      history = await work.open()
    } else if (next.kind === 'gc') {
      await history.gc()
    }
    const expected = Object.entries(model.disk).filter(([, state]) => state !== null)
    expect(look(work)).toEqual(Object.fromEntries(expected))
  }
  for (const [index, { id }] of model.snapshots.entries()) {
    for (const file of model.tracked) {
      const bytes = await history.readFileAt(id, file)
      expect(bytes && Buffer.from(bytes).toString()).toBe(model.stateAt(index, file)?.text ?? null)
    }
  }
  expect(await verifyFileHistory(work)).toEqual([])
  await history.close()
}

test('random histories of edits, snapshots, rewinds, undos and other hands agree with a model in memory', async () => {
  const runs = Number(process.env['LOCI_RUNS'] ?? (process.env['LOCI_LONG'] === '1' ? 1_000 : 200))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const work = await project()
      try {
        await run(work, steps)
      } finally {
        await work.dispose()
      }
    }),
    { numRuns: runs },
  )
}, 7_200_000)
