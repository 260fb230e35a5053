// On the history argv[2] of the project argv[3]: calls argv[4] and is killed (SIGKILL) at a file operation: argv[5] is
// `write 3` for the third write since the call. A write is cut short first: one byte of it arrives. Prints which
// operations there were, each so named.
// With `turns` it edits, takes snapshots, collects garbage and forks into argv[6] without end, says each snapshot that
// was acknowledged, and waits for somebody to kill it.
import { writeFileSync, writeSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import { linkBackups, openFileHistory } from '@loci/file-history'

const [dir, root, what, moment, fork] = process.argv.slice(2)
const history = await openFileHistory({ dir, root, maxSnapshots: what === 'turns' ? 4 : undefined })

const calls = {
  trackEdit: () => history.trackEdit('c.txt', 'e'),
  makeSnapshot: () => history.makeSnapshot('m3'),
  gc: () => history.gc(),
  linkBackups: () => linkBackups({ fromDir: dir, toDir: fork }),
}

/** Each turn writes its number into two files: one announced and recorded, one as if by other hands. */
async function turns() {
  await history.trackEdit('b.txt', 't0')
  for (let turn = 1; ; turn += 1) {
    await history.trackEdit('a.txt', `e${turn}`)
    writeFileSync(`${root}/a.txt`, `a of turn ${turn}`)
    await history.recordEdit('a.txt', `e${turn}`)
    writeFileSync(`${root}/b.txt`, `b of turn ${turn}`)
    await history.makeSnapshot(`t${turn}`)
    writeSync(1, `${turn}\n`)
    if (turn % 3 === 0) await history.gc()
    if (turn % 4 === 0) await linkBackups({ fromDir: dir, toDir: fork })
  }
}

if (what === 'turns') await turns()
const counts = new Map()
const moments = []
let isCut = false
setFaultHook((operation) => {
  if (isCut) process.kill(process.pid, 'SIGKILL')
  counts.set(operation, (counts.get(operation) ?? 0) + 1)
  moments.push(`${operation} ${counts.get(operation)}`)
  if (moments.at(-1) !== moment) return undefined
  if (operation !== 'write') process.kill(process.pid, 'SIGKILL')
  isCut = true
  return { shortWriteBytes: 1 }
})
await calls[what]()
setFaultHook(undefined)
process.stdout.write(moments.join('\n'))
await history.close()
