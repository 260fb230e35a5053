/** One character, any number of them, or one of several ways on. */
type Part =
  | { kind: 'one'; fits: (character: string) => boolean }
  | { kind: 'many'; fits: (character: string) => boolean }
  | { kind: 'choice'; ways: Part[][] }

interface State {
  /** Takes a character; absent: goes on without one. */
  fits?: (character: string) => boolean
  next: number[]
}

const isAny = (): boolean => true
const isInName = (character: string): boolean => character !== '/'

/**
 * Whether a path, `/` between its parts, fits a pattern: `*` and `?` stay within a name, `**` as a whole name stands for
 * any number of directories, `[a-z]` and `[!a-z]` for a character, `{a,b}` for one of several, `\` takes the next
 * character as it is. Names that begin with a dot are names like others. The time is linear in the path, whatever the
 * pattern. Pure.
 */
export function globPattern(pattern: string): (path: string) => boolean {
  const states: State[] = [{ next: [] }]
  const start = compile(new Reader(Array.from(pattern)).read(), 0, states)
  return (path) => {
    let now = reach([start], states)
    for (const character of path) {
      const next = [...now].flatMap((index) => {
        const state = states[index]
        return state?.fits?.(character) === true ? state.next : []
      })
      if (next.length === 0) return false
      now = reach(next, states)
    }
    return now.has(0)
  }
}

/**
 * A pattern in two: the directories that it names without a wildcard, and the rest, which has at least a name. Pure.
 */
export function splitGlob(pattern: string): { directory: string; rest: string } {
  const names = pattern.split('/')
  const first = names.findIndex((name) => /[*?[{\\]/.test(name))
  const count = first < 0 ? names.length - 1 : first
  const directory = names.slice(0, count).join('/')
  return {
    directory: directory === '' && pattern.startsWith('/') ? '/' : directory,
    rest: names.slice(count).join('/'),
  }
}

/** All states that are there without a further character. */
function reach(from: readonly number[], states: readonly State[]): Set<number> {
  const found = new Set(from)
  for (const index of found) {
    const state = states[index]
    if (state !== undefined && state.fits === undefined) for (const one of state.next) found.add(one)
  }
  return found
}

/** Adds the states of `parts`, from which it goes on with `next`; the index of the first. */
function compile(parts: readonly Part[], next: number, states: State[]): number {
  return parts.reduceRight((after, part) => {
    if (part.kind === 'one') return states.push({ fits: part.fits, next: [after] }) - 1
    if (part.kind === 'choice')
      return states.push({ next: part.ways.map((way) => compile(way, after, states)) }) - 1
    const again = states.push({ next: [after] }) - 1
    states[again]?.next.push(states.push({ fits: part.fits, next: [again] }) - 1)
    return again
  }, next)
}

class Reader {
  readonly #characters: readonly string[]
  #at = 0

  constructor(characters: readonly string[]) {
    this.#characters = characters
  }

  /** To the end; inside braces, to the next `,` or `}`. */
  read(braces?: { startsName: boolean }): Part[] {
    const parts: Part[] = []
    let startsName = braces?.startsName ?? true
    for (let character = this.#peek(); character !== undefined; character = this.#peek()) {
      if (braces !== undefined && (character === ',' || character === '}')) break
      parts.push(...this.#part(character, startsName))
      startsName = this.#peek(-1) === '/'
    }
    return parts
  }

  #peek(ahead = 0): string | undefined {
    return this.#characters[this.#at + ahead]
  }

  #part(character: string, startsName: boolean): Part[] {
    this.#at += 1
    if (character === '*') return this.#stars(startsName)
    if (character === '?') return [{ kind: 'one', fits: isInName }]
    if (character === '[') return [this.#set() ?? literal('[')]
    if (character === '{') return this.#braces(startsName)
    if (character !== '\\') return [literal(character)]
    const next = this.#peek()
    if (next === undefined) return [literal('\\')]
    this.#at += 1
    return [literal(next)]
  }

  #stars(startsName: boolean): Part[] {
    let count = 1
    for (; this.#peek() === '*'; this.#at += 1) count += 1
    const end = this.#peek()
    const isWhole = startsName && (end === undefined || end === '/' || end === ',' || end === '}')
    if (count === 1 || !isWhole) return [{ kind: 'many', fits: isInName }]
    if (end !== '/') return [{ kind: 'many', fits: isAny }]
    this.#at += 1
    return [{ kind: 'choice', ways: [[], [{ kind: 'many', fits: isAny }, literal('/')]] }]
  }

  #set(): Part | undefined {
    const from = this.#at
    const isNegative = this.#peek() === '!' || this.#peek() === '^'
    if (isNegative) this.#at += 1
    const members: [string, string][] = []
    for (let character = this.#peek(); character !== undefined; character = this.#peek()) {
      this.#at += 1
      if (character === ']' && members.length > 0)
        return {
          kind: 'one',
          fits: (one) =>
            one !== '/' && members.some(([low, high]) => low <= one && one <= high) !== isNegative,
        }
      const high = this.#peek(1)
      const isRange = this.#peek() === '-' && high !== undefined && high !== ']'
      members.push([character, isRange ? high : character])
      if (isRange) this.#at += 2
    }
    this.#at = from
    return undefined
  }

  /** One way alone is no choice, and the braces are a part of the name. The end of the pattern closes them, too. */
  #braces(startsName: boolean): Part[] {
    const ways = [this.read({ startsName })]
    for (; this.#peek() === ','; ways.push(this.read({ startsName }))) this.#at += 1
    const isClosed = this.#peek() === '}'
    if (isClosed) this.#at += 1
    const [only = []] = ways
    if (ways.length > 1) return [{ kind: 'choice', ways }]
    return [literal('{'), ...only, ...(isClosed ? [literal('}')] : [])]
  }
}

function literal(character: string): Part {
  return { kind: 'one', fits: (one) => one === character }
}
