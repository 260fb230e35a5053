import { dirname } from 'node:path'
import {
  appendRecords,
  appendRecordsNow,
  fileErrno,
  files,
  filesNow,
  isAbsent,
  LociError,
  OPEN_APPEND,
  orAbsent,
  writeFileAtomic,
} from '@loci/disk'
import type { Damage, OpenFile } from '@loci/disk'

/** A readable line of a JSON Lines file. */
export interface JsonLine {
  value: Record<string, unknown>
  /** From 1. */
  line: number
  /** Of the first byte of the line. */
  offset: number
}

const NEWLINE = 0x0a
/** How much is written without waiting for another thread: writing 100 KB takes less time than handing them over. */
const AT_ONCE_BYTES = 256 << 10
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Whether a parsed value is an object with fields. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Every readable line of `path`, and the damage in it. An absent file has no lines. */
export async function readJsonLines(path: string): Promise<{ lines: JsonLine[]; damage: Damage[] }> {
  const stats = await orAbsent(files.stat(path))
  if (stats !== undefined && !stats.isFile()) {
    // To open a FIFO can take for ever.
    const message = `${JSON.stringify(path)} is no file; move it away`
    throw new LociError('DISK_IO', message, { details: { path, operation: 'read' } })
  }
  const bytes = stats && (await orAbsent(files.readFile(path)))
  return bytes === undefined ? { lines: [], damage: [] } : parseJsonLines(bytes, path)
}

/** As {@link readJsonLines}, on bytes. `path` stands in the damage only. */
export function parseJsonLines(bytes: Uint8Array, path: string): { lines: JsonLine[]; damage: Damage[] } {
  const lines: JsonLine[] = []
  const damage: Damage[] = []
  for (let offset = 0, line = 1; offset < bytes.length; line += 1) {
    const newline = bytes.indexOf(NEWLINE, offset)
    const end = newline < 0 ? bytes.length : newline
    const text = bytes.subarray(offset, end)
    if (text.length > 0) {
      const value = parseLine(text)
      if (isJsonObject(value)) lines.push({ value, line, offset })
      else damage.push(damagedLine({ text, path, line, offset, isTorn: newline < 0 }))
    }
    offset = end + 1
  }
  return { lines, damage }
}

function parseLine(text: Uint8Array): unknown {
  try {
    // The decoder drops a byte order mark; `\r` is white space to JSON.
    return JSON.parse(utf8.decode(text))
  } catch {
    return undefined
  }
}

function damagedLine(at: {
  text: Uint8Array
  path: string
  line: number
  offset: number
  isTorn: boolean
}): Damage {
  const { path, line, offset } = at
  if (at.text.every((byte) => byte === 0)) {
    return { kind: 'zero-run', path, line, offset, message: `Line ${line} is zero bytes` }
  }
  if (at.isTorn) return { kind: 'torn-line', path, line, offset, message: `Line ${line} is cut short` }
  return { kind: 'bad-line', path, line, offset, message: `Line ${line} is not a JSON object` }
}

/** Appends one line for each value, as {@link appendLines}. */
export function appendJsonLines(path: string, values: readonly unknown[]): Promise<void> {
  return appendLines(
    path,
    values.map((value) => JSON.stringify(value)),
  )
}

/**
 * Appends lines, in one write; the file (0600) and its directory are made if they are absent.
 * A file that has a second name is given bytes of its own first: whoever copied a history by hard links must not
 * find the lines of one in the other.
 */
export async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  if (bytes.length <= AT_ONCE_BYTES && appendAtOnce(path, bytes)) return
  const file = (await orAbsent(files.open(path, 'a+', 0o600))) ?? (await makeBoth(path))
  try {
    if ((await file.stat()).nlink <= 1n) {
      await appendRecords(file, bytes)
      return
    }
  } finally {
    await file.close()
  }
  await writeFileAtomic(path, await files.readFile(path))
  await appendLines(path, lines)
}

/** Where the file is there, no link, and has no second name; `false`: it is for the slower way. */
function appendAtOnce(path: string, bytes: Uint8Array): boolean {
  try {
    return filesNow.look(path, OPEN_APPEND, (file) => {
      const { nlink, size } = file.stat()
      if (nlink > 1) return false
      appendRecordsNow(file, bytes, size)
      return true
    })
  } catch (error) {
    if (isAbsent(error) || fileErrno(error) === 'ELOOP') return false
    throw error
  }
}

async function makeBoth(path: string): Promise<OpenFile> {
  await files.mkdir(dirname(path))
  return files.open(path, 'a+', 0o600)
}
