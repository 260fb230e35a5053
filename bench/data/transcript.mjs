import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { conversation } from './messages.mjs'
import { foreignLine, ownLine, piHeader, piLine } from './lines.mjs'

/**
 * Writes a made-up conversation, to each of several places in its own form.
 *
 * @param options.shape `linear`; `dead90`: a compaction after 90 % of the bytes; `branchy`: dead branches all along
 * @param options.keyOrder `own` or `foreign`: whether the uuid comes before or after the message
 * @param options.ending `whole`; `torn`: the last line is cut; `rewound`: the last record names, as a rewind does, an
 * answer that has a tenth of the conversation after it
 * @param options.piPath where to write the same for pi; default: nowhere
 * @param options.onEntry is told each entry with its line and its place
 * @returns `{ sizeBytes, entries, tip }`
 */
export function writeTranscript({
  path,
  sessionId,
  sizeBytes,
  seed,
  shape,
  keyOrder,
  ending,
  piPath,
  onEntry,
}) {
  const line = keyOrder === 'own' ? ownLine : foreignLine
  const file = new LineFile(path)
  const piFile = piPath === undefined ? undefined : new LineFile(piPath)
  piFile?.write(piHeader(sessionId))
  const options = {
    seed,
    branchy: shape === 'branchy',
    boundaryAt: shape === 'dead90' ? sizeBytes * 0.9 : undefined,
  }
  let boundary
  let rewoundTo
  let tip
  let prompt
  let entries = 0
  for (const entry of conversation(options, () => file.sizeBytes)) {
    if (file.sizeBytes >= sizeBytes && entry.kind === 'prompt') {
      if (ending === 'torn') file.write(line(entry, sessionId), { cutAt: 0.5 })
      break
    }
    const text = line(entry, sessionId)
    file.write(text)
    tip = entry.uuid
    onEntry?.(entry, text, entries++)
    if (entry.kind === 'boundary') boundary = entry
    if (entry.kind === 'prompt') prompt = entry.message.content.slice(0, 200).toWellFormed()
    const forPi = piFile && piLine(entry, boundary)
    if (forPi !== undefined) piFile.write(forPi)
    if (entry.kind !== 'answer') continue
    file.write(lastPrompt(prompt, entry.uuid, sessionId))
    if (ending === 'rewound' && file.sizeBytes < sizeBytes * 0.9) rewoundTo = entry.uuid
  }
  if (rewoundTo !== undefined) {
    tip = rewoundTo
    file.write(lastPrompt(prompt, tip, sessionId, { explicit: true }))
  }
  file.close()
  piFile?.close()
  return { sizeBytes: file.sizeBytes, entries, tip }
}

function lastPrompt(text, leafUuid, sessionId, fields = {}) {
  return JSON.stringify({ type: 'last-prompt', lastPrompt: text, leafUuid, ...fields, sessionId })
}

/** A file that is written a line at a time, some hundred KB at once. */
class LineFile {
  sizeBytes = 0
  #file
  #pending = []
  #pendingBytes = 0

  constructor(path) {
    mkdirSync(dirname(path), { recursive: true })
    this.#file = openSync(path, 'w', 0o600)
  }

  /** @param options.cutAt which part of the line is written, without its end; default: all */
  write(text, { cutAt = 1 } = {}) {
    const whole = Buffer.from(`${text}\n`)
    const bytes = cutAt === 1 ? whole : whole.subarray(0, Math.floor(whole.length * cutAt))
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
    this.sizeBytes += bytes.length
    if (this.#pendingBytes > 512 * 1024) this.#flush()
  }

  close() {
    this.#flush()
    closeSync(this.#file)
  }

  #flush() {
    for (const bytes of this.#pending) writeSync(this.#file, bytes)
    this.#pending = []
    this.#pendingBytes = 0
  }
}
