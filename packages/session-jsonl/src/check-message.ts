import { isObject } from './entry.ts'
import { isShallow } from './json-depth.ts'

/**
 * What is wrong with the message of a `user` or `assistant` line; `undefined` if the conversation can take it.
 *
 * @param message an object with the `role` of the line and, as `content`, a string or blocks, each with a `type`
 */
export function messageFlaw(message: unknown, role: string): string | undefined {
  if (!isObject(message)) return `message must be an object with role and content`
  if (message['role'] !== role)
    return `The role of the message must be ${JSON.stringify(role)}, as its line's type`
  const content: unknown = message['content']
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return `The content of the message must be a string or a list of blocks`
  const isBlock = (block: unknown): boolean => isObject(block) && typeof block['type'] === 'string'
  if (!isShallow(content)) return `The content of the message nests too deep to be sent`
  return content.every(isBlock) ? undefined : `Each block of the message must be an object with a type`
}
