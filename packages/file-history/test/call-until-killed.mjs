// On the history argv[2] of the project argv[3]: calls argv[4] and is killed (SIGKILL) at its file operation argv[5],
// counted from the call. A write is cut short first: one byte of it arrives. Prints how many operations there were.
// With `turns` it edits, takes snapshots, collects garbage and forks into argv[6] without end, says each snapshot that
// was acknowledged, and waits for somebody to kill it.
import { writeFileSync, writeSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import { linkBackups, openFileHistory } from '@loci/file-history'

const [dir, root, what, number, fork] = process.argv.slice(2)
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
const nth = Number(number)
let count = 0
let isCut = false
setFaultHook((operation) => {
  if (isCut) process.kill(process.pid, 'SIGKILL')
  count += 1
  if (count < nth) return undefined
  if (operation !== 'write') process.kill(process.pid, 'SIGKILL')
  isCut = true
  return { shortWriteBytes: 1 }
})
await calls[what]()
setFaultHook(undefined)
process.stdout.write(String(count))
await history.close()
