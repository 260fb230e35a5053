import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { compareRuns } from '../compare.mjs'
import { digestMessages } from '../data/digest.mjs'
import { readBranchNaively } from '../data/naive-reader.mjs'
import { mulberry32, seededUuid } from '../data/random.mjs'
import { writeTranscript } from '../data/transcript.mjs'
import { runOnce, runRounds } from '../rounds.mjs'

const GOALS = { sdk: 20, copyFile: 3 }

/**
 * Forks a whole conversation of 100 MB: every line copied into a new session. The SDK gives every entry a new uuid and
 * says on each where it came from, which is more work than ours; a copy of the file is less.
 */
export async function* measure(bench, { sizes = [100] }) {
  for (const sizeMb of sizes) {
    const operation = `fork ${sizeMb} MB`
    const sessionId = seededUuid(mulberry32(2))
    const projectDir = join(bench.home, 'config', 'projects', '-home-user-app')
    const path = join(projectDir, `${sessionId}.jsonl`)
    bench.onProgress(`${operation}: making the data`)
    const sizeBytes = sizeMb * 1024 * 1024
    writeTranscript({
      path,
      sessionId,
      sizeBytes,
      seed: 2,
      shape: 'linear',
      keyOrder: 'own',
      ending: 'whole',
    })
    try {
      const args = { projectDir, sessionId, path }
      const subject = (name) => ({ name, workload: 'fork', args })
      const { checked: expected } = await runOnce(bench, { ...subject('source') })
      const runs = await runRounds(bench, ['loci', 'sdk', 'copyFile'].map(subject), ({ loci, sdk }) => {
        if (loci.messages !== expected.messages)
          throw new Error(`${operation}: our fork has another conversation`)
        if (sdk.count !== expected.count)
          bench.note(`${operation}: the SDK's fork has ${sdk.count} of ${expected.count} messages`)
      })
      const goals = sizeMb < 100 ? {} : GOALS
      yield* compareRuns(operation, runs, [
        { peer: 'sdk', sense: 'times faster', goal: goals.sdk },
        { peer: 'copyFile', sense: 'times as much', goal: goals.copyFile },
        { peer: 'sdk', measure: 'peakRssMb', sense: 'times as much' },
      ])
    } finally {
      rmSync(path)
    }
  }
}

/** What the fork holds, after which it is gone. */
function checkAndRemove(path) {
  const entries = readBranchNaively(path)
  rmSync(path)
  return { messages: digestMessages(entries), count: entries.length }
}

/** The same of a fork without the field that the branch is read by. */
function countAndRemove(path) {
  const lines = readFileSync(path).toString('latin1').split('\n')
  rmSync(path)
  return { count: lines.filter((line) => /"type":"(?:user|assistant)"/.test(line)).length }
}

export const subjects = {
  source: ({ path }) => ({
    run: () => readBranchNaively(path),
    check: (entries) => ({ messages: digestMessages(entries), count: entries.length }),
  }),

  loci: async ({ projectDir, sessionId }) => {
    const { forkSession } = await import('../loci.mjs')
    return { run: () => forkSession({ projectDir, sessionId }), check: (fork) => checkAndRemove(fork.path) }
  },

  sdk: async ({ projectDir, sessionId }) => {
    const { forkSession } = await import('@anthropic-ai/claude-agent-sdk')
    return {
      run: () => forkSession(sessionId),
      check: (fork) => countAndRemove(join(projectDir, `${fork.sessionId}.jsonl`)),
    }
  },

  copyFile: ({ path }) => {
    const copy = `${path}.copy`
    return { run: () => copyFileSync(path, copy), check: () => rmSync(copy) }
  },
}
