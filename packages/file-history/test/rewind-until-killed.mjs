// Rewinds the history argv[2] of the project argv[3] to m1 and is killed (SIGKILL) at its file operation argv[4],
// counted from the call of rewind. A write is cut short first: one byte of it arrives. Prints how many there were.
import { setFaultHook } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'

const history = await openFileHistory({ dir: process.argv[2], root: process.argv[3] })
const nth = Number(process.argv[4])
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
await history.rewind('m1')
setFaultHook(undefined)
process.stdout.write(String(count))
await history.close()
