// Do Loci and the Agent SDK read each other's sessions alike? Run by `pnpm bench interop`, with a home of its own.
import { mkdirSync } from 'node:fs'
import { Differences, UNEXPLAINED } from './differences.mjs'
import { unseenExplanations } from './explained.mjs'
import { checkObserved } from './observed.mjs'
import { checkOwn } from './own.mjs'
import { checkStores } from './stores.mjs'

const [home, form] = process.argv.slice(2)
mkdirSync(`${home}/work`, { recursive: true })
const differences = new Differences()
await checkOwn(home, differences)
await checkObserved(home, differences)
await checkStores(home, differences)

const { found, checks } = differences
const ours = found.filter(({ whose }) => whose === 'ours')
const unexplained = found.filter(({ why }) => why === UNEXPLAINED)
if (form === 'json') process.stdout.write(`${JSON.stringify({ checks, differences: found }, null, 1)}\n`)
else {
  for (const [why, group] of groupByReason(found)) {
    process.stdout.write(`\n${group[0].whose.toUpperCase()}: ${why}\n`)
    for (const { where, what, ours: mine, theirs } of group)
      process.stdout.write(`  ${where}: ${what}\n    Loci: ${short(mine)}\n    SDK:  ${short(theirs)}\n`)
  }
  const counts = `${found.length - ours.length} differences that are theirs, ${ours.length} that are ours`
  process.stdout.write(`\n${checks} comparisons, ${counts}, ${unexplained.length} of them unexplained\n`)
}
const unseen = unseenExplanations()
for (const why of unseen) process.stderr.write(`explained, but no longer seen: ${why}\n`)
process.exitCode = unexplained.length + unseen.length === 0 ? 0 : 1

function groupByReason(list) {
  const groups = new Map()
  for (const item of list) groups.set(item.why, [...(groups.get(item.why) ?? []), item])
  return groups
}

function short(value) {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
