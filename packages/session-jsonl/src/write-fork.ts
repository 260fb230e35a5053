import type { OpenFile } from '@loci/disk'
import { editLine } from './edit-line.ts'
import { formatJson } from './entry.ts'
import type { SourceLine } from './fork-source.ts'
import type { ForkLine } from './plan-fork.ts'
import { RangeReader } from './record-reader.ts'
import type { TranscriptItem } from './transcript.ts'

const BUFFER_BYTES = 512 * 1024
const QUOTE = 0x22

/**
 * Writes the lines of a fork, each with its newline: those of the source with their values changed, and the new ones.
 *
 * @throws {LociError} DISK_FULL, DISK_IO
 */
export async function writeForkLines(
  file: OpenFile,
  source: OpenFile,
  lines: readonly ForkLine[],
): Promise<void> {
  const reader = new RangeReader(source)
  const writer = new PieceWriter(file)
  try {
    for (const line of lines) {
      const pieces =
        'text' in line
          ? [Buffer.from(line.text)]
          : edited(reader.readNow(line.source) ?? (await reader.read(line.source)), line)
      for (const piece of [...pieces, NEWLINE]) if (!writer.take(piece)) await writer.put(piece)
    }
    await writer.flush()
  } finally {
    await writer.idle()
  }
}

/** The pieces of a line with its values changed. */
function edited(bytes: Buffer, { source, values }: Exclude<ForkLine, { text: string }>): Uint8Array[] {
  const at = sessionIdAt(source)
  // Mostly nothing else is changed, and where it stands is known.
  if (at === undefined || bytes[at] !== QUOTE || Object.keys(values).join() !== 'sessionId')
    return [editLine(bytes, values)]
  const end = bytes.indexOf(QUOTE, at + 1) + 1
  return [bytes.subarray(0, at), Buffer.from(formatJson(values['sessionId'])), bytes.subarray(end)]
}

function sessionIdAt(line: TranscriptItem | SourceLine): number | undefined {
  return 'sessionIdAt' in line ? line.sessionIdAt : undefined
}

const NEWLINE = Uint8Array.of(0x0a)

/** Gathers what is written, so that it goes in large pieces, and gathers on while a piece is written. */
class PieceWriter {
  readonly #file: OpenFile
  #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #other = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #length = 0
  #writing: Promise<void> = Promise.resolve()

  constructor(file: OpenFile) {
    this.#file = file
  }

  /** Takes bytes, which may change after the call; `false` if there is no room for them now. */
  take(bytes: Uint8Array): boolean {
    if (this.#length + bytes.length > BUFFER_BYTES) return false
    this.#buffer.set(bytes, this.#length)
    this.#length += bytes.length
    return true
  }

  /** Takes bytes as soon as there is room; they may change when it has resolved. */
  async put(bytes: Uint8Array): Promise<void> {
    await this.#send()
    if (this.take(bytes)) return
    await this.#writing
    await this.#file.writeAll(bytes)
  }

  /** Resolves when all is written. */
  async flush(): Promise<void> {
    await this.#send()
    await this.#writing
  }

  /** Resolves when nothing is being written any more, whether it went well or not. */
  async idle(): Promise<void> {
    await this.#writing.catch(() => undefined)
  }

  /** Begins to write what was gathered, as soon as what was gathered before is written. */
  async #send(): Promise<void> {
    await this.#writing
    const bytes = this.#buffer.subarray(0, this.#length)
    ;[this.#buffer, this.#other] = [this.#other, this.#buffer]
    this.#length = 0
    this.#writing = this.#file.writeAll(bytes)
    // Whoever comes next is told of a failure.
    this.#writing.catch(() => undefined)
  }
}
