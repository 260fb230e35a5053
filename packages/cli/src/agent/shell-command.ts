const BLANK = /[ \t]/
const DIGITS = /^\d+$/

/** Words with which something begins that is more than a simple command. */
const RESERVED = new Set(
  'if then elif else fi for while until do done case esac in function select time coproc { } ! [[ ]]'.split(
    ' ',
  ),
)

/**
 * The simple commands in a command, each with one blank between words, quotes as they were given; without
 * redirections that write nowhere. `null`: what it does is known only when it runs, or not understood here, as with
 * variables and substitutions, groups, functions and loops, comments, here-documents, other redirections. Pure.
 */
export function parseShellCommand(command: string): readonly string[] | null {
  return new Reader(command).read()
}

class Reader {
  readonly #text: string
  #at = 0
  #word = ''
  #words: string[] = []
  readonly #parts: string[] = []

  constructor(command: string) {
    this.#text = command
  }

  read(): readonly string[] | null {
    // oxlint-disable-next-line no-control-regex -- bash does not take them for blanks, and who reads the command sees none
    if (/[\0-\x08\x0b-\x1f\x7f]/.test(this.#text)) return null
    while (this.#at < this.#text.length) if (!this.#step()) return null
    this.#endPart()
    return this.#parts.length > 0 && !this.#parts.some(isUnclear) ? this.#parts : null
  }

  /** Takes the next piece; whether it was understood. */
  #step(): boolean {
    const char = this.#text.charAt(this.#at)
    const next = this.#text.charAt(this.#at + 1)
    if (BLANK.test(char)) return this.#skip(() => this.#endWord())
    if (char === '>' || char === '<' || (char === '&' && next === '>')) return this.#redirection()
    if (char === '\n' || char === ';' || char === '&' || char === '|')
      return this.#skip(() => this.#endPart())
    if (char === '\\') return this.#escape()
    if (char === "'") return this.#singleQuoted()
    if (char === '"') return this.#doubleQuoted()
    if (char === '`' || char === '(' || char === ')') return false
    // A dollar before a blank stands for itself.
    if (char === '$' && !/^[ \t\n]?$/.test(next)) return false
    if (char === '#' && this.#word === '') return false
    return this.#take(1)
  }

  #escape(): boolean {
    const next = this.#text.charAt(this.#at + 1)
    if (next === '') return false
    // Bash takes both away, in the middle of a word too.
    if (next === '\n') return this.#skip(() => undefined, 2)
    return this.#take(2)
  }

  #singleQuoted(): boolean {
    const end = this.#text.indexOf("'", this.#at + 1)
    return end > 0 && this.#take(end + 1 - this.#at)
  }

  #doubleQuoted(): boolean {
    const [text] = /^"(?:[^"\\$`]|\\[^]|\$(?=["\s]))*"/.exec(this.#text.slice(this.#at)) ?? []
    return text !== undefined && this.#take(text.length)
  }

  /** Leaves out what writes nowhere: `2>&1`, `>/dev/null`, `&>/dev/null`, `</dev/null`. */
  #redirection(): boolean {
    const harmless = /^(?:(?:&>>?|>>?|<)[ \t]*\/dev\/null|>&[ \t]*(?:\d+|-))(?=[\s;|&<>]|$)/
    const [text] = harmless.exec(this.#text.slice(this.#at)) ?? []
    if (text === undefined) return false
    // The number before it is the descriptor, if it is all of a word and nothing is between.
    if (DIGITS.test(this.#word) && !text.startsWith('&')) this.#word = ''
    return this.#skip(() => this.#endWord(), text.length)
  }

  #take(length: number): boolean {
    this.#word += this.#text.slice(this.#at, this.#at + length)
    this.#at += length
    return true
  }

  #skip(then: () => void, length = 1): boolean {
    then()
    this.#at += length
    return true
  }

  #endWord(): void {
    if (this.#word !== '') this.#words.push(this.#word)
    this.#word = ''
  }

  #endPart(): void {
    this.#endWord()
    if (this.#words.length > 0) this.#parts.push(this.#words.join(' '))
    this.#words = []
  }
}

/** Whether what a part runs is not said by its first word: that is reserved, or would be replaced. */
function isUnclear(part: string): boolean {
  const program = part.split(' ').find((word) => !/^\w+\+?=/.test(word)) ?? ''
  return RESERVED.has(program) || /[*?[{~]/.test(program)
}

/** Commands that run what follows them; a reserved word does too. */
const RUNNERS = new Set(
  'builtin busybox chroot command doas env exec find flock ionice nice nohup parallel setsid stdbuf sudo timeout watch xargs'.split(
    ' ',
  ),
)
/** Commands that take commands as text. */
const SHELLS = new Set('bash dash eval fish ksh sh source ssh zsh'.split(' '))
const MAX_DEPTH = 3
const MAX_RUNNER_WORDS = 500

/**
 * Every text that a command may be forbidden by: the whole, its parts, each without quotes, variables set before it and
 * the path of its program, and what programs such as `sudo` or `sh -c` are told to run. Rather too much than too
 * little: what cannot be taken apart with certainty is cut wherever a command could begin. Pure.
 */
export function forbiddenForms(command: string, depth = 0): Set<string> {
  const parts = parseShellCommand(command) ?? command.split(/[\n;&|(){}`<>]|\$\(/)
  const forms = new Set([command.trim(), ...parts.map((part) => part.trim())])
  for (const part of parts) {
    const words = bareWords(part).map((word, index) => ({ word, index }))
    const first = words.findIndex(({ word }) => !/^\w+\+?=/.test(word))
    if (first < 0) continue
    const own = words.slice(first).map(({ word }) => word)
    addFrom(forms, own)
    const name = baseName(own[0] ?? '')
    const runs = RUNNERS.has(name) || RESERVED.has(name)
    // What is run stands among the first words; of very many, all combinations would take for ever.
    const last = runs ? Math.min(own.length, MAX_RUNNER_WORDS) : 0
    for (let at = 1; at < last; at += 1) addFrom(forms, own.slice(at, at + MAX_RUNNER_WORDS))
    const holder = runs ? own.findIndex((word) => SHELLS.has(baseName(word))) : SHELLS.has(name) ? 0 : -1
    if (holder < 0 || depth >= MAX_DEPTH) continue
    const told = own.slice(holder + 1)
    for (const text of [...told, told.join(' ')])
      if (text !== command) for (const form of forbiddenForms(text, depth + 1)) forms.add(form)
  }
  forms.delete('')
  return forms
}

function addFrom(forms: Set<string>, words: readonly string[]): void {
  const [program = '', ...rest] = words
  forms.add(words.join(' '))
  forms.add([baseName(program), ...rest].join(' '))
}

function baseName(program: string): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

/** Words without quotes and backslashes; quotes that do not end are none. */
function bareWords(part: string): string[] {
  const words = part.match(/(?:\\[^]|'[^']*'|"(?:\\[^]|[^"\\])*"|[^\s\\'"]|['"\\])+/g) ?? []
  return words
    .map((word) =>
      word.replace(/\\([^])|'([^']*)'|"((?:\\[^]|[^"\\])*)"|['"\\]/g, (_all, escaped, single, double) =>
        String(escaped ?? single ?? double?.replaceAll(/\\([^])/g, '$1') ?? ''),
      ),
    )
    .filter((word) => word !== '')
}
