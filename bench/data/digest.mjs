import { createHash } from 'node:crypto'

/** What was read of a branch, in 40 letters: every entry as JSON, in order. */
export function digestEntries(entries) {
  const hash = createHash('sha1')
  for (const entry of entries) hash.update(JSON.stringify(entry)).update('\n')
  return hash.digest('hex')
}

/** The same of what every reader gives out: uuid and message of the prompts, answers and results. */
export function digestMessages(entries) {
  const hash = createHash('sha1')
  for (const { type, uuid, message } of entries) {
    if (type !== 'user' && type !== 'assistant') continue
    hash.update(`${uuid} ${JSON.stringify(message)}\n`)
  }
  return hash.digest('hex')
}
