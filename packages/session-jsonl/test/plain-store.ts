import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from '@loci/session-jsonl'
import { foldSessionSummary } from '@loci/session-jsonl'

/** A store without any file, as an outside author would begin; sound, and easy to break in one place. */
export class PlainStore implements Required<SessionStore> {
  protected readonly kept = new Map<string, SessionStoreEntry[]>()
  protected readonly times = new Map<string, number>()
  protected name({ projectKey, sessionId, subpath }: SessionKey): string {
    return JSON.stringify([projectKey, sessionId, subpath ?? null])
  }
  protected keyOf(name: string): SessionKey {
    const [projectKey, sessionId, subpath] = JSON.parse(name) as [string, string, string | null]
    return { projectKey, sessionId, ...(subpath === null ? {} : { subpath }) }
  }
  protected copy<T>(value: T): T {
    return JSON.parse(JSON.stringify(value)) as T
  }
  protected missing(held: SessionStoreEntry[], batch: SessionStoreEntry[]): SessionStoreEntry[] {
    const seen = new Set(held.map(({ uuid }) => uuid))
    return batch.filter(({ uuid }) => uuid === undefined || (!seen.has(uuid) && seen.add(uuid)))
  }
  async append(key: SessionKey, batch: SessionStoreEntry[]): Promise<void> {
    const copied = this.copy(batch)
    const name = this.name(key)
    if (copied.length === 0) return
    const held = this.kept.get(name) ?? []
    this.kept.set(name, [...held, ...this.missing(held, copied)])
    this.times.set(name, Date.now())
  }
  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    return this.copy(this.kept.get(this.name(key)) ?? null)
  }
  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return this.keys()
      .filter((key) => key.projectKey === projectKey && key.subpath === undefined)
      .map((key) => ({ sessionId: key.sessionId, mtime: this.times.get(this.name(key)) ?? 0 }))
  }
  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const listed = await PlainStore.prototype.listSessions.call(this, projectKey)
    return listed.map(({ sessionId, mtime }) => {
      const key = { projectKey, sessionId }
      return foldSessionSummary(undefined, key, this.kept.get(this.name(key)) ?? [], { mtime })
    })
  }
  async delete(key: SessionKey): Promise<void> {
    for (const found of this.keys()) if (this.isBelow(found, key)) this.kept.delete(this.name(found))
  }
  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    return this.keys().flatMap((found) => (this.isBelow(found, key) ? (found.subpath ?? []) : []))
  }
  protected keys(): SessionKey[] {
    return [...this.kept.keys()].map((name) => this.keyOf(name))
  }
  protected isBelow(found: SessionKey, key: SessionKey): boolean {
    const same = found.projectKey === key.projectKey && found.sessionId === key.sessionId
    return same && (key.subpath === undefined || key.subpath === found.subpath)
  }
}
