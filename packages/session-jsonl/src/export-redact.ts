import { isObject } from './entry.ts'
import { wellFormed } from './well-formed.ts'

/** What takes secrets out of a text. */
export type Redact = (text: string) => string

/**
 * A copy of a JSON value in which every string, keys too, is well-formed UTF-16 and was redacted. A key that becomes
 * equal to another gets a number, so that no field is lost. What is base64 (an image, a PDF) cannot be looked into: its
 * data become empty. Pure; the value must not be deep, see `isShallow`.
 */
export function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(wellFormed(value))
  if (Array.isArray(value)) return value.map((item: unknown) => redactValue(item, redact))
  if (!isObject(value)) return value
  const isBinary = value['type'] === 'base64' && typeof value['data'] === 'string'
  const fields = new Map<string, unknown>()
  for (const [key, item] of Object.entries(value)) {
    const name = redact(wellFormed(key))
    let free = name
    for (let count = 2; fields.has(free); count += 1) free = `${name} (${count})`
    fields.set(free, isBinary && key === 'data' ? '' : redactValue(item, redact))
  }
  return Object.fromEntries(fields)
}
