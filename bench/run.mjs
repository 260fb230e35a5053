// pnpm bench [workload…] [--size MB] [--case NAME] [--rounds N] [--json]; see README.md.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { formatTable } from './table.mjs'

const HERE = new URL('.', import.meta.url).pathname
const WORKLOADS = ['load', 'append', 'list', 'fork', 'checkpoint', 'memdir']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    size: { type: 'string', multiple: true },
    case: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})

installPeers()
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a whole number from 1')
const home = mkdtempSync(join(tmpdir(), 'loci-bench-'))
process.on('exit', () => {
  if (!values.keep) rmSync(home, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

if (positionals[0] === 'interop') {
  runInterop()
} else {
  await runWorkloads(positionals.length === 0 ? WORKLOADS : positionals)
}

/** Once, and apart from what the repository itself needs. */
function installPeers() {
  if (existsSync(join(HERE, 'node_modules', '.package-lock.json'))) return
  process.stderr.write('installing what is measured beside us (once) ...\n')
  const flags = ['ci', '--omit=optional', '--no-audit', '--no-fund']
  const { status } = spawnSync('npm', flags, { cwd: HERE, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}

/** In a process whose only home and configuration are made for it. */
function runInterop() {
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, CLAUDE_CONFIG_DIR: join(home, 'config') }
  const script = [join(HERE, 'interop', 'interop.mjs'), home, values.json ? 'json' : 'text']
  process.exitCode =
    spawnSync(process.execPath, script, { env, stdio: ['ignore', 'inherit', 'inherit'] }).status ?? 1
}

async function runWorkloads(names) {
  const unknown = names.find((name) => !WORKLOADS.includes(name))
  if (unknown !== undefined)
    throw new Error(`There is no ${unknown}; there are ${WORKLOADS.join(', ')} and interop`)
  const notes = []
  const rows = []
  const bench = {
    rounds,
    home,
    note: (text) => notes.push(text),
    onProgress: (text) => process.stderr.isTTY && process.stderr.write(`\r\u001B[K${text}`),
  }
  const options = { sizes: values.size?.map(Number), only: values.case }
  for (const name of names) {
    mkdirSync(join(home, 'config', 'projects'), { recursive: true })
    const { measure } = await import(`./workloads/${name}.mjs`)
    try {
      for await (const row of measure(bench, options)) rows.push({ workload: name, ...row })
    } catch (error) {
      // What was measured until then is shown all the same.
      bench.note(`${name} ended early: ${error.message}`)
      process.exitCode = 1
    }
  }
  bench.onProgress('')
  const { platform, version } = process
  const machine = { platform, node: version, cores: availableParallelism() }
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ machine, rounds, rows, notes }, null, 1)}\n`
      : `${formatTable(rows)}\n\n${platform}, ${machine.cores} cores, Node ${version.slice(1)}, ${rounds} rounds after a warm-up\n${notes.map((note) => `- ${note}\n`).join('')}`,
  )
}
