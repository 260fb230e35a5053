import type { SessionKey, SessionStore, SessionStoreEntry } from '@loci/session-jsonl'
import { foldSessionSummary, memorySessionStore } from '@loci/session-jsonl'
import { PlainStore } from './plain-store.ts'

/** Each with the part of the suite that must find it. */
export const BROKEN: readonly [fault: string, found: RegExp, make: () => SessionStore][] = [
  [
    'gives [] for a key never written',
    /never written is null/,
    () =>
      new (class extends PlainStore {
        override load = async (key: SessionKey) => (await super.load(key)) ?? []
      })(),
  ],
  [
    'gives [] once something beside it was written',
    /never written is null/,
    () =>
      new (class extends PlainStore {
        override load = async (key: SessionKey) =>
          (await super.load(key)) ??
          (this.keys().some(({ sessionId }) => sessionId === key.sessionId) ? [] : null)
      })(),
  ],
  [
    'answers after a while, the later call first',
    /order of the calls/,
    () =>
      new (class extends PlainStore {
        #calls = 0
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          this.#calls += 1
          for (let turns = (this.#calls * 7) % 5; turns > 0; turns -= 1) await Promise.resolve()
          await super.append(key, batch)
        }
      })(),
  ],
  [
    'keeps the newest first',
    /deep-equal|order/,
    () =>
      new (class extends PlainStore {
        override load = async (key: SessionKey) => (await super.load(key))?.toReversed() ?? null
      })(),
  ],
  [
    'keeps no more than it knows',
    /deep-equal/,
    () =>
      new (class extends PlainStore {
        protected override missing = (held: SessionStoreEntry[], batch: SessionStoreEntry[]) =>
          super.missing(held, batch).filter(({ type }) => ['user', 'assistant', 'mode'].includes(type))
      })(),
  ],
  [
    'keeps a duplicate',
    /not kept twice/,
    () =>
      new (class extends PlainStore {
        protected override missing = (_held: SessionStoreEntry[], batch: SessionStoreEntry[]) => batch
      })(),
  ],
  [
    'keeps a duplicate within one batch',
    /not kept twice/,
    () =>
      new (class extends PlainStore {
        protected override missing = (held: SessionStoreEntry[], batch: SessionStoreEntry[]) =>
          batch.filter(({ uuid }) => uuid === undefined || !held.some((one) => one.uuid === uuid))
      })(),
  ],
  [
    'replaces a duplicate',
    /does not replace/,
    () =>
      new (class extends PlainStore {
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          const held = this.kept.get(this.name(key)) ?? []
          for (const one of this.copy(batch)) {
            const at = held.findIndex(({ uuid }) => uuid !== undefined && uuid === one.uuid)
            if (at !== -1) held[at] = one
          }
          await super.append(key, batch)
        }
      })(),
  ],
  [
    'takes uuids without regard to case',
    /by case/,
    () =>
      new (class extends PlainStore {
        protected override missing = (held: SessionStoreEntry[], batch: SessionStoreEntry[]) => {
          const seen = new Set(held.map(({ uuid }) => uuid?.toLowerCase()))
          return super
            .missing(held, batch)
            .filter(({ uuid }) => uuid === undefined || !seen.has(uuid.toLowerCase()))
        }
      })(),
  ],
  [
    'refuses a whole batch for one duplicate',
    /not kept twice|lost/,
    () =>
      new (class extends PlainStore {
        protected override missing = (held: SessionStoreEntry[], batch: SessionStoreEntry[]) => {
          const added = super.missing(held, batch)
          return added.length < new Set(batch).size ? [] : added
        }
      })(),
  ],
  [
    'drops entries without uuid that it has already',
    /without uuid/,
    () =>
      new (class extends PlainStore {
        protected override missing = (held: SessionStoreEntry[], batch: SessionStoreEntry[]) =>
          super
            .missing(held, batch)
            .filter((one) => one.uuid !== undefined || !held.some(({ type }) => type === one.type))
      })(),
  ],
  [
    'keeps what it was given, no copy',
    /can be changed/,
    () =>
      new (class extends PlainStore {
        protected override copy = <T>(value: T): T => (Array.isArray(value) ? ([...value] as T) : value)
      })(),
  ],
  [
    'gives out what it keeps',
    /can be changed/,
    () =>
      new (class extends PlainStore {
        override load = async (key: SessionKey) => this.kept.get(this.name(key)) ?? null
      })(),
  ],
  [
    'copies what it was given too late',
    /can be changed/,
    () =>
      new (class extends PlainStore {
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          await Promise.resolve()
          await super.append(key, batch)
        }
      })(),
  ],
  [
    'joins a key with a dash',
    /apart/,
    () =>
      new (class extends PlainStore {
        readonly #keys = new Map<string, SessionKey>()
        protected override name = (key: SessionKey) => {
          const name = [
            key.projectKey,
            key.sessionId,
            ...(key.subpath === undefined ? [] : ['', key.subpath]),
          ].join('-')
          this.#keys.set(name, key)
          return name
        }
        protected override keyOf = (name: string) => this.#keys.get(name) ?? super.keyOf(name)
      })(),
  ],
  [
    'takes a name for a path',
    /hostile/,
    () =>
      new (class extends PlainStore {
        protected override name = (key: SessionKey) =>
          super.name(key).replaceAll(/[^/"]+\/\.\.\/|\/(?=\/)|\.\//g, '')
      })(),
  ],
  [
    'cuts long names',
    /hostile/,
    () =>
      new (class extends PlainStore {
        protected override name = ({ projectKey, sessionId, subpath }: SessionKey) =>
          JSON.stringify([projectKey, sessionId, subpath ?? null].map((part) => part?.slice(0, 250) ?? null))
      })(),
  ],
  [
    'composes names',
    /hostile/,
    () =>
      new (class extends PlainStore {
        protected override name = (key: SessionKey) => super.name(key).normalize('NFC')
      })(),
  ],
  [
    'keys objects with names',
    /hostile project/,
    () => {
      const projects: Record<string, Record<string, SessionStoreEntry[]>> = {}
      return {
        append: async (key, batch) => {
          const project = (projects[key.projectKey] ??= {})
          const name = JSON.stringify([key.sessionId, key.subpath])
          const held = project[name] ?? []
          const copied = JSON.parse(JSON.stringify(batch)) as SessionStoreEntry[]
          for (const one of copied)
            if (one.uuid === undefined || !held.some(({ uuid }) => uuid === one.uuid)) held.push(one)
          if (batch.length > 0) project[name] = held
        },
        load: async (key) =>
          structuredClone(projects[key.projectKey]?.[JSON.stringify([key.sessionId, key.subpath])] ?? null),
      }
    },
  ],
  [
    'merges fields',
    /field names/,
    () =>
      new (class extends PlainStore {
        override load = async (key: SessionKey) =>
          (await super.load(key))?.map((one) => Object.assign({} as SessionStoreEntry, one)) ?? null
      })(),
  ],
  [
    'writes text that is well-formed only',
    /not well-formed/,
    () =>
      new (class extends PlainStore {
        protected override copy = <T>(value: T): T =>
          JSON.parse(JSON.stringify(value).replaceAll(/\\ud[89a-f]../g, '\uFFFD')) as T
      })(),
  ],
  [
    'knows no zero byte',
    /not well-formed/,
    () =>
      new (class extends PlainStore {
        protected override copy = <T>(value: T): T =>
          JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '')) as T
      })(),
  ],
  [
    'parts lines where some readers do',
    /not well-formed/,
    () =>
      new (class extends PlainStore {
        protected override copy = <T>(value: T): T =>
          JSON.parse(JSON.stringify(value).split('\u2028').join('')) as T
      })(),
  ],
  [
    'keeps only so many',
    /ten thousand/,
    () =>
      new (class extends PlainStore {
        override load = async (key: SessionKey) => (await super.load(key))?.slice(0, 5_000) ?? null
      })(),
  ],
  [
    'keeps half a batch of a call that it refuses',
    /refused as a whole/,
    () =>
      new (class extends PlainStore {
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          const bad = batch.findIndex((one) => !isJson(one))
          await super.append(key, bad === -1 ? batch : batch.slice(0, bad))
          if (bad !== -1) throw new Error('an entry cannot be kept')
        }
      })(),
  ],
  [
    'swallows what it cannot keep',
    /refused as a whole/,
    () =>
      new (class extends PlainStore {
        override append = (key: SessionKey, batch: SessionStoreEntry[]) =>
          super.append(key, batch).catch(() => undefined)
      })(),
  ],
  [
    'looks, waits, and then writes',
    /many callers|order of the calls/,
    () =>
      new (class extends PlainStore {
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          const held = this.kept.get(this.name(key)) ?? []
          const added = this.missing(held, this.copy(batch))
          await Promise.resolve()
          if (batch.length > 0) this.kept.set(this.name(key), [...held, ...added])
        }
      })(),
  ],
  [
    'looks for duplicates, waits, and then writes',
    /many callers/,
    () =>
      new (class extends PlainStore {
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          const added = this.missing(this.kept.get(this.name(key)) ?? [], this.copy(batch))
          if (this.kept.has(this.name(key)))
            for (let turns = 0; turns < 5; turns += 1) await Promise.resolve()
          const held = this.kept.get(this.name(key)) ?? []
          if (batch.length > 0) this.kept.set(this.name(key), [...held, ...added])
          this.times.set(this.name(key), Date.now())
        }
      })(),
  ],
  [
    'writes a batch entry by entry',
    /delete during appends|order/,
    () =>
      new (class extends PlainStore {
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          for (const one of this.copy(batch)) {
            await super.append(key, [one])
            await Promise.resolve()
          }
        }
      })(),
  ],
  [
    'lists subagents as sessions',
    /listSessions gives/,
    () =>
      new (class extends PlainStore {
        override listSessions = async (projectKey: string) =>
          this.keys()
            .filter((key) => key.projectKey === projectKey)
            .map(({ sessionId }) => ({ sessionId, mtime: 1 }))
      })(),
  ],
  [
    'lists parts of milliseconds',
    /listSessions gives/,
    () =>
      new (class extends PlainStore {
        override listSessions = async (projectKey: string) =>
          (await super.listSessions(projectKey)).map((one) => ({ ...one, mtime: one.mtime + 0.5 }))
      })(),
  ],
  [
    'lists projects whose name begins so',
    /listSessions gives/,
    () =>
      new (class extends PlainStore {
        override listSessions = async (projectKey: string) => {
          const projects = new Set(
            this.keys()
              .map((key) => key.projectKey)
              .filter((one) => one.startsWith(projectKey)),
          )
          return (await Promise.all([...projects].map((one) => super.listSessions(one)))).flat()
        }
      })(),
  ],
  [
    'has two clocks',
    /listSessionSummaries gives/,
    () =>
      new (class extends PlainStore {
        override listSessionSummaries = async (projectKey: string) =>
          (await super.listSessionSummaries(projectKey)).map((one) => ({ ...one, mtime: one.mtime - 1 }))
      })(),
  ],
  [
    'sums up only the beginning',
    /last title/,
    () =>
      new (class extends PlainStore {
        override listSessionSummaries = async (projectKey: string) =>
          (await this.listSessions(projectKey)).map(({ sessionId, mtime }) => {
            const key = { projectKey, sessionId }
            return foldSessionSummary(undefined, key, this.kept.get(this.name(key))?.slice(0, 2) ?? [], {
              mtime,
            })
          })
      })(),
  ],
  [
    'lists the session among its subpaths',
    /listSubkeys gives/,
    () =>
      new (class extends PlainStore {
        override listSubkeys = async (key: { projectKey: string; sessionId: string }) =>
          this.keys()
            .filter((found) => this.isBelow(found, key))
            .map(({ subpath }) => subpath ?? '')
      })(),
  ],
  [
    'leaves subagents when it deletes',
    /removes a session/,
    () =>
      new (class extends PlainStore {
        protected override isBelow = (found: SessionKey, key: SessionKey) =>
          this.name(found) === this.name(key)
        override listSubkeys = async (key: { projectKey: string; sessionId: string }) =>
          this.keys().flatMap((found) => (super.isBelow(found, key) ? (found.subpath ?? []) : []))
      })(),
  ],
  [
    'deletes all that begins so',
    /removes/,
    () =>
      new (class extends PlainStore {
        override delete = async (key: SessionKey) => {
          for (const name of this.kept.keys())
            if (name.startsWith(this.name({ ...key, subpath: key.subpath ?? '' }).slice(0, -4)))
              this.kept.delete(name)
        }
      })(),
  ],
  [
    'deletes a subpath with all that begins so',
    /removes that only/,
    () =>
      new (class extends PlainStore {
        protected override isBelow = (found: SessionKey, key: SessionKey) =>
          super.isBelow(found, { projectKey: key.projectKey, sessionId: key.sessionId }) &&
          (key.subpath === undefined || found.subpath?.startsWith(key.subpath) === true)
      })(),
  ],
  [
    'deletes the session for a subpath',
    /removes that only/,
    () =>
      new (class extends PlainStore {
        override delete = ({ projectKey, sessionId }: SessionKey) => super.delete({ projectKey, sessionId })
      })(),
  ],
  [
    'finds no session to delete',
    /removes that only/,
    () =>
      new (class extends PlainStore {
        override delete = async (key: SessionKey) => {
          if (!this.keys().some((found) => this.isBelow(found, key))) throw new Error('not found')
          await super.delete(key)
        }
      })(),
  ],
  [
    'remembers uuids of what was deleted',
    /written anew/,
    () =>
      new (class extends PlainStore {
        readonly #seen = new Map<string, Set<string>>()
        protected override missing = (held: SessionStoreEntry[], batch: SessionStoreEntry[]) =>
          super.missing(held, batch)
        override append = async (key: SessionKey, batch: SessionStoreEntry[]) => {
          const seen = this.#seen.get(this.name(key)) ?? new Set()
          this.#seen.set(this.name(key), seen)
          const added = this.copy(batch).filter(({ uuid }) => uuid === undefined || !seen.has(uuid))
          for (const { uuid } of added) if (uuid !== undefined) seen.add(uuid)
          await super.append(key, added)
        }
      })(),
  ],
  ['hides what is new from other handles', /another handle|never written/, () => memorySessionStore()],
]

function isJson(entry: SessionStoreEntry): boolean {
  try {
    return JSON.stringify(entry) !== undefined
  } catch {
    return false
  }
}
