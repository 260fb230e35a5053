import { isAscii, isUtf8, transcode } from 'node:buffer'
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
const MOST_BYTES = 256 * 1024

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
  async read(place: Place): Promise<Buffer> {
    return (
      this.readNow(place) ?? this.#view(place, await this.#file.readFull(this.#load(place), place.offset))
    )
  }

  /**
   * {@link read}, without waiting: handing a little to another thread takes longer than reading it.
   *
   * @returns `undefined` for what is too long
   * @throws {LociError} DISK_IO, also when the file has become shorter
   */
  readNow(place: Place): Buffer | undefined {
    const { offset, length } = place
    if (offset >= this.#from && offset + length <= this.#from + this.#length)
      return this.#view(place, this.#length)
    if (length > MOST_BYTES) return undefined
    return this.#view(place, this.#file.readFullNow(this.#load(place), offset))
  }

  /** Where the bytes from a place on are to be read to. */
  #load({ offset, length }: Place): Buffer {
    // Backward the rest of a piece would not be used.
    const goesOn = offset >= this.#from
    this.#pieceBytes = goesOn ? Math.min(4 * this.#pieceBytes, MOST_BYTES) : FIRST_BYTES
    const size = Math.max(length, this.#pieceBytes)
    // Not a fresh one each time: touching fresh memory costs more than reading.
    if (this.#buffer.length < size) this.#buffer = Buffer.allocUnsafeSlow(size)
    this.#length = 0
    this.#from = offset
    return this.#buffer.subarray(0, size)
  }

  /** @param loaded how many bytes there are now */
  #view({ offset, length }: Place, loaded: number): Buffer {
    this.#length = loaded
    const start = offset - this.#from
    if (start + length > loaded) {
      const { path } = this.#file
      const message = `${JSON.stringify(path)} became shorter while it was read; try again`
      throw new LociError('DISK_IO', message, { details: { path, operation: 'read' } })
    }
    return this.#buffer.subarray(start, start + length)
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
    return JSON.parse(decoded(bytes))
  } catch {
    return undefined
  }
}

/** `bytes.toString('utf8')`, the quickest way there is. */
function decoded(bytes: Buffer): string {
  // Most lines are ASCII, which needs no decoding.
  if (isAscii(bytes)) return bytes.toString('latin1')
  return isUtf8(bytes) ? transcode(bytes, 'utf8', 'ucs2').toString('ucs2') : bytes.toString('utf8')
}
