/**
 * An error of Loci that a program can act on: `code` says what happened, `message` what to do about it.
 * Each package lists its codes in its README; a new one is a minor release, a changed one a major.
 */
export class LociError extends Error {
  override readonly name = 'LociError'
  readonly code: string
  /** Facts about the failure, safe to print as JSON: paths, ids, numbers. */
  readonly details: Record<string, unknown>

  constructor(
    code: string,
    message: string,
    init: { details?: Record<string, unknown> | undefined; cause?: unknown } = {},
  ) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause })
    this.code = code
    this.details = init.details ?? {}
  }
}

/** Loci's errors begin their code with a word of ours, Node's with `E`; both are upper case. */
const CODE_SHAPE = /^(?!E[A-Z0-9]+$|ERR_)[A-Z]+(?:_[A-Z]+)+$/

/**
 * Whether `error` is one of ours and, if codes are given, carries one of them.
 * Tests the shape, not the class: true across two installed copies of a package and for the plain
 * errors with a `code` that `@loci/app-state` throws.
 */
export function isLociError(
  error: unknown,
  ...codes: string[]
): error is Error & { readonly code: string; readonly details?: Readonly<Record<string, unknown>> } {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false
  return codes.length > 0 ? codes.includes(error.code) : CODE_SHAPE.test(error.code)
}

/** What an error says; of something thrown that is no error, what it reads as. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A place in stored data that could not be read as it should. The bytes are still there, untouched. */
export interface Damage {
  /** What kind of damage, for example `torn-line`, `zero-run`, `missing-parent`, `cycle`. */
  kind: string
  path: string
  /** First byte of the damage, from the beginning of the file. */
  offset?: number
  /** Line of the damage, counted from 1. */
  line?: number
  message: string
}
