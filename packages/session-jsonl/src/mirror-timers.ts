import { LociError } from '@loci/disk'

/** The two functions that a mirror needs of a clock. Timers that have `ref` and `unref` are told whether they matter. */
export interface TimerFunctions {
  setTimeout: (run: () => void, ms: number) => unknown
  clearTimeout: (timer: unknown) => void
}

const SYSTEM: TimerFunctions = {
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

/** The waits of a mirror: for the answer of the store, and for the next try. They keep no process alive unless told. */
export class MirrorTimers {
  readonly #functions: TimerFunctions
  #retry: { timer: unknown } | undefined
  #call: { timer: unknown; fail: (error: Error) => void } | undefined
  #isNeeded = false
  #closed: Error | undefined

  constructor(functions: TimerFunctions = SYSTEM) {
    this.#functions = functions
  }

  /** What `action` gives, if it does within that time. One call at a time. */
  within<T>(ms: number, action: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed)
    return new Promise((resolve, reject) => {
      const call = { timer: undefined as unknown, fail: reject }
      const end = (settle: () => void): void => {
        this.#functions.clearTimeout(call.timer)
        if (this.#call === call) this.#call = undefined
        settle()
      }
      call.timer = this.#start(ms, () => end(() => reject(timedOut(ms))))
      this.#call = call
      // What it answers after the time is up is heard, so that no rejection goes unhandled, and changes nothing.
      new Promise<T>((answer) => answer(action())).then(
        (value) => end(() => resolve(value)),
        (error: unknown) => end(() => reject(error)),
      )
    })
  }

  /** Runs `retry` once, after that time. */
  retryIn(ms: number, retry: () => void): void {
    this.cancelRetry()
    if (this.#closed) return
    const timer = this.#start(ms, () => {
      this.#retry = undefined
      retry()
    })
    this.#retry = { timer }
  }

  cancelRetry(): void {
    if (this.#retry) this.#functions.clearTimeout(this.#retry.timer)
    this.#retry = undefined
  }

  /** Somebody waits: the process is to stay alive. */
  keepAlive(): void {
    this.#isNeeded = true
    this.#tell()
  }

  /** Nobody waits any more. */
  letGo(): void {
    this.#isNeeded = false
    this.#tell()
  }

  /** Ends all waits; the call that is being waited for, and later ones, fail with `error`. */
  close(error: Error): void {
    this.#closed = error
    this.cancelRetry()
    if (this.#call) this.#functions.clearTimeout(this.#call.timer)
    this.#call?.fail(error)
    this.#call = undefined
  }

  #start(ms: number, run: () => void): unknown {
    const timer = this.#functions.setTimeout(run, ms)
    this.#tellOne(timer)
    return timer
  }

  #tell(): void {
    for (const wait of [this.#retry, this.#call]) if (wait) this.#tellOne(wait.timer)
  }

  #tellOne(timer: unknown): void {
    if (typeof timer !== 'object' || timer === null) return
    const method: unknown = Reflect.get(timer, this.#isNeeded ? 'ref' : 'unref')
    if (typeof method === 'function') method.call(timer)
  }
}

function timedOut(ms: number): LociError {
  const message = `The store has not answered within ${ms} ms; it is asked again later`
  return new LociError('STORE_UNAVAILABLE', message, { details: { timeoutMs: ms } })
}
