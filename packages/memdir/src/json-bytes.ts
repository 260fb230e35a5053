import { isUtf8 } from 'node:buffer'
import { z } from 'zod'

/** Bytes in JSON: as text where they are text. */
export type JsonBytes = string | { base64: string }

export const JSON_BYTES: z.ZodType<JsonBytes> = z.union([z.string(), z.object({ base64: z.string() })])

export function toJson(bytes: Buffer): JsonBytes {
  return isUtf8(bytes) ? bytes.toString('utf8') : { base64: bytes.toString('base64') }
}

export function fromJson(json: JsonBytes): Buffer {
  return typeof json === 'string' ? Buffer.from(json) : Buffer.from(json.base64, 'base64')
}
