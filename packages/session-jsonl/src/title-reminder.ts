import type { OpenFile } from '@loci/disk'
import { formatRecord } from './prepare-entry.ts'
import type { TranscriptReading } from './transcript-reading.ts'

/** How far a transcript grows before its title is repeated: a list reads 64 KiB from its end. */
const REPEAT_AFTER_BYTES = 32 * 1024

/** Knows when the title and the tag of a session that grows are to be said again, so that its tail always has them. */
export class TitleReminder {
  readonly #sessionId: string
  /** How much the file has grown since they were last looked for. */
  #grownBytes = 0

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Takes note of bytes that were appended, or found in the file. */
  grow(bytes: number): void {
    this.#grownBytes += bytes
  }

  /** Has them looked for with the next append: it is not known how much of the last one the file has. */
  lookAgain(): void {
    this.#grownBytes = REPEAT_AFTER_BYTES
  }

  /** Whether it is time to look whether they have to be said again. */
  get isDue(): boolean {
    return this.#grownBytes >= REPEAT_AFTER_BYTES
  }

  /**
   * The lines, with their newlines, that say title and tag of the session again; `''` while there is no need. What the
   * file holds now counts, since others give titles too.
   */
  async line(transcript: TranscriptReading, file: OpenFile | undefined): Promise<string> {
    if (file === undefined || !this.isDue) return ''
    await transcript.catchUp(file)
    this.#grownBytes = 0
    let lines = ''
    for (const [type, field] of REPEATED) {
      const last = await transcript.lastRecord(file, type)
      const value = last?.record[field]
      if (last === undefined || typeof value !== 'string' || value === '') continue
      const behind = transcript.sizeBytes - last.offset
      if (behind >= REPEAT_AFTER_BYTES)
        lines += `${formatRecord({ type, [field]: value }, this.#sessionId)}\n`
      else this.#grownBytes = Math.max(this.#grownBytes, behind)
    }
    return lines
  }
}

const REPEATED = [
  ['custom-title', 'customTitle'],
  ['tag', 'tag'],
] as const
