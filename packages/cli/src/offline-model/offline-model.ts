import type { AnswerBlock, ModelAnswer } from '../messages-api/answer.ts'
import type { MessagesRequest } from '../messages-api/request-shape.ts'
import { readConversation } from './conversation.ts'
import { asksToLookBack, lookBack } from './look-back.ts'
import { nextStep } from './next-step.ts'
import { parsePrompt } from './parse-prompt.ts'
import { phrasesIn } from './phrases.ts'
import { asksToSumUp, sumUp } from './sum-up.ts'

/** The name under which the embedded model answers. */
export const OFFLINE_MODEL_NAME = 'loci-offline'

/**
 * The next message of the embedded rule-based model: one tool call with a word before it, or a closing text, never
 * empty. Pure: it looks at the request alone, and the same request gives the same answer.
 *
 * It understands plain requests in English and Chinese (see `english.ts`, `chinese.ts`) and answers questions only
 * from what the request holds. A prompt of which it does not understand a part is not begun. It comes to an end
 * after at most 11 calls, whatever the tools say.
 */
export function answerOffline(request: MessagesRequest): ModelAnswer {
  const conversation = readConversation(request)
  if (asksToSumUp(conversation)) return { content: [{ type: 'text', text: sumUp(conversation) }] }
  if (conversation.prompt === undefined)
    return { content: [{ type: 'text', text: phrasesIn('en').noPrompt }] }
  const next = asksToLookBack(conversation)
    ? lookBack(conversation)
    : nextStep(parsePrompt(conversation.prompt), conversation)
  const said: AnswerBlock[] = next.text === '' ? [] : [{ type: 'text', text: next.text }]
  if (!('call' in next)) return { content: said }
  return { content: [...said, { type: 'tool_use', name: next.call.name, input: next.call.input }] }
}
