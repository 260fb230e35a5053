import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import {
  archiveSession,
  createSession,
  openSession,
  renameSession,
  sessionInfo,
  tagSession,
  verifySession,
} from '@loci/session-jsonl'
import type { Entry, Session } from '@loci/session-jsonl'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import type { FaultKind } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { jsonl, LONG, often, project, SID, straight } from './lines.ts'

const FAULTS: readonly FaultKind[] = LONG
  ? ['EIO', 'ENOSPC', 'EACCES', 'short-write']
  : ['ENOSPC', 'short-write']
/** Generous: each of many runs waits for the disk. */
const TIMEOUT_MS = often(900_000, 60_000)

const say = (content: string) => ({ type: 'user' as const, message: { role: 'user', content } })

function expectClear(error: unknown): void {
  expect(isLociError(error, 'DISK_FULL', 'DISK_IO')).toBe(true)
}

/** How many files this process has open, where the system tells. */
async function openFiles(): Promise<number> {
  return (await readdir('/proc/self/fd').catch(() => [])).length
}

/** What a session acknowledged, and where that leaves it. */
class Acknowledged {
  readonly entries: Entry[] = []
  readonly records: unknown[] = []
  tip: string | null

  constructor(tip: string | null) {
    this.tip = tip
  }

  /** Calls made without waiting, in order; each that resolves is noted. All that changes the tip is among them. */
  async burst(
    session: Session,
    calls: readonly (() => Promise<Entry | string | number | null>)[],
  ): Promise<void> {
    for (const outcome of await Promise.allSettled(calls.map((call) => call()))) {
      if (outcome.status === 'rejected') expectClear(outcome.reason)
      else if (typeof outcome.value === 'number') this.records.push(outcome.value)
      else if (typeof outcome.value === 'string' || outcome.value === null) this.tip = outcome.value
      else {
        expect(outcome.value.parentUuid).toBe(this.tip)
        this.entries.push(outcome.value)
        this.tip = outcome.value.uuid
      }
    }
    // What failed left it where it was.
    expect(session.tip).toBe(this.tip)
  }

  async expectThere(session: Session): Promise<void> {
    for (const entry of this.entries) expect(await session.entry(entry.uuid)).toEqual(entry)
    const numbers = (await session.records('x-note')).map(({ number }) => number)
    expect(numbers.filter((number) => this.records.includes(number))).toEqual(this.records)
  }
}

const append = (session: Session, said: string, parentUuid?: string) => () =>
  session.append(parentUuid === undefined ? say(said) : { ...say(said), parentUuid })
const record = (session: Session, number: number) => () =>
  session.record({ type: 'x-note', number }).then(() => number)
const move = (session: Session, uuid: string | null) => () => session.moveTip(uuid).then(() => uuid)

/** Goes on with a session that met a fault, in the same process, and then as the next one finds it. */
async function expectGoesOn(session: Session, projectDir: string, known: Acknowledged): Promise<void> {
  expect(session.tip).toBe(known.tip)
  const on = await session.append(say('on'))
  expect(on.parentUuid).toBe(known.tip)
  known.entries.push(on)
  await known.expectThere(session)
  const chain = await session.chain()
  expect(chain.at(-1)).toEqual(on)
  // From the tip upwards every parent is the one that was acknowledged.
  for (const [n, entry] of chain.entries()) if (n > 0) expect(entry.parentUuid).toBe(chain[n - 1]?.uuid)
  expect((await session.tips()).some(({ uuid }) => uuid === on.uuid)).toBe(true)
  const damage = await session.damage()
  await session.close()
  const again = await openSession({ projectDir, sessionId: SID })
  expect(again.tip).toBe(on.uuid)
  expect(await again.chain()).toEqual(chain)
  await known.expectThere(again)
  expect(await again.damage()).toEqual(damage)
  expect(damage.filter(({ kind }) => kind !== 'torn-line')).toEqual([])
  await again.close()
}

describe('R8: whatever file operation fails, once or from then on', () => {
  test(
    'a new session written in bursts: each call is done or clearly refused, the tip is where it was said to be, and it goes on',
    async () => {
      const made = await project(undefined)
      let session: Session | undefined
      let known = new Acknowledged(null)
      const filesBefore = await openFiles()
      const tripped = await faultLoop({
        faults: FAULTS,
        run: async () => {
          session = undefined
          known = new Acknowledged(null)
          await rm(made.projectDir, { recursive: true, force: true })
          session = await createSession({
            projectDir: made.projectDir,
            sessionId: SID,
            durability: LONG ? 'fsync' : 'os',
          })
          const own = session
          await known.burst(own, [append(own, 'a'), record(own, 1), append(own, 'b'), record(own, 2)])
          const first = known.entries[0]?.uuid
          const more = [append(own, 'x'.repeat(40_000)), append(own, 'c'), record(own, 3)]
          await known.burst(own, more.slice(often(0, 2)))
          if (first !== undefined)
            await known.burst(own, [move(own, first), append(own, 'd'), record(own, 4), append(own, 'e')])
          for (const look of [own.tips(), own.conversation()])
            await look.catch((error: unknown) => expectClear(error))
        },
        verify: async (error) => {
          if (error !== undefined) expectClear(error)
          if (session) await expectGoesOn(session, made.projectDir, known)
          expect(await openFiles()).toBe(filesBefore)
        },
      })
      expect(tripped).toBeGreaterThan(40)
      await made.remove()
    },
    TIMEOUT_MS,
  )

  test(
    'a session that is there, moved and branched in bursts: the same',
    async () => {
      const bytes = jsonl(...straight(4))
      const made = await project(bytes)
      let session: Session | undefined
      let known = new Acknowledged('m4')
      const filesBefore = await openFiles()
      await faultLoop({
        faults: FAULTS,
        run: async () => {
          session = undefined
          known = new Acknowledged('m4')
          await writeFile(made.file, bytes)
          session = await openSession({ projectDir: made.projectDir, sessionId: SID })
          const own = session
          await known.burst(own, [append(own, 'a'), record(own, 1), append(own, 'b')])
          await known.burst(own, [record(own, 2), move(own, 'm2')])
          await known.burst(own, [append(own, 'c')])
          // One that goes on elsewhere is asked for alone, as its parent is what it asks for.
          const before = known.tip
          const [elsewhere] = await Promise.allSettled([append(own, 'd', 'm1')()])
          if (elsewhere.status === 'fulfilled') known.entries.push(elsewhere.value)
          else expectClear(elsewhere.reason)
          known.tip = elsewhere.status === 'fulfilled' ? elsewhere.value.uuid : before
          expect(own.tip).toBe(known.tip)
          await known.burst(own, [record(own, 3), append(own, 'e')])
          await known.burst(own, [move(own, null), append(own, 'f')])
        },
        verify: async (error) => {
          if (error !== undefined) expectClear(error)
          if (session) await expectGoesOn(session, made.projectDir, known)
          expect((await readFile(made.file, 'utf8')).startsWith(bytes)).toBe(true)
          expect(await openFiles()).toBe(filesBefore)
        },
      })
      await made.remove()
    },
    TIMEOUT_MS,
  )

  test('title, tag and archive mark: done or clearly refused, and what was there stays', async () => {
    const bytes = jsonl(...straight(2))
    const made = await project(bytes)
    const where = { projectDir: made.projectDir, sessionId: SID }
    let done: Record<string, unknown> = {}
    const filesBefore = await openFiles()
    await faultLoop({
      faults: FAULTS,
      run: async () => {
        done = {}
        await writeFile(made.file, bytes)
        await rm(made.path(`p/${SID}`), { recursive: true, force: true })
        const steps = {
          customTitle: () => renameSession({ ...where, title: 'Plans' }),
          tag: () => tagSession({ ...where, tag: 'later' }),
          archived: () => archiveSession({ ...where, clock: () => new Date('2027-01-01') }),
        }
        const said = { customTitle: 'Plans', tag: 'later', archived: true }
        let failure: unknown
        for (const [name, step] of Object.entries(steps)) {
          try {
            await step()
            done[name] = Reflect.get(said, name)
          } catch (error) {
            failure = error
          }
        }
        if (failure !== undefined) throw failure
      },
      verify: async (error) => {
        if (error !== undefined) expectClear(error)
        expect(await sessionInfo(made.file)).toMatchObject(done)
        expect((await readFile(made.file, 'utf8')).startsWith(bytes)).toBe(true)
        expect((await verifySession(made.file)).filter(({ kind }) => kind !== 'torn-line')).toEqual([])
        await renameSession({ ...where, title: 'And on' })
        expect(await sessionInfo(made.file)).toMatchObject({ customTitle: 'And on' })
        expect(await openFiles()).toBe(filesBefore)
      },
    })
    await made.remove()
  })
})
