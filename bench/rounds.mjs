import { spawn } from 'node:child_process'
import { join } from 'node:path'

const CHILD = new URL('child.mjs', import.meta.url).pathname

/**
 * Runs the subjects of a case side by side: one round after another, each subject once a round in a fresh process, the
 * first of a round another one each time. The first round only warms up and is where results are compared.
 *
 * @param bench `{ rounds, home, onProgress }`; `home` is the only home and configuration a child sees
 * @param subjects `{ name, workload, args, heapMb? }[]`
 * @param verify is given each subject's `checked` of the warm-up, by name; throws when they do not agree
 * @returns the runs by name, in the order of the rounds: `{ ms, faults, peakRssMb }[]`
 */
export async function runRounds(bench, subjects, verify) {
  const runs = new Map(subjects.map(({ name }) => [name, []]))
  const checked = {}
  for (let round = 0; round <= bench.rounds; round++) {
    const turn = round % subjects.length
    for (const subject of [...subjects.slice(turn), ...subjects.slice(0, turn)]) {
      bench.onProgress(`${round === 0 ? 'warm-up' : `round ${round}`}: ${subject.name}`)
      const run = await runOnce(bench, subject)
      if (round === 0) checked[subject.name] = run.checked
      else runs.get(subject.name).push(run)
    }
    if (round === 0) verify(checked)
  }
  return runs
}

/** Runs one subject once in a process of its own. */
export async function runOnce(bench, { workload, subject, name, args, heapMb }) {
  const flags = ['--no-warnings', ...(heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`])]
  const job = JSON.stringify({ workload, subject: subject ?? name, args })
  const child = spawn(process.execPath, [...flags, CHILD, job], {
    env: {
      PATH: process.env.PATH,
      HOME: bench.home,
      TMPDIR: bench.home,
      CLAUDE_CONFIG_DIR: join(bench.home, 'config'),
      PI_CODING_AGENT_DIR: join(bench.home, 'pi'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    new Promise((resolve) => child.on('close', (status, signal) => resolve(signal ?? status))),
  ])
  if (code !== 0) throw new Error(`${workload} of ${name} ended with ${code}: ${err.slice(-2000)}`)
  return JSON.parse(out)
}

async function textOf(stream) {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}
