import { cutText } from '../../cut-text.ts'
import type { SearchedFile } from './search-file.ts'

/** How a search is told. */
export interface GrepOutput {
  mode: 'files_with_matches' | 'content' | 'count'
  /** Lines of a match's surroundings. */
  before: number
  after: number
  hasNumbers: boolean
}

const MAX_LINE_UNITS = 500

/** What is said of one file with hits, a line each; `--` stands between lines that are apart. Pure. */
export function grepLines(name: string, { lines, hits }: SearchedFile, output: GrepOutput): string[] {
  if (hits.length === 0) return []
  if (output.mode === 'files_with_matches') return [name]
  if (output.mode === 'count') return [`${name}:${hits.length}`]
  const { before, after, hasNumbers } = output
  const hit = new Set(hits)
  const shown = new Set(
    hits.flatMap((at) => {
      const from = Math.max(0, at - before)
      return Array.from({ length: Math.min(lines.length, at + after + 1) - from }, (_, index) => from + index)
    }),
  )
  const said: string[] = []
  let last: number | undefined
  for (const at of [...shown].toSorted((a, b) => a - b)) {
    if (before + after > 0 && last !== undefined && at > last + 1) said.push('--')
    last = at
    const mark = hit.has(at) ? ':' : '-'
    said.push(`${name}${mark}${hasNumbers ? `${at + 1}${mark}` : ''}${shorten(lines[at] ?? '')}`)
  }
  return said
}

function shorten(line: string): string {
  const text = line.replace(/\r$/, '')
  if (text.length <= MAX_LINE_UNITS) return text
  return `${cutText(text, MAX_LINE_UNITS)}… [${text.length} characters]`
}
