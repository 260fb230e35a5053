import { isObject } from './entry.ts'
import { stringEnd } from './scan-json.ts'
import { wellFormed } from './well-formed.ts'

/**
 * What is known of a JSON object whose text is cut anywhere: complete values as they are, a string that is cut with
 * the part that is there. `undefined` if the text is not the beginning of an object.
 */
export function parseCutObject(text: string): Record<string, unknown> | undefined {
  const { value } = new CutReader(text).read(0)
  return isObject(value) ? value : undefined
}

/** Deeper than any message nests; beyond it the rest counts as cut. */
const MAX_DEPTH = 100

class CutReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads one value; `value` is `undefined` where the text ends before it or is no JSON. */
  read(depth: number): { value: unknown } {
    this.#skipBlanks()
    const first = this.#text[this.#at]
    if (depth > MAX_DEPTH) this.#at = this.#text.length
    else if (first === '"') return { value: this.#readString() }
    else if (first === '{') return { value: this.#readObject(depth) }
    else if (first === '[') return { value: this.#readArray(depth) }
    const literal = /^(?:true|false|null|-?\d[\d.eE+-]*)/.exec(this.#text.slice(this.#at, this.#at + 40))?.[0]
    if (literal === undefined) {
      this.#at = this.#text.length
      return { value: undefined }
    }
    this.#at += literal.length
    return { value: parse(literal) }
  }

  #readObject(depth: number): Record<string, unknown> {
    const members: [string, unknown][] = []
    this.#at += 1
    while (!this.#ends('}')) {
      const key = this.#text[this.#at] === '"' ? this.#readString() : undefined
      if (key === undefined || !this.#take(':')) break
      const { value } = this.read(depth + 1)
      if (value !== undefined) members.push([key, value])
      if (!this.#take(',')) {
        this.#take('}')
        break
      }
    }
    return Object.fromEntries(members)
  }

  #readArray(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at += 1
    while (!this.#ends(']')) {
      const { value } = this.read(depth + 1)
      if (value !== undefined) items.push(value)
      if (!this.#take(',')) {
        this.#take(']')
        break
      }
    }
    return items
  }

  #readString(): string | undefined {
    const open = this.#at
    const end = stringEnd(this.#text, open, this.#text.length)
    if (end !== -1) {
      this.#at = end
      return asText(parse(this.#text.slice(open, end)))
    }
    this.#at = this.#text.length
    return asText(parse(`${withoutCutEscape(this.#text.slice(open))}"`))
  }

  #ends(bracket: string): boolean {
    this.#skipBlanks()
    if (this.#at >= this.#text.length) return true
    return this.#take(bracket)
  }

  #take(mark: string): boolean {
    this.#skipBlanks()
    if (this.#text[this.#at] !== mark) return false
    this.#at += 1
    this.#skipBlanks()
    return true
  }

  #skipBlanks(): void {
    while (/[ \t\r\n]/.test(this.#text.charAt(this.#at))) this.#at += 1
  }
}

function parse(token: string): unknown {
  try {
    return JSON.parse(token)
  } catch {
    return undefined
  }
}

/** An escape that is cut in the middle is no part of the text yet. */
function withoutCutEscape(token: string): string {
  const tail = /\\(?:u[\dA-Fa-f]{0,3})?$/.exec(token)
  if (tail === null) return token
  let slashes = 0
  while (token[tail.index - 1 - slashes] === '\\') slashes += 1
  return slashes % 2 === 0 ? token.slice(0, tail.index) : token
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? wellFormed(value) : undefined
}
