import type { OpenFile } from '@loci/disk'
import { editLine } from './edit-line.ts'
import { formatJson } from './entry.ts'
import type { SourceLine } from './fork-source.ts'
import type { ForkLine } from './plan-fork.ts'
import { RangeReader } from './record-reader.ts'
import type { TranscriptItem } from './transcript.ts'

const BUFFER_BYTES = 1024 * 1024
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
  const writer = new LineWriter(file)
  for (const line of lines) {
    if ('text' in line) await writer.add(Buffer.from(line.text))
    else {
      const bytes = await reader.read(line.source)
      for (const piece of edited(bytes, line)) await writer.put(piece)
      await writer.add(Buffer.alloc(0))
    }
  }
  await writer.flush()
}

/** The pieces of a line with its values changed. */
function edited(bytes: Buffer, line: Exclude<ForkLine, { text: string }>): Uint8Array[] {
  const { sessionId, ...others } = line.values
  const at = sessionIdAt(line.source)
  // Mostly nothing else is changed, and where it stands is known.
  if (at === undefined || Object.keys(others).length > 0) return [editLine(bytes, line.values)]
  const end = bytes[at] === QUOTE ? bytes.indexOf(QUOTE, at + 1) + 1 : 0
  if (end === 0) return [editLine(bytes, line.values)]
  return [bytes.subarray(0, at), Buffer.from(formatJson(sessionId)), bytes.subarray(end)]
}

function sessionIdAt(line: TranscriptItem | SourceLine): number | undefined {
  return 'sessionIdAt' in line ? line.sessionIdAt : undefined
}

/** Gathers what is written, so that it goes in large pieces from one piece of memory. */
class LineWriter {
  readonly #file: OpenFile
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  #length = 0

  constructor(file: OpenFile) {
    this.#file = file
  }

  /** Adds bytes, which may change after the call. */
  async put(bytes: Uint8Array): Promise<void> {
    if (this.#length + bytes.length > BUFFER_BYTES) await this.flush()
    if (bytes.length > BUFFER_BYTES) await this.#file.writeAll(bytes)
    else {
      this.#buffer.set(bytes, this.#length)
      this.#length += bytes.length
    }
  }

  /** Adds the end of a line. */
  async add(bytes: Uint8Array): Promise<void> {
    await this.put(bytes)
    await this.put(NEWLINE)
  }

  async flush(): Promise<void> {
    if (this.#length > 0) await this.#file.writeAll(this.#buffer.subarray(0, this.#length))
    this.#length = 0
  }
}

const NEWLINE = Uint8Array.of(0x0a)
