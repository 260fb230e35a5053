import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { compareRuns } from '../compare.mjs'
import { digestEntries, digestMessages } from '../data/digest.mjs'
import { readBranchNaively } from '../data/naive-reader.mjs'
import { mulberry32, seededUuid } from '../data/random.mjs'
import { writeTranscript } from '../data/transcript.mjs'
import { runOnce, runRounds } from '../rounds.mjs'
import { openDatabase, recordEntries, selectAll, selectBranch } from '../peers/sqlite.mjs'

const WHOLE = { keyOrder: 'own', ending: 'whole', everyPeer: true }
const VARIANT = { keyOrder: 'own', ending: 'whole', everyPeer: false }
const CASES = {
  dead90: { ...WHOLE, shape: 'dead90', seed: 1 },
  linear: { ...WHOLE, shape: 'linear', seed: 2 },
  branchy: { ...WHOLE, shape: 'branchy', seed: 3 },
  'dead90-foreign': { ...VARIANT, shape: 'dead90', seed: 4, keyOrder: 'foreign' },
  'linear-foreign': { ...VARIANT, shape: 'linear', seed: 5, keyOrder: 'foreign' },
  'dead90-torn': { ...VARIANT, shape: 'dead90', seed: 6, ending: 'torn' },
  'linear-rewound': { ...VARIANT, shape: 'linear', seed: 7, ending: 'rewound' },
}
/** What is to be reached at 100 MB; each case is like one of these. */
const GOALS = {
  dead90: { sdk: 10, sqliteBranch: 1.2, sdkMemory: 0.3 },
  linear: { sdk: 2, pi: 3.5, sqliteAll: 0.95, sdkMemory: 0.65 },
}

/**
 * Opens a transcript and takes its active branch: mostly dead, all alive, full of dead branches; keys in our order and
 * in another client's; the last line torn; the tip far from the end.
 *
 * At 500 MB only the one that is mostly dead, with a heap of 1 GB for us, and without the peers that take minutes.
 */
export async function* measure(bench, { sizes = [10, 100], only = Object.keys(CASES) }) {
  for (const sizeMb of sizes) {
    for (const name of only.filter((known) => sizeMb < 500 || known === 'dead90')) {
      if (CASES[name] === undefined)
        throw new Error(`load has no case ${name}; it has ${Object.keys(CASES).join(', ')}`)
      yield* measureCase(bench, name, sizeMb)
    }
  }
}

async function* measureCase(bench, name, sizeMb) {
  const { shape, seed, keyOrder, ending, everyPeer } = CASES[name]
  const operation = `load ${name} ${sizeMb} MB`
  const sessionId = seededUuid(mulberry32(seed))
  const projectDir = join(bench.home, 'config', 'projects', '-home-user-app')
  const path = join(projectDir, `${sessionId}.jsonl`)
  const isHuge = sizeMb >= 500
  const piPath = everyPeer && !isHuge ? join(bench.home, 'pi', 'session.jsonl') : undefined
  const databasePath = everyPeer ? join(bench.home, 'entries.db') : undefined
  bench.onProgress(`${operation}: making the data`)
  const database = databasePath && recordEntries(databasePath)
  const { tip } = writeTranscript({
    path,
    sessionId,
    sizeBytes: sizeMb * 1024 * 1024,
    seed,
    shape,
    keyOrder,
    ending,
    piPath,
    onEntry: database?.add,
  })
  database?.finish()
  try {
    const args = { projectDir, sessionId, path, piPath, databasePath, tip }
    const subject = (subjectName, extra = {}) => ({ name: subjectName, workload: 'load', args, ...extra })
    const subjects = [subject('loci', isHuge ? { heapMb: 1024 } : {}), subject('sdk')]
    if (piPath !== undefined) subjects.push(subject('pi'))
    if (databasePath !== undefined) subjects.push(subject('sqliteAll'), subject('sqliteBranch'))
    const { checked: expected } = await runOnce(bench, subject('naive'))
    const runs = await runRounds(bench, subjects, (checked) => verify(bench, operation, expected, checked))
    const goals = sizeMb < 100 ? {} : (GOALS[shape] ?? {})
    const comparisons = subjects
      .slice(1)
      .map(({ name: peer }) => ({ peer, sense: 'times faster', goal: goals[peer] }))
    comparisons.push({ peer: 'sdk', measure: 'peakRssMb', sense: 'times as much', goal: goals.sdkMemory })
    yield* compareRuns(operation, runs, comparisons)
  } finally {
    for (const made of [path, piPath, databasePath]) if (made !== undefined) rmSync(made, { force: true })
  }
}

/** We and SQLite must give exactly the branch. Other readers have rules of their own: where theirs differs it is said. */
function verify(bench, operation, expected, checked) {
  for (const name of ['loci', 'sqliteAll', 'sqliteBranch']) {
    if (checked[name] !== undefined && checked[name].entries !== expected.entries)
      throw new Error(
        `${operation}: ${name} reads another branch than the naive reader: ${JSON.stringify({ expected, got: checked[name] })}`,
      )
  }
  if (checked.sdk.messages !== expected.messages)
    bench.note(
      `${operation}: the SDK reads ${checked.sdk.count} messages where the branch has ${expected.count}`,
    )
  if (checked.pi !== undefined && checked.pi.count !== expected.count)
    bench.note(`${operation}: pi reads ${checked.pi.count} messages where the branch has ${expected.count}`)
}

function checkEntries(entries) {
  const messages = entries.filter(({ type }) => type === 'user' || type === 'assistant')
  return { entries: digestEntries(entries), messages: digestMessages(entries), count: messages.length }
}

export const subjects = {
  naive: ({ path }) => ({ run: () => readBranchNaively(path), check: checkEntries }),

  loci: async ({ projectDir, sessionId }) => {
    const { openSession } = await import('../loci.mjs')
    let session
    return {
      run: async () => {
        session = await openSession({ projectDir, sessionId, mode: 'read' })
        return session.chain()
      },
      check: checkEntries,
      close: () => session.close(),
    }
  },

  sdk: async ({ sessionId }) => {
    const { getSessionMessages } = await import('@anthropic-ai/claude-agent-sdk')
    return {
      run: () => getSessionMessages(sessionId),
      check: (messages) => ({ messages: digestMessages(messages), count: messages.length }),
    }
  },

  pi: async ({ piPath }) => {
    // Without the rest of the package, which would count as memory of loading.
    const entry = import.meta.resolve('@mariozechner/pi-coding-agent')
    const { SessionManager } = await import(new URL('core/session-manager.js', entry).href)
    return {
      run: () => SessionManager.open(piPath).buildSessionContext(),
      check: ({ messages }) => ({ count: messages.length }),
    }
  },

  sqliteAll: ({ databasePath, tip }) => {
    const database = openDatabase(databasePath)
    return { run: () => selectAll(database, tip), check: checkEntries, close: () => database.close() }
  },

  sqliteBranch: ({ databasePath, tip }) => {
    const database = openDatabase(databasePath)
    return { run: () => selectBranch(database, tip), check: checkEntries, close: () => database.close() }
  },
}
