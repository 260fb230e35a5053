import { diffLines, FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff'
import type { FileState } from './compare.ts'

/** How one file differs between two states. */
export interface FileChange {
  /** Absolute. */
  path: string
  /** `mode`: the bytes are the same, the permission bits are not. */
  kind: 'create' | 'modify' | 'delete' | 'mode'
  /** Lines; 0 for binary files. Of very different texts an upper bound. */
  insertions: number
  deletions: number
  /** A NUL, bytes that are not UTF-8, or more than 16 MiB. */
  binary: boolean
  /** SHA-256, hex; `null`: absent. */
  before: string | null
  after: string | null
  /** Permission bits; `null`: absent. */
  modeBefore?: number | null
  modeAfter?: number | null
  /** Unified diff; left out for binary files, for changes of the mode alone, and where the texts differ too much. */
  patch?: string
  /** A file that is made: where it was moved from, absolute; the same changes delete it there. */
  renamedFrom?: string
}

/** One side of a change: its state, and its bytes unless they are too many to look at. */
export interface Side {
  state: FileState
  bytes: Uint8Array | undefined
}

/** Bytes of a file that is looked into. */
export const MAX_TEXT_BYTES: number = 16 << 20

/** Edits after which two texts are called different altogether; keeps the time in bounds. */
const MAX_EDITS = 1000
const PROBE_BYTES = 8000

/** What differs between two states of the file `path`; `name` stands in the patch. `undefined`: nothing. */
export function describeChange(options: {
  path: string
  name: string
  before: Side | null
  after: Side | null
  patch: boolean
}): FileChange | undefined {
  const { path, before, after } = options
  const kind = kindOfChange(before?.state ?? null, after?.state ?? null)
  if (kind === undefined) return undefined
  const old = before === null ? '' : textOf(before)
  const now = after === null ? '' : textOf(after)
  const binary = old === undefined || now === undefined
  const counts = binary || kind === 'mode' ? { insertions: 0, deletions: 0 } : countLines(old, now)
  const patch = options.patch && !binary && kind !== 'mode' ? patchOf(options, old, now) : undefined
  return {
    path,
    kind,
    ...counts,
    binary,
    before: before?.state.sha256 ?? null,
    after: after?.state.sha256 ?? null,
    modeBefore: before?.state.mode ?? null,
    modeAfter: after?.state.mode ?? null,
    ...(patch === undefined ? {} : { patch }),
  }
}

function kindOfChange(before: FileState | null, after: FileState | null): FileChange['kind'] | undefined {
  if (before === null) return after === null ? undefined : 'create'
  if (after === null) return 'delete'
  if (before.sha256 !== after.sha256) return 'modify'
  return before.mode === after.mode ? undefined : 'mode'
}

function textOf({ bytes }: Side): string | undefined {
  if (bytes === undefined || bytes.subarray(0, PROBE_BYTES).includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function countLines(old: string, now: string): { insertions: number; deletions: number } {
  const { start, end } = commonLines(old, now)
  const changes = diffLines(old.slice(start, old.length - end), now.slice(start, now.length - end), {
    maxEditLength: MAX_EDITS,
  })
  if (changes === undefined) return { insertions: linesOf(now), deletions: linesOf(old) }
  const counts = { insertions: 0, deletions: 0 }
  for (const change of changes) {
    if (change.added) counts.insertions += change.count
    else if (change.removed) counts.deletions += change.count
  }
  return counts
}

/**
 * How many characters of whole lines two texts begin, and then end, with alike. No shortest way from one to the other
 * touches them, and most changes are a few lines of a file.
 */
function commonLines(old: string, now: string): { start: number; end: number } {
  const shorter = Math.min(old.length, now.length)
  let start = 0
  while (start < shorter && old.charCodeAt(start) === now.charCodeAt(start)) start += 1
  start = start === 0 ? 0 : old.lastIndexOf('\n', start - 1) + 1
  let end = 0
  const rest = shorter - start
  while (end < rest && old.charCodeAt(old.length - end - 1) === now.charCodeAt(now.length - end - 1)) end += 1
  const firstEnd = old.indexOf('\n', old.length - end)
  return { start, end: firstEnd < 0 ? 0 : old.length - firstEnd - 1 }
}

function linesOf(text: string): number {
  const ends = text.split('\n').length - 1
  return text === '' || text.endsWith('\n') ? ends : ends + 1
}

function patchOf(
  options: { name: string; before: Side | null; after: Side | null },
  old: string,
  now: string,
): string | undefined {
  const name = options.name.replace(/^\//, '')
  const patch = structuredPatch(
    options.before === null ? '/dev/null' : `a/${name}`,
    options.after === null ? '/dev/null' : `b/${name}`,
    old,
    now,
    undefined,
    undefined,
    { context: 3, maxEditLength: MAX_EDITS },
  )
  return patch && formatPatch(patch, FILE_HEADERS_ONLY)
}
