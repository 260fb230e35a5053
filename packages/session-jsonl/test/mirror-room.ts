import { createSession, memorySessionStore, readTranscript } from '@loci/session-jsonl'
import type { Mirror, Session, SessionStore, SessionStoreEntry, TimerFunctions } from '@loci/session-jsonl'
import { SID } from './lines.ts'
import type { project } from './lines.ts'

type Project = Awaited<ReturnType<typeof project>>

/** Under which key the session of a project's folder is in a store. */
export const KEY = { projectKey: 'p', sessionId: SID }

/** A new session in a project's folder. */
export function newSession({ projectDir }: Project): Promise<Session> {
  return createSession({ projectDir, sessionId: SID, cwd: '/w' })
}

/** Says something in a session: an entry and a record without uuid. */
export async function say(session: Session, text: string): Promise<void> {
  await session.append({ type: 'user', message: { role: 'user', content: text } })
  await session.record({ type: 'mode', mode: 'default' })
}

/** Every record of a transcript, in file order. */
export async function recordsIn(path: string): Promise<SessionStoreEntry[]> {
  const records: SessionStoreEntry[] = []
  for await (const { record } of readTranscript(path)) if (record) records.push(record)
  return records
}

/** Timers that a test lets run out. */
export class ManualTimers implements TimerFunctions {
  readonly waits: { ms: number; run: () => void }[] = []
  /** How long each wait was to be, in the order they began. */
  readonly asked: number[] = []
  #onNext: ((ms: number) => void) | undefined
  #isHurried = false

  setTimeout = (run: () => void, ms: number): unknown => {
    const wait = { ms, run }
    this.waits.push(wait)
    this.asked.push(ms)
    this.#onNext?.(ms)
    if (this.#isHurried && ms !== TIMEOUT_MS) queueMicrotask(() => this.runOut())
    return wait
  }

  clearTimeout = (timer: unknown): void => {
    const at = this.waits.findIndex((wait) => wait === timer)
    if (at !== -1) this.waits.splice(at, 1)
  }

  /** Resolves once a wait begins that is not for an answer of the store. */
  nextRetry(): Promise<number> {
    return new Promise((resolve) => {
      const last = this.waits.at(-1)
      if (last && last.ms !== TIMEOUT_MS) resolve(last.ms)
      this.#onNext = (ms) => {
        if (ms !== TIMEOUT_MS) resolve(ms)
      }
    })
  }

  /** Lets what waits run out, and from now on every wait that is not for an answer. */
  hurry(): void {
    this.#isHurried = true
    this.runOut()
  }

  /** Lets the only wait run out. */
  runOut(): void {
    this.waits.pop()?.run()
  }
}

/** How long the mirrors of these tests wait for an answer. */
export const TIMEOUT_MS = 7_777

/** A store whose calls can be made to go wrong, with what it was asked to append. */
export class TroubledStore implements SessionStore {
  readonly inner: SessionStore
  /** What happens to each call to come, the first one first; then all is well. */
  trouble: ('refuses' | 'loses the answer' | 'hangs' | 'well')[] = []
  readonly batches: SessionStoreEntry[][] = []
  loads = 0
  #onCall: (() => void) | undefined

  constructor(inner: SessionStore = memorySessionStore()) {
    this.inner = inner
  }

  append(key: Parameters<SessionStore['append']>[0], entries: SessionStoreEntry[]): Promise<void> {
    this.batches.push(entries)
    return this.#call(() => this.inner.append(key, entries))
  }

  load(key: Parameters<SessionStore['load']>[0]): Promise<SessionStoreEntry[] | null> {
    this.loads += 1
    return this.#call(() => this.inner.load(key))
  }

  /** Resolves at the next call. */
  called(): Promise<void> {
    return new Promise((resolve) => {
      this.#onCall = resolve
    })
  }

  async #call<T>(action: () => Promise<T>): Promise<T> {
    const trouble = this.trouble.shift() ?? 'well'
    this.#onCall?.()
    if (trouble === 'hangs') return new Promise(() => undefined)
    if (trouble === 'refuses') throw new Error('the store refuses')
    const answer = await action()
    if (trouble === 'loses the answer') throw new Error('the answer was lost')
    return answer
  }
}

/** A store that keeps whatever it is given, as often as it is given. */
export function forgetfulStore(): SessionStore {
  const kept = new Map<string, SessionStoreEntry[]>()
  return {
    append: async (key, entries) => {
      const name = JSON.stringify(key)
      kept.set(name, [...(kept.get(name) ?? []), ...structuredClone(entries)])
    },
    load: async (key) => structuredClone(kept.get(JSON.stringify(key)) ?? null),
  }
}

/** Resolves to what `flush` rejected with. */
export async function flushError(mirror: Mirror, signal?: AbortSignal): Promise<unknown> {
  return mirror.flush({ signal }).then(
    () => undefined,
    (error: unknown) => error,
  )
}
