import { Script, createContext } from 'node:vm'
import { OPEN_REGULAR, filesNow } from '@loci/disk'

/** Bytes of a file that is searched. */
export const MAX_SEARCHED_BYTES: number = 10 << 20
/** For one file. A pattern can be such that no time is enough. */
const MATCH_TIMEOUT_MS = 1000

/** The lines of a file, and which of them fit, by index. */
export interface SearchedFile {
  lines: string[]
  hits: number[]
}

/** Searches files by lines, without waiting, with a time limit for each. */
export type SearchFile = (path: string) => SearchedFile | 'binary' | 'too large' | 'too slow'

/**
 * A search for the lines that `pattern` fits. Bytes that are no UTF-8 are U+FFFD; a file with a NUL is binary.
 *
 * @throws {LociError} DISK_IO, from the search, also for what became a link
 */
export function searchFile(pattern: RegExp): SearchFile {
  // The expressions of another context can be ended in the middle.
  const room: { lines: readonly string[] } = { lines: [] }
  const context = createContext(room)
  const { source, flags } = pattern
  new Script(`const pattern = new RegExp(${JSON.stringify(source)}, ${JSON.stringify(flags)})`).runInContext(
    context,
  )
  const search = new Script('lines.flatMap((line, index) => pattern.test(line) ? [index] : [])')
  return (path) => {
    const bytes = readWhole(path)
    if (bytes === undefined) return 'too large'
    if (bytes.includes(0)) return 'binary'
    const lines = bytes.toString('utf8').split('\n')
    if (lines.at(-1) === '') lines.pop()
    room.lines = lines
    try {
      const hits: unknown = search.runInContext(context, { timeout: MATCH_TIMEOUT_MS })
      return { lines, hits: Array.isArray(hits) ? hits.map(Number) : [] }
    } catch (error) {
      if (isTimeout(error)) return 'too slow'
      throw error
    } finally {
      room.lines = []
    }
  }
}

function readWhole(path: string): Buffer | undefined {
  return filesNow.look(path, OPEN_REGULAR, (file) => {
    const stats = file.stat()
    if (stats.size > MAX_SEARCHED_BYTES || !stats.isFile()) return undefined
    const buffer = Buffer.alloc(stats.size)
    return buffer.subarray(0, file.readFull(buffer, 0))
  })
}

function isTimeout(error: unknown): boolean {
  // It is an error of the other context, no instance of ours.
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
