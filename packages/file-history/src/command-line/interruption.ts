import { constants } from 'node:os'
import type { SignalName } from './command-context.ts'

/** A signal came before anything was changed. Exit code as of a program that it ended. */
export class InterruptedError extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super('interrupted; nothing was changed')
    this.exitCode = exitCode
  }
}

/** Signals to us as something that stops work. */
export class Interruption {
  readonly #controller = new AbortController()
  #exitCode: number | undefined

  /** The first signal counts. */
  by(signal: SignalName): void {
    this.#exitCode ??= 128 + constants.signals[signal]
    this.#controller.abort(new InterruptedError(this.#exitCode))
  }

  /** Its reason is an {@link InterruptedError}. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What to exit with, also where the work came to its end; absent as long as no signal came. */
  get exitCode(): number | undefined {
    return this.#exitCode
  }
}
