import type { OpenFile } from '@loci/disk'
import type { AppendLog } from './append-log.ts'
import type { RecordDraft } from './entry.ts'
import { formatRecord } from './prepare-entry.ts'
import type { TranscriptReading } from './transcript-reading.ts'

/** How far a transcript grows before its title is repeated: a list reads 64 KiB from its end. */
const REPEAT_AFTER_BYTES = 32 * 1024

/** What is said of a session again and again, so that its tail always has it. */
interface Said {
  value: string
  /** How much the file has grown since it was said last. */
  behindBytes: number
}

/**
 * Knows when the title and the tag of a session that grows are to be said again, so that its tail always has them. What
 * they are is looked up only where somebody else may have changed them.
 */
export class TitleReminder {
  readonly #sessionId: string
  /** `undefined` where it has to be looked up. */
  #said: Map<string, Said> | undefined = new Map()
  /** How much the file has grown since it was looked up last. */
  #grownBytes = 0

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Takes note of bytes that were appended, or found in the file. */
  grow(bytes: number): void {
    this.#grownBytes += bytes
    for (const said of this.#said?.values() ?? []) said.behindBytes += bytes
  }

  /** Takes note of a record that is appended here. */
  say(record: RecordDraft): void {
    const field = REPEATED.get(record.type)
    const value = field === undefined ? undefined : record[field]
    if (typeof value === 'string') this.#said?.set(record.type, { value, behindBytes: 0 })
  }

  /** Says that what the file holds is not known here; it is looked up after the next 32 KiB. */
  forget(): void {
    this.#said = undefined
  }

  /** Has them looked up with the next append: it is not known how much of the last one the file has. */
  lookAgain(): void {
    this.#said = undefined
    this.#grownBytes = REPEAT_AFTER_BYTES
  }

  /** Whether it is time to say them again, or to look whether it is. */
  get isDue(): boolean {
    if (this.#said === undefined) return this.#grownBytes >= REPEAT_AFTER_BYTES
    for (const { behindBytes } of this.#said.values()) if (behindBytes >= REPEAT_AFTER_BYTES) return true
    return false
  }

  /** The lines, with their newlines, that say title and tag of the session again; `''` while there is no need. */
  async line(transcript: TranscriptReading, log: AppendLog): Promise<string> {
    const { file } = log
    if (file === undefined || !this.isDue) return ''
    // What others gave meanwhile counts, and must not be taken back.
    if (this.#said === undefined || !log.isAsLeft) await this.#lookUp(transcript, file)
    let lines = ''
    for (const [type, said] of this.#said ?? []) {
      const field = REPEATED.get(type)
      if (field === undefined || said.value === '' || said.behindBytes < REPEAT_AFTER_BYTES) continue
      lines += `${formatRecord({ type, [field]: said.value }, this.#sessionId)}\n`
      said.behindBytes = 0
    }
    return lines
  }

  async #lookUp(transcript: TranscriptReading, file: OpenFile): Promise<void> {
    await transcript.catchUp(file)
    this.#grownBytes = 0
    const found = new Map<string, Said>()
    for (const [type, field] of REPEATED) {
      const last = await transcript.lastRecord(file, type)
      const value = last?.record[field]
      if (last && typeof value === 'string')
        found.set(type, { value, behindBytes: transcript.sizeBytes - last.offset })
    }
    this.#said = found
  }
}

const REPEATED: ReadonlyMap<string, string> = new Map([
  ['custom-title', 'customTitle'],
  ['tag', 'tag'],
])
