import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorMessage, isAbsent, isLociError } from '@loci/disk'
import { z } from 'zod'
import { nameOf } from './file-target.ts'
import { globPattern } from './glob-pattern.ts'
import { grepLines } from './grep-output.ts'
import { linePattern } from './line-pattern.ts'
import { findRipgrep, mayFit } from './ripgrep.ts'
import { MAX_SEARCHED_BYTES, searchFile } from './search-file.ts'
import type { SearchedFile } from './search-file.ts'
import { searchPlace } from './search-place.ts'
import type { SearchPlace } from './search-place.ts'
import { defineTool, done, failed, systemText } from './tool.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'
import { walkFiles } from './walk-files.ts'
import type { FileWalk } from './walk-files.ts'

const DEFAULT_LINES = 250
const MAX_LINES = 10_000
const MAX_CONTEXT = 100
/** Of a search; whatever it has found by then is told. */
const SEARCH_TIMEOUT_MS = 30_000
/** Files in which a pattern takes too long, until it is given up. */
const MAX_SLOW = 3
const MAX_NAMED = 5
const FILES_A_TURN = 32

const contextLines = z.int().min(0).max(MAX_CONTEXT).optional()

const schema = z.strictObject({
  pattern: systemText().describe('A regular expression for single lines'),
  path: systemText().optional().describe('A directory or a file; default: the project'),
  glob: systemText()
    .optional()
    .describe('Only files that fit, such as "*.ts" or "src/**/*.{ts,tsx}"; with "!" before it only others'),
  output_mode: z
    .enum(['files_with_matches', 'content', 'count'])
    .optional()
    .describe('Paths of files, the default; or lines; or how many lines of each file'),
  '-i': z.boolean().optional().describe('Upper and lower case are the same'),
  '-n': z.boolean().optional().describe('content: with the numbers of the lines, the default'),
  '-A': contextLines.describe('content: so many lines after each'),
  '-B': contextLines.describe('content: so many lines before each'),
  '-C': contextLines.describe('content: so many lines before and after each'),
  head_limit: z
    .int()
    .min(1)
    .max(MAX_LINES)
    .optional()
    .describe(`How many lines of the result are shown; default ${DEFAULT_LINES}`),
})

type GrepInput = z.output<typeof schema>

export const grepTool: Tool = defineTool({
  name: 'Grep',
  description:
    'Searches files for lines that a regular expression fits. What .gitignore leaves out, unless path names it, and binary files are not searched. Returns paths, the last changed first; or lines as "PATH:NUMBER:LINE", those around them with "-"; or "PATH:COUNT"; then in [brackets] what was left out; or "No line fits.".',
  schema,
  isReadOnly: true,
  async plan(input, context, { signal, withheld }) {
    const { root } = context
    const place = await searchPlace(root, input.path ?? '.')
    const where = place.path === root ? '' : ` in ${place.name}`
    return {
      access: place.access,
      summary: `${input.pattern}${where}${input.glob === undefined ? '' : ` (${input.glob})`}`,
      run: () => grep(input, { place, context, signal, isWithheld: withheld?.(place.access) ?? isNever }),
    }
  },
})

interface GrepRoom {
  place: SearchPlace
  context: ToolContext
  isWithheld: (path: string) => boolean
  signal: AbortSignal
}

const isNever = (): boolean => false

async function grep(input: GrepInput, { place, context, isWithheld, signal }: GrepRoom): Promise<ToolResult> {
  const { pattern, output_mode: mode = 'files_with_matches', head_limit = DEFAULT_LINES } = input
  const { root } = context
  await place.confirm()
  const ignoreCase = input['-i'] === true
  const expression = linePattern(pattern, { ignoreCase })
  if (typeof expression === 'string')
    return failed(`The pattern is no regular expression: ${expression}. Nothing was searched.`)
  const walk = await filesOf(place, { root, glob: input.glob, isWithheld, signal })
  const end = AbortSignal.any([signal, AbortSignal.timeout(SEARCH_TIMEOUT_MS)])
  const fewer = await fewerFiles(walk.files, { place, context, pattern, ignoreCase, signal: end })
  const files = mode === 'files_with_matches' ? fewer : fewer.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const output = {
    mode,
    before: input['-B'] ?? input['-C'] ?? 0,
    after: input['-A'] ?? input['-C'] ?? 0,
    hasNumbers: input['-n'] !== false,
  }
  const shown: string[] = []
  let count = 0
  const problems = await searchAll(files, expression, {
    signal: end,
    onFile(file, searched) {
      const lines = grepLines(nameOf(root, file.path), searched, output)
      if (count > 0 && lines.length > 0 && output.before + output.after > 0 && mode === 'content')
        lines.unshift('--')
      count += lines.length
      shown.push(...lines.slice(0, Math.max(0, head_limit - shown.length)))
    },
  })
  signal.throwIfAborted()
  const notes = [
    ...(count > shown.length
      ? [`${count - shown.length} more lines; head_limit, or a narrower pattern`]
      : []),
    ...problems,
    ...walk.problems,
  ]
  return done([...(count > 0 ? shown : ['No line fits.']), ...notes.map((note) => `[${note}]`)].join('\n'))
}

/** The files to search, newest first; links are none. */
async function filesOf(
  { path, directory, file }: SearchPlace,
  options: Pick<GrepRoom, 'isWithheld' | 'signal'> & { root: string; glob: string | undefined },
): Promise<FileWalk> {
  const { root, glob, isWithheld, signal } = options
  if (file !== undefined)
    return { files: [{ key: file, path, sizeBytes: 0, mtimeMs: 0, isLink: false }], problems: [] }
  const walk = await walkFiles({ directory, root, fits: keyTest(glob), isWithheld, signal })
  return { ...walk, files: walk.files.filter((one) => !one.isLink) }
}

/** As in a `.gitignore`: a name alone fits in every directory. */
function keyTest(glob: string | undefined): (key: string) => boolean {
  if (glob === undefined) return () => true
  const isNegative = glob.startsWith('!')
  const body = isNegative ? glob.slice(1) : glob
  const fits = globPattern(body.includes('/') ? body.replace(/^\.?\//, '') : `**/${body}`)
  return (key) => fits(key) !== isNegative
}

async function fewerFiles(
  all: FileWalk['files'],
  search: {
    place: SearchPlace
    context: ToolContext
    pattern: string
    ignoreCase: boolean
    signal: AbortSignal
  },
): Promise<FileWalk['files']> {
  const { place, context, pattern, ignoreCase, signal } = search
  const program = await findRipgrep(context.env['PATH'], context.root)
  if (program === undefined) return all
  const keys = all.map(({ key }) => key)
  const few = await mayFit(keys, { program, directory: place.directory, pattern, ignoreCase, signal })
  return all.filter(({ key }) => few.has(key))
}

/** Searches one file after the other until the time is up. What could not be searched is said, a sentence each. */
async function searchAll(
  files: FileWalk['files'],
  expression: RegExp,
  options: {
    signal: AbortSignal
    onFile: (file: FileWalk['files'][number], searched: SearchedFile) => void
  },
): Promise<string[]> {
  const search = searchFile(expression)
  const tooLarge: string[] = []
  const tooSlow: string[] = []
  const problems: string[] = []
  for (const [index, file] of files.entries()) {
    if (index % FILES_A_TURN === 0) await nextTurn()
    if (options.signal.aborted || tooSlow.length === MAX_SLOW) {
      problems.push(`the search took too long: ${files.length - index} files were not searched`)
      break
    }
    try {
      const searched = search(file.path)
      if (searched === 'too large') tooLarge.push(file.key)
      else if (searched === 'too slow') tooSlow.push(file.key)
      else if (searched !== 'binary') options.onFile(file, searched)
    } catch (error) {
      if (!isLociError(error)) throw error
      if (!isAbsent(error)) problems.push(errorMessage(error))
    }
  }
  return [
    ...named(`larger than ${MAX_SEARCHED_BYTES} bytes and not searched`, tooLarge),
    ...named('not searched to the end, the pattern takes too long', tooSlow),
    ...problems.slice(0, MAX_NAMED),
    ...(problems.length > MAX_NAMED ? [`${problems.length - MAX_NAMED} more could not be searched`] : []),
  ]
}

function named(what: string, keys: readonly string[]): string[] {
  if (keys.length === 0) return []
  const more = keys.length > MAX_NAMED ? ` and ${keys.length - MAX_NAMED} more` : ''
  return [`${what}: ${keys.slice(0, MAX_NAMED).join(', ')}${more}`]
}
