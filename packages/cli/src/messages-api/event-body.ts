import type { ModelAnswer } from './answer.ts'

/**
 * A response body that gives one frame a read, and does what an answer asks for in the middle: stands still, or breaks
 * off as a lost connection does. When `signal` aborts, reading rejects with its reason (an `AbortError` by default).
 */
export function eventBody(
  frames: readonly string[],
  options: {
    hold?: ModelAnswer['holdAfterEvents'] | undefined
    cutAfter?: number | undefined
    signal?: AbortSignal | undefined
  },
): ReadableStream<Uint8Array> {
  const { hold, signal } = options
  const cutAt = options.cutAfter === undefined ? undefined : Math.min(options.cutAfter, frames.length)
  const holdAt = hold === undefined ? undefined : Math.min(hold.events, frames.length)
  const encoder = new TextEncoder()
  const over = new AbortController()
  let sent = 0
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const abort = (): void => controller.error(signal?.reason)
        if (signal?.aborted === true) abort()
        else signal?.addEventListener('abort', abort, { once: true, signal: over.signal })
      },
      async pull(controller) {
        if (sent === holdAt) await hold?.until.catch(() => undefined)
        if (signal?.aborted === true || over.signal.aborted) return
        const frame = frames[sent]
        if (sent === cutAt) {
          over.abort()
          // The words of the platform's own fetch for a connection that is gone.
          controller.error(new TypeError('terminated'))
        } else if (frame === undefined) {
          over.abort()
          controller.close()
        } else {
          sent += 1
          controller.enqueue(encoder.encode(frame))
        }
      },
      cancel: () => over.abort(),
    },
    { highWaterMark: 0 },
  )
}
