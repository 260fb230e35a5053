import type { OpenFile } from '@loci/disk'
import type { FollowedTranscript } from './follow-transcript.ts'
import { formatRecord } from './prepare-entry.ts'

/** How far a transcript grows before its title is repeated: a list reads 64 KiB from its end. */
const REPEAT_AFTER_BYTES = 32 * 1024

/** Knows when the title of a session that grows is to be said again, so that its tail always has it. */
export class TitleReminder {
  readonly #sessionId: string
  /** How much the file has grown since its title was last looked for. */
  #grownBytes = 0

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Takes note of bytes that were appended, or found in the file. */
  grow(bytes: number): void {
    this.#grownBytes += bytes
  }

  /**
   * The line, with its newline, that says the title of the session again; `''` while there is no need. What the file
   * holds now counts, since others give titles too.
   */
  async line(transcript: FollowedTranscript, file: OpenFile | undefined): Promise<string> {
    if (file === undefined || this.#grownBytes < REPEAT_AFTER_BYTES) return ''
    await transcript.catchUp(file)
    const last = transcript.items.findLast(({ record }) => record?.type === 'custom-title')
    const title = last?.record?.['customTitle']
    this.#grownBytes = last ? transcript.sizeBytes - last.offset : 0
    if (this.#grownBytes < REPEAT_AFTER_BYTES) return ''
    this.#grownBytes = 0
    if (typeof title !== 'string' || title === '') return ''
    return `${formatRecord({ type: 'custom-title', customTitle: title }, this.#sessionId)}\n`
  }
}
