import { createLimit, settleAll } from './in-parallel.ts'
import type { KeyedQueue } from './keyed-queue.ts'
import type { QuickLook } from './quick-look.ts'
import type { Backup } from './snapshot.ts'
import type { VersionedBackups } from './versioned-backups.ts'

/** A tracked file as a snapshot finds it; `unseen`: why it could not be looked at. */
export interface TrackedLook {
  key: string
  /** Number of the last event when it was looked at: what is recorded of it later is newer. */
  sequence?: number
  backup: Backup
  unseen?: string
}

/**
 * The backups of these files as they are at the moment of the call: whoever asks for a place in the queue of one from
 * now on waits until it has been looked at. Files that nobody touched are seen to be so at once, as far as there is
 * time for that, and need no place.
 */
export function lookAtTracked(
  keys: Iterable<string>,
  parts: { paths: KeyedQueue; backups: VersionedBackups },
): Promise<TrackedLook[]> {
  return new TrackedFiles(parts).look(keys)
}

class TrackedFiles {
  readonly #paths: KeyedQueue
  readonly #backups: VersionedBackups
  readonly #quick: QuickLook
  readonly #limit = createLimit()
  readonly #found = new Map<string, TrackedLook | undefined>()

  constructor({ paths, backups }: { paths: KeyedQueue; backups: VersionedBackups }) {
    this.#paths = paths
    this.#backups = backups
    this.#quick = backups.quickLook()
  }

  async look(keys: Iterable<string>): Promise<TrackedLook[]> {
    const work: Promise<void>[] = []
    const late: string[] = []
    for (const key of keys) {
      if (this.#quick.hasTime && !this.#paths.isBusy(key) && this.#lookAtOnce(key)) continue
      // The results keep the order of the keys.
      this.#found.set(key, undefined)
      if (this.#paths.isBusy(key)) work.push(this.#paths.run(key, () => this.#lookLate([key])))
      else if (!this.#quick.hasTime) late.push(key)
      else work.push(this.#paths.run(key, () => this.#read(key)))
    }
    // One place for all of them: a promise for each would take as long as looking does.
    if (late.length > 0) work.push(this.#paths.runAll(late, () => this.#lookLate(late)))
    await settleAll(work)
    return [...this.#found.values()].filter((look) => look !== undefined)
  }

  async #lookLate(keys: readonly string[]): Promise<void> {
    const unproven: string[] = []
    for (const key of keys) {
      while (!this.#quick.hasTime) await this.#quick.letTurn()
      if (!this.#lookAtOnce(key)) unproven.push(key)
    }
    await settleAll(unproven.map((key) => this.#read(key)))
  }

  #lookAtOnce(key: string): boolean {
    const backup = this.#quick.atOnce(key)
    if (backup !== undefined) this.#found.set(key, { key, sequence: this.#backups.sequence, backup })
    return backup !== undefined
  }

  async #read(key: string): Promise<void> {
    const { sequence } = this.#backups
    const look = await this.#limit(() => this.#backups.backUpTracked(key))
    this.#found.set(key, { key, sequence, ...look })
  }
}
