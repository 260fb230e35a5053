import { closeSync, fstatSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { compareRuns } from '../compare.mjs'
import { writeSessions } from '../data/session-pool.mjs'
import { runRounds } from '../rounds.mjs'

const WINDOW_BYTES = 64 * 1024
const LIMIT = 50
const COUNTS = [1000, 10_000]
const GOALS = { full: { sdk: 5, systemCalls: 3.5 }, limit: { sdk: 3, systemCalls: 1.5 } }

/**
 * Lists 1,000 and 10,000 sessions, all of them and the newest 50. Beside the SDK's list and the system calls alone: for
 * all, each file opened, its size taken, its two ends read into two buffers; for 50, each file's time taken.
 */
export async function* measure(bench, { only = COUNTS }) {
  for (const count of only.map(Number)) {
    const projectsDir = join(bench.home, 'config', 'projects')
    const projectDir = join(projectsDir, '-home-user-app')
    bench.onProgress(`list ${count}: making the data`)
    const made = writeSessions(projectDir, count)
    try {
      for (const limit of [undefined, LIMIT]) {
        const operation = `list ${limit === undefined ? '' : `${limit} of `}${count.toLocaleString('en')}`
        const args = { projectsDir, projectDir, limit }
        const subjects = ['loci', 'sdk', 'systemCalls'].map((name) => ({ name, workload: 'list', args }))
        const runs = await runRounds(bench, subjects, (checked) =>
          verify(bench, operation, made.slice(0, limit), checked),
        )
        const goals = limit === undefined ? GOALS.full : GOALS.limit
        yield* compareRuns(operation, runs, [
          { peer: 'sdk', sense: 'times faster', goal: goals.sdk },
          { peer: 'systemCalls', sense: 'times as much', goal: goals.systemCalls },
          { peer: 'sdk', measure: 'peakRssMb', sense: 'times as much', goal: 0.6 },
        ])
      }
    } finally {
      rmSync(projectDir, { recursive: true })
    }
  }
}

function verify(bench, operation, made, checked) {
  const expected = made.map(({ sessionId, customTitle }) => `${sessionId} ${customTitle ?? ''}`)
  const differs = (list) =>
    list.length !== expected.length || list.some((line, place) => line !== expected[place])
  if (differs(checked.loci)) throw new Error(`${operation}: our list is not what was written`)
  if (differs(checked.sdk)) bench.note(`${operation}: the SDK lists something else than was written`)
}

const idAndTitle = (list) => list.map(({ sessionId, customTitle }) => `${sessionId} ${customTitle ?? ''}`)

export const subjects = {
  loci: async ({ projectsDir, limit }) => {
    const { listSessions } = await import('../loci.mjs')
    return { run: () => listSessions({ projectsDir, limit }), check: idAndTitle }
  },

  sdk: async ({ limit }) => {
    const { listSessions } = await import('@anthropic-ai/claude-agent-sdk')
    return { run: () => listSessions(limit === undefined ? {} : { limit }), check: idAndTitle }
  },

  systemCalls: ({ projectDir, limit }) => ({
    run: () => (limit === undefined ? readEnds(projectDir) : statAll(projectDir)),
    check: () => undefined,
  }),
}

function statAll(directory) {
  return readdirSync(directory).map((name) => statSync(join(directory, name)).mtimeMs)
}

function readEnds(directory) {
  const head = Buffer.allocUnsafeSlow(WINDOW_BYTES)
  const tail = Buffer.allocUnsafeSlow(WINDOW_BYTES)
  for (const name of readdirSync(directory)) {
    const file = openSync(join(directory, name), 'r')
    const { size } = fstatSync(file)
    readSync(file, head, 0, WINDOW_BYTES, 0)
    if (size > WINDOW_BYTES)
      readSync(file, tail, 0, WINDOW_BYTES, Math.max(WINDOW_BYTES, size - WINDOW_BYTES))
    closeSync(file)
  }
}
