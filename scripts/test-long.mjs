// The long runs: crash and race tests with more rounds, the suite and the packed packages on newer Nodes.
import { spawnSync } from 'node:child_process'

const vitest = 'node_modules/vitest/vitest.mjs'
const here = process.execPath
const runs = [
  { name: 'long crash and race runs', command: here, args: [vitest, 'run'], env: { LOCI_LONG: '1' } },
  { name: 'suite on Node 22', command: 'npx', args: ['-y', 'node@22', vitest, 'run'] },
  { name: 'suite on Node 24', command: 'npx', args: ['-y', 'node@24', vitest, 'run'] },
  { name: 'packages on Node 22', command: here, args: ['scripts/check-packages.mjs', '--node', '22'] },
  { name: 'packages on Node 24', command: here, args: ['scripts/check-packages.mjs', '--node', '24'] },
]

for (const { name, command, args, env } of runs) {
  process.stdout.write(`\n== ${name}\n`)
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  if (status !== 0) {
    process.stderr.write(`long run failed: ${name}\n`)
    process.exit(1)
  }
}
