import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory, RewindResult } from '@loci/file-history'
import { isLociError } from '@loci/disk'
import * as fc from 'fast-check'
import { expect } from 'vitest'
import { canUndo, emptyModel, rewind, snapshot, track, undo } from './concurrent-model.ts'
import type { Model, State } from './concurrent-model.ts'
import { interleave } from './interleaving.ts'
import type { Interleaving } from './interleaving.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

export const FILES = ['f', 'g', 'h']
const MAX_SNAPSHOTS = 3

/** One seed, so that no run depends on luck; another one (`LOCI_SEED`) looks further. */
export const SEED = Number(process.env['LOCI_SEED'] ?? 1)

const file = fc.constantFrom(...FILES)
export const edit = fc.record({ kind: fc.constant('edit' as const), file, isGone: fc.boolean() })
export const take = fc.record({ kind: fc.constant('snapshot' as const) })
export const command = fc.record({ kind: fc.constant('command' as const), file, isGone: fc.boolean() })
export const action = fc.oneof(
  { weight: 4, arbitrary: edit },
  { weight: 3, arbitrary: take },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('rewind' as const),
      target: fc.nat(5),
      onConflict: fc.constantFrom('skip' as const, 'overwrite' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('undo' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('gc' as const) }) },
)
export type Action = typeof action | typeof command extends fc.Arbitrary<infer T> ? T : never

/** From a call to its end, in moments of the run. */
interface Span {
  start: number
  end: number
}

/** A moment of the run that the model knows, with what was seen of it. */
export interface Event {
  label: string
  /** Events that certainly came before: of the same caller, or ended before this began. */
  before: number[]
  start: number
  end: number
  /** A file written by the caller itself: it holds nobody up, and two callers do it in any order. */
  isWrite: boolean
  /** Does it to the model; `false`: the model would have done something else. */
  apply: (model: Model) => boolean
}

/** Runs the callers side by side and notes what was seen of each call. */
export class Run {
  readonly events: Event[] = []
  readonly #work: Project
  readonly #history: FileHistory
  readonly #turns: Interleaving
  readonly #ids: string[]
  #time = 0
  #looking = 0
  /** From the call of each snapshot to its end, by id. */
  readonly spans = new Map<string, Span>()
  readonly #start: Record<string, State>
  /** `allowed`: when the call returned that gave leave to write. */
  #writes: { file: string; text: State; time: number; allowed: number }[] = []

  constructor(work: Project, history: FileHistory, turns: Interleaving, ids: string[]) {
    this.#work = work
    this.#history = history
    this.#turns = turns
    this.#ids = ids
    this.#start = diskOf(work)
  }

  /** One event of a caller; `apply` gets what the call was seen to give. */
  async #event<T>(
    label: string,
    last: number[],
    call: () => Promise<T>,
    apply: (model: Model, seen: T, span: Span) => boolean,
    isWrite = false,
  ): Promise<number[]> {
    const start = (this.#time += 1)
    const seen = await call()
    const end = (this.#time += 1)
    this.spans.set(label.split(' ').at(-1) ?? '', { start, end })
    this.events.push({
      label,
      before: last,
      start,
      end,
      isWrite,
      apply: (model) => apply(model, seen, { start, end }),
    })
    return [this.events.length - 1]
  }

  #put(name: string, text: State, allowed: number): void {
    this.#writes.push({ file: name, text, time: (this.#time += 1), allowed })
    if (text === null) rmSync(this.#work.path(name), { force: true })
    else writeFileSync(this.#work.path(name), text)
  }

  /** A write of a caller; not while a command's tree is looked at, which is no single moment. */
  #write(name: string, text: State, last: number[]): Promise<number[]> {
    const allowed = Math.max(...last.map((index) => this.events[index]?.end ?? 0))
    const write = (): Promise<void> =>
      this.#turns.act(
        () => this.#put(name, text, allowed),
        () => this.#looking === 0,
      )
    const apply = (model: Model): boolean => ((model.disk[name] = text), true)
    return this.#event(`write ${name} ${text}`, last, write, apply, true)
  }

  async caller(number: number, actions: readonly Action[], last: number[]): Promise<void> {
    for (const [index, next] of actions.entries()) {
      await this.#turns.turn()
      last = await this.#act(next, `${number}${index}`, last)
    }
  }

  #act(next: Action, id: string, last: number[]): Promise<number[]> {
    const history = this.#history
    // All texts have one size: nothing but the bytes tells them apart.
    const text = 'isGone' in next && next.isGone ? null : id
    if (next.kind === 'edit') return this.#edit(next.file, text, id, last)
    if (next.kind === 'command') return this.#command(next.file, text, `c${id}`)
    if (next.kind === 'rewind') return this.#rewind(next, last)
    if (next.kind === 'snapshot') {
      const apply = (model: Model): boolean => (snapshot(model, `m${id}`), true)
      return this.#event(`snapshot m${id}`, last, () => history.makeSnapshot(`m${id}`), apply)
    }
    if (next.kind === 'gc')
      return this.#event(
        'gc',
        last,
        () => history.gc(),
        () => true,
      )
    const apply = (model: Model, seen: RewindResult | string, span: Span): boolean =>
      typeof seen === 'string'
        ? seen === 'SNAPSHOT_NOT_FOUND' && !canUndo(model)
        : undo(model, this.#seen(seen, span))
    return this.#event('undo', last, () => outcomeOf(history.undoRewind()), apply)
  }

  async #edit(name: string, text: State, id: string, last: number[]): Promise<number[]> {
    const history = this.#history
    const tracked = await this.#event(
      `track ${name} e${id}`,
      last,
      () => history.trackEdit(name, `e${id}`),
      (model) => (track(model, name, `e${id}`), true),
    )
    const written = await this.#write(name, text, tracked)
    // What is there then counts, whoever wrote it.
    return this.#event(
      `record ${name} ${id}r`,
      written,
      () => history.recordEdit(name, `e${id}`),
      (model) => ((model.left[name] = model.disk[name] ?? null), true),
    )
  }

  #rewind({ target, onConflict }: Action & { kind: 'rewind' }, last: number[]): Promise<number[]> {
    const id = this.#ids[target % this.#ids.length] ?? ''
    const apply = (model: Model, seen: RewindResult | string, span: Span): boolean => {
      const isThere = model.snapshots.some((one) => one.id === id)
      if (typeof seen !== 'string') return isThere && rewind(model, id, onConflict, this.#seen(seen, span))
      return !isThere && seen === (model.evicted.includes(id) ? 'SNAPSHOT_EVICTED' : 'SNAPSHOT_NOT_FOUND')
    }
    const call = (): Promise<RewindResult | string> => outcomeOf(this.#history.rewind(id, { onConflict }))
    return this.#event(`rewind ${id} ${onConflict}`, last, call, apply)
  }

  /** What a command changes, and what it is told of it. The tree is not written while it is looked at. */
  async #command(name: string, text: State, id: string): Promise<number[]> {
    const start = this.#time
    this.#looking += 1
    const { changed, untracked } = await this.#history.trackCommand(id, async () => {
      const allowed = (this.#time += 1)
      this.#looking -= 1
      await this.#turns.act(
        () => this.#put(name, text, allowed),
        () => this.#looking === 0,
      )
      this.#looking += 1
    })
    this.#looking -= 1
    this.spans.set(id, { start, end: (this.#time += 1) })
    const isChanged = this.statesIn(name, { start, end: start })[0] !== readNow(this.#work.path(name))
    if (isChanged) expect([...changed, ...untracked]).toContain(this.#work.path(name))
    return []
  }

  /** Every state that a file had from the beginning of a span to its end by writes that were allowed before a moment. */
  statesIn(name: string, { start, end }: Span, allowedBefore = Infinity): State[] {
    const writes = this.#writes.filter(
      (write) => write.file === name && write.time <= end && write.allowed < allowedBefore,
    )
    const before = writes.filter(({ time }) => time < start).at(-1)
    const first = before ? before.text : (this.#start[name] ?? null)
    return [first, ...writes.filter(({ time }) => time >= start).map(({ text }) => text)]
  }

  #seen(result: RewindResult, span: Span): Parameters<typeof undo>[1] {
    const isRacing = (name: string): boolean =>
      this.#writes.some((write) => write.file === name && write.time >= span.start && write.time <= span.end)
    return { result, nameOf: (path) => basename(path), isRacing }
  }
}

/** What a call gave, or the code it was refused with. */
async function outcomeOf<T>(call: Promise<T>): Promise<T | string> {
  try {
    return await call
  } catch (error) {
    if (isLociError(error)) return error.code
    throw error
  }
}

const diskOf = (work: Project): Record<string, State> =>
  Object.fromEntries(FILES.map((name) => [name, readNow(work.path(name))]))

function readNow(path: string): State {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}

type States = Record<string, State | undefined>
/** The disk, and the files that each snapshot holds. */
export type Observed = [disk: States, snapshots: [id: string, states: States][]]

/** What a history is seen to hold: disk, snapshots in order, and each file at each of them. */
async function observe(work: Project, history: FileHistory): Promise<Observed> {
  const snapshots: Observed[1] = []
  for (const { messageId } of history.snapshots()) {
    const states: States = {}
    for (const name of FILES) {
      const bytes = await outcomeOf(history.readFileAt(messageId, name))
      if (typeof bytes === 'string') expect(bytes).toBe('BACKUP_MISSING')
      else states[name] = bytes && Buffer.from(bytes).toString()
    }
    snapshots.push([messageId, states])
  }
  return [diskOf(work), snapshots]
}

/** After all calls a rewind to each snapshot gives the bytes that it holds, and leaves the files that it does not. */
async function rewindToAll(work: Project, history: FileHistory, [, snapshots]: Observed): Promise<void> {
  for (const [id, states] of snapshots) {
    const expected = { ...diskOf(work), ...states }
    await history.rewind(id, { onConflict: 'overwrite' })
    expect(diskOf(work)).toEqual(expected)
  }
}

/** Makes the property of callers that run side by side, in an order of file operations that a seed decides. */
export function sideBySide(
  programs: fc.Arbitrary<Action[][]>,
  check: (run: Run, start: Model, seen: Observed) => void,
): fc.IAsyncProperty<[Action[][], boolean, number]> {
  return fc.asyncProperty(programs, fc.boolean(), fc.integer(), async (actions, isFresh, seed) => {
    const work = await project({ f: '00', g: '01' })
    const options = { maxSnapshots: MAX_SNAPSHOTS }
    let history = await work.open(options)
    const model = emptyModel(diskOf(work), MAX_SNAPSHOTS)
    if (!isFresh) {
      await history.makeSnapshot('m')
      snapshot(model, 'm')
    }
    const ids = actions.flatMap((all, caller) =>
      all.map((_, index) => [`m${caller + 1}${index}`, `e${caller + 1}${index}`]),
    )
    const turns = interleave(seed)
    const run = new Run(work, history, turns, ['m', ...ids.flat()])
    try {
      await Promise.all(actions.map((all, caller) => run.caller(caller + 1, all, [])))
    } finally {
      await turns.stop()
    }
    const seen = await observe(work, history)
    const before = history.snapshots()
    await history.close()
    check(run, model, seen)
    expect(await verifyFileHistory({ ...work, ...options })).toEqual([])
    history = await work.open(options)
    expect(history.snapshots()).toEqual(before)
    await rewindToAll(work, history, seen)
    await history.close()
    await work.dispose()
  })
}
