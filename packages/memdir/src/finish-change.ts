import { join } from 'node:path'
import { isLociError, resolveInside } from '@loci/disk'
import type { Damage } from '@loci/disk'
import type { FileChange } from './apply-changes.ts'
import { INDEX_FILE } from './file-name.ts'
import { messageOf, readIndex } from './folder.ts'
import { indexLineOf, planIndex } from './index-change.ts'
import { decode, linesFor, setIndexLines } from './index-file.ts'
import { INTENT_FILE, parseIntent } from './intent.ts'
import type { Intent, IntentStep } from './intent.ts'
import { isHeldElsewhere } from './held-elsewhere.ts'
import type { PlacedFile } from './held-elsewhere.ts'
import { revisionOf } from './memory.ts'
import { MAX_JSON_BYTES, readRegular } from './read-regular.ts'
import { TRASH_DIR } from './trash-file.ts'

/** What is left to do of a change that was cut off. */
export interface UnfinishedChange {
  changes: FileChange[]
  /** One for each change. */
  sentences: string[]
  /** That there is something left to do, or a record that cannot be read, about which nothing is done. */
  damage: Damage[]
}

/** A step and what stands in its place now: `other` is what somebody else made of it since. */
interface Seen {
  step: IntentStep
  path: string
  bytes: Buffer | undefined
  state: 'before' | 'after' | 'other'
}

/**
 * What puts a change right that was begun and not brought to its end, by the record it left; `undefined` if there is
 * none. A change of which nothing is done is forgotten: what it put into the trash is taken out again. One that is
 * begun is gone on with, in its order, as far as everything is as it left it; a move that did not come to the index is
 * taken back. What somebody else changed since stays as it is, and a topic that was changed so is given the line that
 * it lacks.
 *
 * @throws {LociError} PATH_LINK, MEMORY_INVALID when the record is no regular file; DISK_IO
 */
export async function planFinish(dir: string): Promise<UnfinishedChange | undefined> {
  const path = join(dir, INTENT_FILE)
  const bytes = (await readRegular(path, MAX_JSON_BYTES))?.bytes
  if (bytes === undefined) return undefined
  let intent: Intent
  try {
    intent = parseIntent(decode(bytes))
  } catch (error) {
    const message = `It cannot be read (${messageOf(error)}); the next change does without it`
    return { changes: [], sentences: [], damage: [{ kind: 'unreadable', path, message }] }
  }
  const seen: Seen[] = []
  for (const step of intent.steps) seen.push(await look(dir, step))
  const changes = await planRest(dir, intent, seen)
  const sentences = changes.map((change) => describe(change, intent))
  const message = 'A change is under way, or was cut off: the next change, or repair, finishes it'
  return {
    changes,
    sentences,
    damage: changes.length === 0 ? [] : [{ kind: 'unfinished-change', path, message }],
  }
}

async function look(dir: string, step: IntentStep): Promise<Seen> {
  try {
    const path = await resolveInside(dir, step.path)
    const bytes = (await readRegular(path, MAX_JSON_BYTES))?.bytes
    return { step, path, bytes, state: stateOf(step, bytes) }
  } catch (error) {
    // Something else than a file in its place is somebody's; what cannot be read is for the caller to know.
    if (!isLociError(error, 'PATH_LINK', 'PATH_INVALID', 'MEMORY_INVALID')) throw error
    return { step, path: join(dir, step.path), bytes: undefined, state: 'other' }
  }
}

function stateOf(step: IntentStep, bytes: Buffer | undefined): Seen['state'] {
  const revision = bytes === undefined ? null : revisionOf(bytes)
  if (revision === step.after) return 'after'
  if (revision === step.before) return 'before'
  return 'other'
}

async function planRest(dir: string, intent: Intent, seen: readonly Seen[]): Promise<FileChange[]> {
  const { file } = intent
  const index = await readIndex(dir)
  const looked = seen.map((one) => withLines(one, file))
  const kept = looked.filter(({ step }) => isKept(step))
  const main = looked.filter(({ step }) => !isKept(step))
  // What was copied into the trash still stands where it was.
  if (main.every(({ state }) => state === 'before')) {
    const there = main.flatMap(placed)
    return kept.filter((one) => one.state === 'after' && isHeld(one, there, index)).map(takenAway)
  }
  const last = main.findLastIndex(({ state }) => state === 'after')
  const isOurs = last !== -1 && main.slice(0, last).every(({ state }) => state === 'after')
  const rest = main.slice(last + 1)
  if (isOurs && isMoveBegun(main.slice(0, last + 1), rest)) return main.slice(0, last + 1).map(takenAway)
  const goes = new Set(seen.filter(({ step }) => step.after === null).map(({ step }) => step.path))
  const staying = looked
    .filter(({ state, step }) => state === 'after' && !goes.has(step.path))
    .flatMap(placed)
  const changes: FileChange[] = []
  for (const one of isOurs ? rest : []) {
    const change = one.state === 'before' ? await planStep(dir, file, one) : undefined
    if (change === undefined) break
    const indexThen = changes.find(({ linesOf }) => linesOf !== undefined)?.after ?? index
    if (change.after === undefined && !isHeld(one, staying, indexThen)) break
    changes.push(change)
  }
  const topic = main.find(({ step }) => step.path === file)
  return changes.length > 0 ? changes : planMissingLine(dir, intent, topic)
}

/** The line of a topic that stays as somebody made it, where the change is why there is none. */
async function planMissingLine(
  dir: string,
  { file, steps }: Intent,
  topic: Seen | undefined,
): Promise<FileChange[]> {
  const lines = steps.find((step) => step.lines !== undefined)?.lines
  if (file === undefined || lines === undefined || topic?.bytes === undefined) return []
  const isOurDoing = lines.before.length === 0 || lines.after.length === 0
  if (!isOurDoing || linesFor(await readIndex(dir), file).length > 0) return []
  const stored = { file, path: topic.path, bytes: topic.bytes, modifiedAtMs: 0 }
  const own = lines.before.length > 0 ? lines.before : [Buffer.from(indexLineOf(stored))]
  return [await planIndex(dir, file, (index) => setIndexLines(index, file, own))]
}

/**
 * Whether all that is done is new files for topics that are still where they were, and the next step is one that the
 * record does not tell how to make.
 */
function isMoveBegun(done: readonly Seen[], rest: readonly Seen[]): boolean {
  const [next] = rest
  if (next === undefined || next.step.lines !== undefined || next.step.after === null) return false
  const originals = rest.filter(({ step }) => step.after === null).map(({ step }) => step.before)
  return (
    rest.every(({ state }) => state === 'before') &&
    done.every(({ step }) => step.before === null && originals.includes(step.after))
  )
}

/** Of an index only the lines of the topic count. */
function withLines(seen: Seen, file: string | undefined): Seen {
  const { lines } = seen.step
  if (file === undefined || lines === undefined) return seen
  const now = linesFor(seen.bytes, file)
  return {
    ...seen,
    state: areSame(now, lines.after) ? 'after' : areSame(now, lines.before) ? 'before' : 'other',
  }
}

async function planStep(
  dir: string,
  file: string | undefined,
  { step, path, bytes }: Seen,
): Promise<FileChange | undefined> {
  const { lines } = step
  if (file !== undefined && lines !== undefined)
    return planIndex(dir, file, (index) => setIndexLines(index, file, lines.after))
  return step.after === null ? { path, before: bytes, after: undefined } : undefined
}

function isKept({ path, before }: IntentStep): boolean {
  return before === null && path.startsWith(`${TRASH_DIR}/`)
}

/** Whatever a record says, what it leads to loses nobody's words. */
function isHeld(one: Seen, staying: readonly PlacedFile[], index: Uint8Array | undefined): boolean {
  return placed(one).every((file) => isHeldElsewhere(file, staying, index))
}

function placed({ step, bytes }: Seen): PlacedFile[] {
  return bytes === undefined ? [] : [{ path: step.path, bytes }]
}

function takenAway({ path, bytes }: Seen): FileChange {
  return { path, before: bytes, after: undefined }
}

function areSame(a: readonly Buffer[], b: readonly Buffer[]): boolean {
  return a.length === b.length && a.every((line, n) => line.equals(b[n] ?? Buffer.alloc(0)))
}

function describe({ path, after, linesOf }: FileChange, { startedAt, steps }: Intent): string {
  const begin = `finish the change begun ${startedAt}:`
  if (linesOf === undefined)
    return `${begin} take away ${steps.find((step) => path.endsWith(`/${step.path}`))?.path ?? path}`
  const [line] = after === undefined ? [] : linesFor(after, linesOf)
  return line === undefined
    ? `${begin} take the lines for ${linesOf} out of ${INDEX_FILE}`
    : `${begin} write in ${INDEX_FILE}: ${decode(line).trim()}`
}
