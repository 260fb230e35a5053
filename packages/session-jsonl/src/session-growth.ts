import type { Session } from './session.ts'

const listeners = new WeakMap<Session, Set<() => void>>()

/** Calls `listener` after each write to the session's file that this process made. Returns what ends that. */
export function watchGrowth(session: Session, listener: () => void): () => void {
  const known = listeners.get(session) ?? new Set()
  listeners.set(session, known)
  known.add(listener)
  return () => known.delete(listener)
}

/** Says that the session's file has grown. */
export function grew(session: Session): void {
  for (const listener of listeners.get(session) ?? []) listener()
}
