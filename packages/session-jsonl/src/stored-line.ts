import { formatJson, invalid, isObject, MAX_LINE_BYTES } from './entry.ts'

/** An entry as a store keeps it: the bytes of its line, newline included, and the uuid that tells it from others. */
export interface StoredLine {
  uuid: string | undefined
  bytes: Buffer
}

/**
 * The lines of a batch. What the caller does to its entries later changes nothing. An entry is kept as JSON has it;
 * `type` and `uuid` are what will be read.
 *
 * @throws {TypeError} when `entries` is no array, an entry no object, or JSON has no form for it
 * @throws {LociError} ENTRY_INVALID when an entry has no type, a uuid that is no string, or is too long or too deep
 */
export function storedLines(entries: unknown): StoredLine[] {
  if (!Array.isArray(entries)) throw new TypeError('entries must be an array')
  return entries.map((entry: unknown) => storedLine(entry))
}

function storedLine(entry: unknown): StoredLine {
  if (!isObject(entry)) throw new TypeError('An entry must be an object')
  const text = jsonOf(entry)
  // As text a toJSON method may have made something else of it.
  const written: unknown = 'toJSON' in entry ? JSON.parse(text) : entry
  if (!isObject(written)) throw invalid('The entry is no object once it is written; give plain JSON')
  const { type, uuid } = written
  if (typeof type !== 'string' || type === '')
    throw invalid('The type of an entry must be a string, not empty')
  if (uuid !== undefined && typeof uuid !== 'string') throw invalid('The uuid of an entry must be a string')
  const bytes = Buffer.from(`${text}\n`)
  if (bytes.length > MAX_LINE_BYTES)
    throw invalid(`The entry is longer than ${MAX_LINE_BYTES} bytes, which nobody could read`, { uuid })
  return { uuid: uuid === '' ? undefined : uuid, bytes }
}

function jsonOf(entry: Record<string, unknown>): string {
  try {
    return formatJson(entry)
  } catch (error) {
    if (error instanceof RangeError) throw invalid('The entry nests too deep or is too long to be written')
    throw error
  }
}

/** The lines whose uuid is neither `known` nor that of a line before them in the batch. */
export function newLines(lines: readonly StoredLine[], known: ReadonlySet<string>): StoredLine[] {
  const seen = new Set<string>()
  return lines.filter(({ uuid }) => {
    if (uuid === undefined) return true
    if (known.has(uuid) || seen.has(uuid)) return false
    seen.add(uuid)
    return true
  })
}
