import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { createMessagesApi } from './messages-api.ts'
import type { MessagesApi, MessagesApiOptions, SeenRequest } from './messages-api.ts'

/** A Messages API on the loopback. */
export interface MessagesApiServer {
  /** For `ANTHROPIC_BASE_URL` or the client's `baseURL`, such as `http://127.0.0.1:40123`. */
  url: string
  /** What was asked so far, in the order in which statuses became known; it grows. */
  requests: SeenRequest[]
  /** Cuts the connections that are open and stops listening. */
  close: () => Promise<void>
}

/** Serves `createMessagesApi` over HTTP on a free port of 127.0.0.1; an answer that is cut destroys its connection. */
export async function listenMessagesApi(options: MessagesApiOptions): Promise<MessagesApiServer> {
  const requests: SeenRequest[] = []
  const onRequest = (seen: SeenRequest): void => {
    requests.push(seen)
    options.onRequest?.(seen)
  }
  const api = createMessagesApi({ ...options, onRequest })
  const server = createServer((request, response) => {
    // Also a client that goes away in the middle comes here; there is nobody left to tell.
    serve(api, request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { url: `http://127.0.0.1:${port}`, requests, close }
}

async function serve(api: MessagesApi, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const answer = await api.fetch(new URL(request.url ?? '/', 'http://127.0.0.1'), {
    method: request.method ?? 'GET',
    headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
    ...(request.method === 'POST' ? { body: await buffer(request) } : {}),
    signal: gone.signal,
  })
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  response.flushHeaders()
  // No `pipe`: what was written before a cut must have left, and then the connection is destroyed.
  for await (const chunk of answer.body ?? []) await written(response, chunk)
  response.end()
}

function written(response: ServerResponse, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}
