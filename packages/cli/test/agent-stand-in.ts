import { listenMessagesApi } from '@loci/cli/testing'
import type { Answerer, MessagesApiServer, MessagesRequest, SeenRequest } from '@loci/cli/testing'
import { answerOffline } from '../src/offline-model/offline-model.ts'

/** The message of faults that a test asks for. */
export const SCRIPTED = 'as the test says'

/** A Messages API over HTTP behind which the rules of the offline model answer. */
export interface StandIn {
  url: string
  requests: readonly SeenRequest[]
  /** Answers the next requests in its place, one each. */
  next(...answerers: Answerer[]): void
  close: MessagesApiServer['close']
}

export async function openStandIn(): Promise<StandIn> {
  const script: Answerer[] = []
  const { url, requests, close } = await listenMessagesApi({
    answer: (request) => (script.shift() ?? answerOffline)(request),
  })
  return { url, requests, close, next: (...answerers) => void script.push(...answerers) }
}

/** The body of a request that was understood. */
export function bodyOf(seen: SeenRequest | undefined): MessagesRequest {
  if (seen === undefined || seen.error !== undefined) throw new Error(`no such request: ${seen?.error ?? ''}`)
  // The stand-in has checked it.
  return seen.body as MessagesRequest
}

/** The texts of a request's messages, `role: text` each, in order; calls and results as JSON, without cache marks. */
export function saidIn(seen: SeenRequest | undefined): string[] {
  return bodyOf(seen).messages.flatMap(({ role, content }) =>
    (typeof content === 'string' ? [{ type: 'text', text: content } as const] : content).map(
      (block) =>
        `${role}: ${block.type === 'text' ? block.text : JSON.stringify({ ...block, cache_control: undefined })}`,
    ),
  )
}
