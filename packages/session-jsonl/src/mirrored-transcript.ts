import { files, isLociError, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { isObject } from './entry.ts'
import { isMarked, markAt } from './file-mark.ts'
import type { FileMark } from './file-mark.ts'
import { openTranscript } from './read-transcript.ts'
import type { SessionKey, SessionStore, SessionStoreEntry } from './store.ts'
import { AGENT_METADATA, contentOf, StoreInventory } from './store-inventory.ts'
import { TranscriptParser } from './transcript.ts'

/** How calls are made that may hang: gives what the action gives, or throws after a while. */
export type CallStore = <T>(action: () => Promise<T>) => Promise<T>

/** One transcript that is copied into a store, from where it was last known to be complete there. */
export class MirroredTranscript {
  readonly #path: string
  /** The description of a subagent, as its program keeps it beside the transcript. */
  readonly #metadataPath: string
  readonly #key: SessionKey
  readonly #chunkBytes: number
  /** Up to here the store has everything; `undefined` before that is known. */
  #mark: (FileMark & { sizeBytes: number }) | undefined
  /** Whether a call may have failed after the store did what it asked for; then the two are compared anew. */
  #unsure = true
  #sentMetadata: string | undefined
  #sizeBytes = 0
  #takenBytes = 0

  constructor(options: { path: string; key: SessionKey; chunkBytes: number }) {
    this.#path = options.path
    this.#metadataPath = options.path.replace(/\.jsonl$/, '.meta.json')
    this.#key = options.key
    this.#chunkBytes = options.chunkBytes
  }

  /** How many bytes the store has not taken, by the size last seen. */
  get lagBytes(): number {
    return Math.max(0, this.#sizeBytes - this.#takenBytes)
  }

  /** Looks how large the file is. */
  async measure(): Promise<void> {
    const size = Number((await orAbsent(files.stat(this.#path)))?.size ?? 0n)
    // A last line that is not finished is nothing to be taken yet.
    if (size !== this.#mark?.sizeBytes) this.#sizeBytes = size
  }

  /** Gives the store what the file holds at this moment and the store does not. */
  async copyTo(store: SessionStore, call: CallStore): Promise<void> {
    const file = await openIfThere(this.#path)
    if (file === undefined) {
      this.#sizeBytes = 0
      this.#takenBytes = 0
      return
    }
    try {
      await this.#copy(file, store, call)
    } finally {
      await file.close()
    }
  }

  async #copy(file: OpenFile, store: SessionStore, call: CallStore): Promise<void> {
    const sizeBytes = Number((await file.stat()).size)
    const mark = this.#mark && (await isMarked(file, this.#mark)) ? this.#mark : undefined
    if (this.#mark && mark === undefined) this.#takenBytes = 0
    const metadata = await this.#metadata()
    const isSettled = mark !== undefined && !this.#unsure
    if (isSettled && mark.sizeBytes === sizeBytes && metadata?.content === this.#sentMetadata) return
    this.#sizeBytes = sizeBytes
    const held = isSettled ? undefined : new StoreInventory((await call(() => store.load(this.#key))) ?? [])
    this.#unsure = true
    const parser = new TranscriptParser(this.#path, held ? undefined : mark?.start)
    for await (const chunk of chunksTo(file, parser.lineStart.offset, sizeBytes, this.#chunkBytes)) {
      const missing = parser
        .push(chunk)
        .flatMap(({ record }) => (record === undefined || held?.takes(record) ? [] : record))
      if (missing.length > 0) await call(() => store.append(this.#key, missing))
      this.#takenBytes = Math.max(this.#takenBytes, parser.lineStart.offset)
    }
    if (metadata !== undefined && metadata.content !== (held ? held.metadata : this.#sentMetadata))
      await call(() => store.append(this.#key, [metadata.entry]))
    this.#sentMetadata = metadata?.content
    this.#mark = { ...(await markAt(file, parser.lineStart)), sizeBytes }
    // Unless it was seen to have grown meanwhile.
    if (this.#sizeBytes === sizeBytes) this.#sizeBytes = this.#takenBytes
    this.#unsure = false
  }

  /** The description of a subagent; `undefined` if there is none, or it is being written. */
  async #metadata(): Promise<{ entry: SessionStoreEntry; content: string } | undefined> {
    if (this.#key.subpath === undefined) return undefined
    const bytes = await orAbsent(files.readFile(this.#metadataPath))
    try {
      const description: unknown = JSON.parse(bytes?.toString('utf8') ?? '')
      if (!isObject(description)) return undefined
      const entry = { ...description, type: AGENT_METADATA }
      return { entry, content: contentOf(entry) }
    } catch {
      return undefined
    }
  }
}

async function openIfThere(path: string): Promise<OpenFile | undefined> {
  try {
    return await openTranscript(path)
  } catch (error) {
    if (isLociError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}

/** The bytes of a file from one place to another. Each chunk has its own memory. */
async function* chunksTo(
  file: OpenFile,
  from: number,
  to: number,
  chunkBytes: number,
): AsyncGenerator<Uint8Array> {
  for (let at = from; at < to;) {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, to - at))
    const length = await file.read(buffer, at)
    if (length === 0) return
    yield buffer.subarray(0, length)
    at += length
  }
}
