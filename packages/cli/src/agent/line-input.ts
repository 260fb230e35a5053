import { createInterface } from 'node:readline'

/** Lines that are typed, or piped in, one at a time. */
export interface LineInput {
  /** Whether a person types. */
  readonly isInteractive: boolean
  /** Whether Ctrl-C ended it. */
  readonly wasInterrupted: boolean
  /** The next line; `null` at the end of input, or when the person wants to leave. */
  readLine(prompt: string): Promise<string | null>
  /** A line that is typed after this was asked: what was typed before is no answer to it. */
  ask(question: string): Promise<string | null>
  /** Calls the listener at each interruption (Ctrl-C), until the function returned is called. */
  onInterrupt(listener: () => void): () => void
  close(): void
}

/** The lines of a text, as if somebody typed them. */
export function linesOf(text: string): LineInput {
  const lines = text.split(/\r?\n/)
  const next = async (): Promise<string | null> => lines.shift() ?? null
  return {
    isInteractive: false,
    wasInterrupted: false,
    readLine: next,
    ask: next,
    onInterrupt: () => () => undefined,
    close: () => undefined,
  }
}

/** Lines of a stream. On a terminal Ctrl-C interrupts what listens, and ends the input where nothing does. */
export function openLineInput(streams: {
  input: NodeJS.ReadableStream
  output: NodeJS.WritableStream
  isInteractive: boolean
}): LineInput {
  const { input, output, isInteractive } = streams
  const reader = createInterface({ input, output, terminal: isInteractive, historySize: 200 })
  const lines: string[] = []
  let waiting: ((line: string | null) => void) | undefined
  let isClosed = false
  let isAsked = false
  let wasInterrupted = false
  const listeners = new Set<() => void>()
  const answer = (line: string | null): boolean => {
    const resolve = waiting
    waiting = undefined
    resolve?.(line)
    return resolve !== undefined
  }
  reader.on('line', (line) => {
    if (!answer(line)) lines.push(line)
  })
  reader.on('close', () => {
    isClosed = true
    answer(null)
  })
  reader.on('SIGINT', () => {
    for (const listener of listeners) listener()
    // A question of what was interrupted needs no answer any more; a prompt that is being typed stays.
    if (listeners.size > 0 && !isAsked) return
    wasInterrupted = listeners.size === 0
    answer(null)
  })
  const wait = (prompt: string): Promise<string | null> => {
    if (isClosed) return Promise.resolve(null)
    if (isInteractive) {
      reader.setPrompt(prompt)
      reader.prompt()
    }
    return new Promise((resolve) => {
      waiting = resolve
    })
  }
  return {
    isInteractive,
    get wasInterrupted() {
      return wasInterrupted
    },
    readLine: (prompt) => {
      const line = lines.shift()
      return line === undefined ? wait(prompt) : Promise.resolve(line)
    },
    async ask(question) {
      isAsked = true
      try {
        return await wait(question)
      } finally {
        isAsked = false
      }
    },
    onInterrupt(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => reader.close(),
  }
}
