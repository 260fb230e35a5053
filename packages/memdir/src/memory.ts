import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Damage } from '@loci/disk'
import { decode, ownHook } from './index-file.ts'
import type { IndexEntry } from './index-file.ts'
import { parseTopic } from './topic-file.ts'
import type { MemoryType } from './topic-file.ts'

/** What is to be remembered. */
export interface MemoryDraft {
  name: string
  /** One line by which the memory is found again. */
  description: string
  type: MemoryType
  /** Markdown. */
  body: string
  /** What the index line says instead of `description`. */
  hook?: string
  /** The topic file, relative to the folder, `/` between segments; default: made of type and name. */
  file?: string
}

/** A memory as it is stored. */
export interface Memory extends MemoryDraft {
  file: string
  modifiedAtMs: number
  /** SHA-256 of the bytes of the topic file, in hex. */
  revision: string
  /** The session, and the message in it, in which the memory was first saved. */
  originSessionId?: string
  originMessageId?: string
}

/** A topic file as it stands on disk. */
export interface StoredTopic {
  file: string
  path: string
  bytes: Buffer
  modifiedAtMs: number
}

/** SHA-256 of the bytes, in hex: what `ifRevision` is compared with. */
export function revisionOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A topic file as a memory; what it lacks is filled in, what is wrong with it comes as damage. */
export function toMemory(stored: StoredTopic): { memory: Memory; damage: Damage[] } {
  const { file, path, bytes, modifiedAtMs } = stored
  const { problem, name, description, type, ...rest } = parseTopic(decode(bytes))
  const memory: Memory = {
    // Written without a type, it most likely says something about the project it lies with.
    type: type ?? 'project',
    description: description ?? '',
    name: name === undefined || name.trim() === '' ? basename(file, '.md') : name,
    body: rest.body,
    file,
    modifiedAtMs,
    revision: revisionOf(bytes),
    ...(rest.originSessionId === undefined ? {} : { originSessionId: rest.originSessionId }),
    ...(rest.originMessageId === undefined ? {} : { originMessageId: rest.originMessageId }),
  }
  const damage: Damage[] = problem === undefined ? [] : [{ ...problem, path }]
  if (!isUtf8(bytes)) {
    damage.push({
      kind: 'not-utf8',
      path,
      message: 'Some bytes are not UTF-8; they are shown as U+FFFD and kept',
    })
  }
  return { memory, damage }
}

/** The memory with the hook that stands in its entry of the index, if somebody chose one. */
export function withHook(memory: Memory, entry: IndexEntry | undefined): Memory {
  const hook = entry && ownHook(entry, memory.description)
  return hook === undefined ? memory : { ...memory, hook }
}
