import { isAscii } from 'node:buffer'
import { LociError } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { isObject } from './entry.ts'
import type { RecordDraft } from './entry.ts'
import { isRecord } from './parse-line.ts'

/** Where in a file a record's JSON stands, in bytes. */
export interface Place {
  readonly offset: number
  readonly length: number
}

const FIRST_BYTES = 16 * 1024
const MOST_BYTES = 1024 * 1024

/**
 * Reads stretches of a file that mostly follow each other: for the first a small piece, and larger ones as it goes on.
 */
export class RangeReader {
  readonly #file: OpenFile
  #buffer: Buffer = Buffer.alloc(0)
  #from = 0
  #length = 0
  #pieceBytes = FIRST_BYTES / 4

  constructor(file: OpenFile) {
    this.#file = file
  }

  /**
   * The bytes of a stretch: a view that the next call may overwrite.
   *
   * @throws {LociError} DISK_IO, also when the file has become shorter
   */
  async read({ offset, length }: Place): Promise<Buffer> {
    if (offset < this.#from || offset + length > this.#from + this.#length) await this.#load(offset, length)
    const start = offset - this.#from
    if (start + length > this.#length) {
      const { path } = this.#file
      const message = `${JSON.stringify(path)} became shorter while it was read; try again`
      throw new LociError('DISK_IO', message, { details: { path, operation: 'read' } })
    }
    return this.#buffer.subarray(start, start + length)
  }

  async #load(offset: number, length: number): Promise<void> {
    // Backward the rest of a piece would not be used.
    const goesOn = offset >= this.#from
    this.#pieceBytes = goesOn ? Math.min(4 * this.#pieceBytes, MOST_BYTES) : FIRST_BYTES
    const size = Math.max(length, this.#pieceBytes)
    // Not a fresh one each time: touching fresh memory costs more than reading.
    if (this.#buffer.length < size) this.#buffer = Buffer.allocUnsafeSlow(size)
    this.#length = 0
    this.#length = await this.#file.readFull(this.#buffer.subarray(0, size), offset)
    this.#from = offset
  }
}

/**
 * Reads the record that stands in a place of a file; `undefined` where there is none.
 *
 * @throws {LociError} DISK_IO
 */
export async function readRecord(reader: RangeReader, place: Place): Promise<RecordDraft | undefined> {
  const value = parseBytes(await reader.read(place))
  return isObject(value) && isRecord(value) ? value : undefined
}

/** The JSON value that the bytes are; `undefined` for none. */
export function parseBytes(bytes: Buffer): unknown {
  try {
    // Most lines are ASCII, which needs no decoding.
    return JSON.parse(bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8'))
  } catch {
    return undefined
  }
}
