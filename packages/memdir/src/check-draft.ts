import { LociError } from '@loci/disk'
import { checkText } from './check-text.ts'
import { checkTopicFile } from './file-name.ts'
import type { MemoryDraft } from './memory.ts'
import { scanForSecrets } from './scan-secrets.ts'
import { MEMORY_TYPES } from './topic-file.ts'

/** How many UTF-8 bytes a memory may have: name, description, hook and body together. */
const MAX_MEMORY_BYTES = 65_536

/**
 * Refuses what cannot be a memory and what is not worth being one.
 *
 * @throws {TypeError} a field has the wrong type
 * @throws {LociError} MEMORY_INVALID when the type is none of the four, name or body is blank, the body is nothing but
 * code, all is longer than {@link MAX_MEMORY_BYTES}, a text holds half a character or the file cannot be a topic file
 */
export function checkDraft(draft: MemoryDraft): void {
  for (const field of ['name', 'description', 'type', 'body'] as const) {
    if (typeof draft[field] !== 'string') throw new TypeError(`${field} must be a string`)
  }
  if (draft.hook !== undefined && typeof draft.hook !== 'string') throw new TypeError('hook must be a string')
  const texts = [draft.name, draft.description, draft.body, draft.hook ?? '']
  for (const field of ['name', 'description', 'body', 'hook'] as const) checkText(field, draft[field] ?? '')
  if (!MEMORY_TYPES.includes(draft.type)) {
    throw new LociError(
      'MEMORY_INVALID',
      `${JSON.stringify(draft.type)} is no type of memory: use ${MEMORY_TYPES.join(', ')}`,
      { details: { type: draft.type } },
    )
  }
  if (draft.file !== undefined) checkTopicFile(draft.file)
  const sizeBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const why = whyNotWorthSaving(draft, sizeBytes)
  if (why !== undefined) throw new LociError('MEMORY_INVALID', `Nothing was saved: ${why}`)
}

function whyNotWorthSaving({ name, body }: MemoryDraft, sizeBytes: number): string | undefined {
  if (name.trim() === '') return 'the memory needs a name that is not blank'
  if (body.trim() === '') return 'the body is empty; say what is to be remembered'
  if (isBareCode(body))
    return 'the body is nothing but a block of code; say in words what is to be remembered of it and where it stands'
  if (sizeBytes > MAX_MEMORY_BYTES)
    return `the memory has ${sizeBytes} bytes, over the limit of ${MAX_MEMORY_BYTES}; keep one fact, and name the file that has the rest`
  return undefined
}

/** Whether a Markdown text holds fenced blocks of code and no word beside them; one that is not closed goes to the end. */
function isBareCode(text: string): boolean {
  let fence: string | undefined
  let blocks = 0
  for (const line of text.split(/\r\n?|\n/)) {
    const [, marks = '', info = ''] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (fence !== undefined) {
      if (marks.startsWith(fence) && info.trim() === '') fence = undefined
    } else if (marks !== '' && !(marks.startsWith('`') && info.includes('`'))) {
      fence = marks
      blocks += 1
    } else if (line.trim() !== '') return false
  }
  return blocks > 0
}

/**
 * A sentence for each thing in a memory that looks like a secret: where it is and by which rule, never the value.
 * `file` is the topic file.
 */
export function secretWarnings(draft: MemoryDraft, file: string): string[] {
  const places = [
    { what: 'The name', text: draft.name },
    { what: 'The description', text: draft.description },
    { what: 'The hook', text: draft.hook ?? '' },
    { what: 'The file name', text: file },
  ]
  return [
    ...places.flatMap(({ what, text }) => scanForSecrets(text).map(({ rule }) => warn(what, rule))),
    ...textWarnings(draft.body, 'the body'),
  ]
}

/** {@link secretWarnings} of one text, with its lines. */
export function textWarnings(text: string, what: string): string[] {
  return scanForSecrets(text).map(({ rule, start }) =>
    warn(`Line ${text.slice(0, start).split('\n').length} of ${what}`, rule),
  )
}

function warn(where: string, rule: string): string {
  return `${where} looks like a secret (${rule}): memory is plain text and goes into prompts; take it out`
}
