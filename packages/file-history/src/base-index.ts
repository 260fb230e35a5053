import { join } from 'node:path'
import { files, removeQuietly, writeFileAtomic } from '@loci/disk'
import type { BaseIndex } from './base-copies.ts'
import type { Anchor } from './edit-record.ts'
import { isJsonObject, parseJsonLines } from './json-lines.ts'
import type { JsonLine } from './json-lines.ts'
import type { WalkedFile } from './walk-tree.ts'

/** A tree as it was before a command. */
export interface Base {
  /** Of the command. */
  id: string
  /** The newest snapshot when it began. */
  since: Anchor
  files: Map<string, WalkedFile>
  unreadable: Set<string>
  copied: BaseIndex
  /** Keys of the files of which something was recorded by then; absent: nobody knows any more. */
  known?: ReadonlySet<string>
}

/** Names of the files that {@link writeBaseIndex} makes. */
export const BASE_INDEX_NAME: RegExp = /^base-c\d{1,15}\.jsonl$/

function pathOf(dir: string, id: string): string {
  return join(dir, `base-${id}.jsonl`)
}

/**
 * Writes down which files there are before the command `base.id`, and which copy each has: with that, whoever opens
 * the history after a kill can tell what changed. Appears whole or not at all.
 *
 * @throws {LociError} DISK_FULL, DISK_IO
 */
export async function writeBaseIndex(dir: string, base: Base): Promise<void> {
  await writeFileAtomic(pathOf(dir, base.id), formatBaseIndex(base), { mode: 0o600 })
}

/** The command is over: nobody needs its index. That it stays behind harms nobody. */
export async function removeBaseIndex(dir: string, id: string): Promise<void> {
  await removeQuietly(pathOf(dir, id))
}

/** The tree before the command `id`; `undefined` where the index is missing, damaged, or of another command. */
export async function readBaseIndex(dir: string, id: string, since: Anchor): Promise<Base | undefined> {
  const path = pathOf(dir, id)
  const bytes = await files.readFile(path).catch(() => undefined)
  const base = bytes && parseBaseIndex(bytes, path)
  return base?.id === id ? { ...base, since } : undefined
}

/** JSON Lines: what the index is of and how many files it names, then one file a line. Pure. */
function formatBaseIndex({ id, files: walked, unreadable, copied }: Omit<Base, 'since'>): string {
  const lines = [JSON.stringify({ id, count: walked.size, unreadable: [...unreadable] })]
  for (const { key, kind, sizeBytes, mode, stamp, isIgnored } of walked.values()) {
    const copy = copied.get(key)
    const of = copy && { copy: copy.name, settled: copy.isSettled }
    lines.push(JSON.stringify({ key, kind, sizeBytes, mode, stamp, ignored: isIgnored, ...of }))
  }
  return `${lines.join('\n')}\n`
}

/** `undefined` unless every line is there and says what it should. Pure; `path` is not looked at. */
function parseBaseIndex(bytes: Uint8Array, path: string): Omit<Base, 'since'> | undefined {
  const { lines, damage } = parseJsonLines(bytes, path)
  const [head, ...rest] = lines
  if (head === undefined || damage.length > 0) return undefined
  const { id, count, unreadable } = head.value
  if (typeof id !== 'string' || !Array.isArray(unreadable)) return undefined
  const base = {
    id,
    files: new Map<string, WalkedFile>(),
    unreadable: new Set(unreadable.filter((key) => typeof key === 'string')),
    copied: new Map<string, { name: string; stamp: string; isSettled: boolean }>(),
  }
  for (const line of rest) {
    const file = parseFile(line)
    if (file === undefined) return undefined
    base.files.set(file.key, file)
    const { copy, settled } = line.value
    if (copy === undefined) continue
    if (typeof copy !== 'string' || !/^[0-9a-f]{32}(?:\.\d+)?$/.test(copy)) return undefined
    base.copied.set(file.key, { name: copy, stamp: file.stamp, isSettled: settled === true })
  }
  return base.files.size === count ? base : undefined
}

const KINDS: readonly WalkedFile['kind'][] = ['file', 'link', 'special', 'unspellable', 'directory']

function parseFile({ value }: JsonLine): WalkedFile | undefined {
  if (!isJsonObject(value)) return undefined
  const { key, sizeBytes, mode, stamp, ignored } = value
  const kind = KINDS.find((one) => one === value['kind'])
  if (typeof key !== 'string' || key === '' || kind === undefined || typeof stamp !== 'string')
    return undefined
  if (key.startsWith('/') || key.split('/').includes('..')) return undefined
  if (typeof sizeBytes !== 'number' || typeof mode !== 'number') return undefined
  return { key, kind, sizeBytes, mode, stamp, ctimeMs: 0, isIgnored: ignored === true }
}
