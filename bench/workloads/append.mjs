import {
  appendFileSync,
  closeSync,
  createWriteStream,
  fdatasyncSync,
  mkdirSync,
  openSync,
  promises,
  rmSync,
  writeSync,
} from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { compareRuns } from '../compare.mjs'
import { mulberry32, seededUuid } from '../data/random.mjs'
import { bodySource } from '../data/text.mjs'
import { openAppendDatabase } from '../peers/sqlite.mjs'
import { runRounds } from '../rounds.mjs'

const SIZES = {
  '1 KB': { sizeBytes: 1024, count: 4000, durableCount: 300 },
  '20 KB': { sizeBytes: 20 * 1024, count: 1000, durableCount: 200 },
}
/** How many appends are called before the first of them is awaited. */
const BURSTS = { each: 1, 'bursts of 10': 10, 'one burst': Infinity }
const DISTINCT = 200

/**
 * What is to be reached, by size, burst and durability. `faster`: the peer takes at least so many times as long as we;
 * `most`: we take at most so many times as long as the peer.
 */
const GOALS = {
  '1 KB bursts of 10': { faster: { appendFile: 8, sqliteNormal: 6 }, most: { writeSync: 1.5 } },
  '1 KB each': { most: { appendFile: 0.5, sqliteNormal: 0.6 } },
  '1 KB bursts of 10 durable': { faster: { sqliteFull: 6, sqliteFullTx10: 1.3 } },
  '1 KB each durable': { most: { sqliteFull: 1.3 } },
  '20 KB each': { most: { appendFile: 0.6 } },
  '20 KB bursts of 10': { most: { appendFile: 1 } },
}
const PEERS = ['appendFile', 'writeSync', 'writeStream', 'appendFileSync', 'sonicBoom', 'sqliteNormal']
const DURABLE_PEERS = ['writeFdatasync', 'appendFileFlush', 'sqliteFull', 'sqliteFullTx10']

/**
 * Appends entries of 1 KB and 20 KB to a session: each awaited, ten at a time, all at once; safe from a crash of the
 * process, and safe from a power cut. Peers append the same entries in the way that is theirs, which keeps the order
 * (each awaited, unless its name says otherwise). Making the file and the first 200 entries are not timed.
 */
export async function* measure(bench, { only = Object.keys(SIZES) }) {
  for (const size of only) {
    if (SIZES[size] === undefined)
      throw new Error(`append has no case ${size}; it has ${Object.keys(SIZES).join(', ')}`)
    for (const durable of [false, true]) yield* measureCase(bench, size, durable)
  }
}

async function* measureCase(bench, size, durable) {
  const { sizeBytes, count, durableCount } = SIZES[size]
  const directory = join(bench.home, 'append')
  const args = { directory, sizeBytes, count: durable ? durableCount : count, durable }
  const subject = (name) => ({ name, subject: name, workload: 'append', args })
  const ours = Object.entries(BURSTS).map(([burst, atOnce]) => ({
    ...subject(burst),
    subject: 'loci',
    // JSON knows no Infinity.
    args: { ...args, atOnce: Math.min(atOnce, args.count) },
  }))
  const peers = durable ? DURABLE_PEERS : PEERS
  bench.onProgress(`append ${size}${durable ? ' durable' : ''}`)
  const runs = await runRounds(bench, [...ours, ...peers.map((name) => subject(name))], (checked) => {
    for (const [name, lines] of Object.entries(checked)) {
      if (lines !== args.count + DISTINCT)
        throw new Error(`append ${size}: ${name} left ${lines} entries behind`)
    }
  })
  for (const burst of Object.keys(BURSTS)) {
    const what = `${size} ${burst}${durable ? ' durable' : ''}`
    const { faster = {}, most = {} } = GOALS[what] ?? {}
    const comparisons = peers.map((peer) => {
      const isFloor = peer in most || peer === 'writeSync' || peer === 'writeFdatasync'
      return {
        us: burst,
        peer,
        sense: isFloor ? 'times as much' : 'times faster',
        goal: isFloor ? most[peer] : faster[peer],
      }
    })
    yield* compareRuns(`append ${what}`, runs, comparisons)
  }
}

/** Entries about as long as wanted, with what they are made of drawn from a seed. */
function drafts(sizeBytes) {
  const body = bodySource(20)
  return Array.from({ length: DISTINCT }, () => {
    const text = body((sizeBytes - 400) * 0.9)
    return { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text }] } }
  })
}

/** The whole line that a peer writes for a draft, stringified as it is appended. */
function lineMaker(sizeBytes) {
  const all = drafts(sizeBytes)
  const random = mulberry32(21)
  const sessionId = seededUuid(random)
  let parentUuid = null
  let nth = 0
  return () => {
    const uuid = seededUuid(random)
    const carried = {
      sessionId,
      timestamp: '2026-01-01T00:00:00.000Z',
      cwd: '/home/user/app',
      userType: 'external',
    }
    const line = JSON.stringify({
      ...all[nth++ % DISTINCT],
      uuid,
      parentUuid,
      ...carried,
      isSidechain: false,
    })
    parentUuid = uuid
    return line
  }
}

/**
 * A subject that appends lines to one file or table.
 *
 * @param open `(path) => { append, finish?, close }`
 */
function lineSubject(open) {
  return async ({ directory, sizeBytes, count }) => {
    mkdirSync(directory, { recursive: true })
    const path = join(directory, 'peer')
    const nextLine = lineMaker(sizeBytes)
    const target = await open(path)
    return {
      prepare: async () => {
        for (let nth = 0; nth < DISTINCT; nth++) await target.append(nextLine())
      },
      run: async () => {
        for (let nth = 0; nth < count; nth++) {
          // Nothing is awaited that need not be: a promise costs more than a small write.
          const pending = target.append(nextLine())
          if (pending !== undefined) await pending
        }
        await target.finish?.()
      },
      check: async () => {
        await target.close()
        return target.count ? target.count() : countLines(path)
      },
      close: () => rmSync(directory, { recursive: true }),
    }
  }
}

async function countLines(path) {
  return (await promises.readFile(path)).reduce((sum, byte) => sum + (byte === 10 ? 1 : 0), 0)
}

function kept(afterWrite) {
  return lineSubject((path) => {
    const file = openSync(path, 'a')
    return {
      append: (line) => {
        writeSync(file, `${line}\n`)
        afterWrite(file)
      },
      close: () => closeSync(file),
    }
  })
}

function database(synchronous, inTransaction) {
  return lineSubject((path) => openAppendDatabase(path, { synchronous, inTransaction }))
}

const nothing = () => undefined

export const subjects = {
  loci: async ({ directory, sizeBytes, count, atOnce, durable }) => {
    const { createSession } = await import('../loci.mjs')
    const all = drafts(sizeBytes)
    const durability = durable ? 'fsync' : 'os'
    const session = await createSession({ projectDir: directory, cwd: '/home/user/app', durability })
    return {
      prepare: () => Promise.all(all.map((draft) => session.append(draft))),
      run: async () => {
        for (let nth = 0; nth < count; nth += atOnce) {
          const burst = []
          for (let more = nth; more < Math.min(nth + atOnce, count); more++)
            burst.push(session.append(all[more % DISTINCT]))
          await (burst.length === 1 ? burst[0] : Promise.all(burst))
        }
      },
      check: async () => {
        await session.close()
        return countLines(session.path)
      },
      close: () => rmSync(directory, { recursive: true }),
    }
  },

  writeSync: kept(nothing),
  writeFdatasync: kept((file) => fdatasyncSync(file)),
  appendFile: lineSubject((path) => ({
    append: (line) => promises.appendFile(path, `${line}\n`),
    close: nothing,
  })),
  appendFileFlush: lineSubject((path) => ({
    append: (line) => promises.appendFile(path, `${line}\n`, { flush: true }),
    close: nothing,
  })),
  appendFileSync: lineSubject((path) => ({
    append: (line) => appendFileSync(path, `${line}\n`),
    close: nothing,
  })),

  writeStream: lineSubject((path) => {
    const stream = createWriteStream(path, { flags: 'a' })
    return {
      append: (line) => (stream.write(`${line}\n`) ? undefined : once(stream, 'drain')),
      finish: () => new Promise((resolve) => stream.write('', () => resolve())),
      close: () => new Promise((resolve) => stream.end(() => resolve())),
    }
  }),

  sonicBoom: lineSubject(async (path) => {
    const { default: SonicBoom } = await import('sonic-boom')
    const stream = new SonicBoom({ dest: path, append: true, sync: false, minLength: 0 })
    await once(stream, 'ready')
    return {
      append: (line) => (stream.write(`${line}\n`) ? undefined : once(stream, 'drain')),
      finish: () =>
        new Promise((resolve, reject) => stream.flush((error) => (error ? reject(error) : resolve()))),
      close: async () => {
        stream.end()
        await once(stream, 'close')
      },
    }
  }),

  sqliteNormal: database('NORMAL', 1),
  sqliteFull: database('FULL', 1),
  sqliteFullTx10: database('FULL', 10),
}
