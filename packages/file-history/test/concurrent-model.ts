import type { RewindResult } from '@loci/file-history'

/** The text of a file; `null`: absent. */
export type State = string | null

interface Entry {
  state: State
  version: number
}

interface Op {
  id: number
  undoes: number | null
  files: Record<string, { before: State; after: State }>
  /** Brought back already, though nothing had to be written for it. */
  settled: string[]
}

/** What a history with files is, without backups, ledgers and journals. Plain data, so that a copy is cheap. */
export interface Model {
  disk: Record<string, State>
  snapshots: { id: string; entries: Record<string, Entry> }[]
  evicted: string[]
  latest: Record<string, Entry>
  /** As the agent left it; absent: nobody knows. */
  left: Record<string, State>
  ops: Op[]
  maxSnapshots: number
}

export function emptyModel(disk: Record<string, State>, maxSnapshots: number): Model {
  return { disk, snapshots: [], evicted: [], latest: {}, left: {}, ops: [], maxSnapshots }
}

const at = (disk: Record<string, State>, file: string): State => disk[file] ?? null

/** All files that a snapshot holds. */
function tracked(model: Model): string[] {
  return [...new Set(model.snapshots.flatMap(({ entries }) => Object.keys(entries)))]
}

export function snapshot(model: Model, id: string): void {
  const entries: Record<string, Entry> = {}
  for (const file of tracked(model)) {
    const state = at(model.disk, file)
    const former = model.latest[file]
    const entry = former?.state === state ? former : { state, version: (former?.version ?? 0) + 1 }
    entries[file] = model.latest[file] = entry
    model.left[file] = state
  }
  model.snapshots.push({ id, entries })
  while (model.snapshots.length > model.maxSnapshots) model.evicted.push(model.snapshots.shift()?.id ?? '')
}

export function track(model: Model, file: string, messageId: string): void {
  const isOnlyInOlder = tracked(model).includes(file) && model.snapshots.at(-1)?.entries[file] === undefined
  if (model.snapshots.length === 0 || isOnlyInOlder) snapshot(model, messageId)
  const newest = model.snapshots.at(-1)
  if (newest && newest.entries[file] === undefined) {
    const state = at(model.disk, file)
    const former = model.latest[file]
    newest.entries[file] = model.latest[file] =
      former?.state === state ? former : { state, version: (former?.version ?? 0) + 1 }
  }
  delete model.left[file]
}

/** The state of a file at the snapshot with this index; `undefined`: not known. */
export function stateAt(model: Model, index: number, file: string): State | undefined {
  for (const [number, { entries }] of model.snapshots.slice(index).entries()) {
    const entry = entries[file]
    if (entry) return number === 0 || entry.version === 1 ? entry.state : undefined
  }
  return undefined
}

const isLeft = (model: Model, file: string): boolean =>
  !(file in model.left) || model.left[file] === at(model.disk, file)

/** Applies what a rewind or undo was seen to do, if these are the files that it had to name so. */
function settle(
  model: Model,
  files: Record<string, { after: State; kind: 'write' | 'unchanged' | 'conflict' | 'skip' }>,
  seen: { result: RewindResult; nameOf: (path: string) => string; isRacing: (file: string) => boolean },
  undoes: number | null,
): boolean {
  const { result, nameOf, isRacing } = seen
  const kinds = new Map<string, string>()
  for (const path of [...result.restored, ...result.deleted]) kinds.set(nameOf(path), 'write')
  for (const path of result.unchanged) kinds.set(nameOf(path), 'unchanged')
  for (const { path } of result.skipped) kinds.set(nameOf(path), 'skip')
  for (const { path, reason } of result.conflicts) {
    kinds.set(nameOf(path), reason.includes('just now') ? 'race' : 'conflict')
  }
  if (kinds.size !== Object.keys(files).length) return false
  const op: Op = { id: model.ops.length, undoes, files: {}, settled: [] }
  for (const [file, { after, kind }] of Object.entries(files)) {
    const found = kinds.get(file)
    if (found === 'race' ? !isRacing(file) : found !== kind) return false
    if (found === 'unchanged') op.settled.push(file)
    if (found !== 'write') continue
    op.files[file] = { before: at(model.disk, file), after }
    model.disk[file] = model.left[file] = after
  }
  if (Object.keys(op.files).length > 0) model.ops.push(op)
  return true
}

type Seen = Parameters<typeof settle>[2]

export function rewind(model: Model, id: string, onConflict: 'skip' | 'overwrite', seen: Seen): boolean {
  const index = model.snapshots.findLastIndex((one) => one.id === id)
  if (index < 0) return false
  const files: Parameters<typeof settle>[1] = {}
  for (const file of tracked(model)) {
    const after = stateAt(model, index, file)
    if (after === undefined) files[file] = { after: null, kind: 'skip' }
    else if (after === at(model.disk, file)) files[file] = { after, kind: 'unchanged' }
    else
      files[file] = { after, kind: onConflict === 'overwrite' || isLeft(model, file) ? 'write' : 'conflict' }
  }
  return settle(model, files, seen, null)
}

/** What no undo has brought back yet of each operation. */
function notUndone(model: Model): Map<number, string[]> {
  const left = new Map<number, string[]>()
  const back = new Map<number, Set<string>>()
  for (const { id, undoes, files, settled } of model.ops.toReversed()) {
    const keys = Object.keys(files).filter((file) => back.get(id)?.has(file) !== true)
    left.set(id, keys)
    if (undoes !== null) back.set(undoes, new Set([...(back.get(undoes) ?? []), ...keys, ...settled]))
  }
  return left
}

/** What the next undo is about; `undefined`: nothing is left to undo. */
function nextUndo(model: Model): { op: Op; files: string[] } | undefined {
  const left = notUndone(model)
  const candidates = model.ops.flatMap((op) => {
    const files = left.get(op.id) ?? []
    return files.length > 0 ? [{ op, files }] : []
  })
  // An undo that left files behind is not over, unless these stand as before by now.
  const last = model.ops.at(-1)?.undoes ?? null
  const unfinished = last === null ? undefined : candidates.find(({ op }) => op.id === last)
  const isOpen = unfinished?.files.some((file) => at(model.disk, file) !== unfinished.op.files[file]?.before)
  return isOpen === true ? unfinished : candidates.findLast((candidate) => candidate !== unfinished)
}

/** Whether there is a rewind to undo. */
export function canUndo(model: Model): boolean {
  return nextUndo(model) !== undefined
}

export function undo(model: Model, seen: Seen): boolean {
  const next = nextUndo(model)
  if (next === undefined) return false
  const files: Parameters<typeof settle>[1] = {}
  for (const file of next.files) {
    const { before, after } = next.op.files[file] ?? { before: null, after: null }
    const now = at(model.disk, file)
    const kind = now === before ? 'unchanged' : now === after ? 'write' : 'conflict'
    files[file] = { after: before, kind }
  }
  return settle(model, files, seen, next.op.id)
}
