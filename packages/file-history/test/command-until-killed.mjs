// Tracks a command in the history argv[2] of the project argv[3] and is killed (SIGKILL): in the middle of the command
// with argv[4] = 0, else at the file operation with that number, counted from the call of trackCommand. A write is cut
// short first: one byte of it arrives. Prints how many operations there were.
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { openFileHistory } from '@loci/file-history'

const [dir, root] = process.argv.slice(2)
const nth = Number(process.argv[4])
const history = await openFileHistory({ dir, root })
let count = 0
let isCut = false
setFaultHook((operation) => {
  if (isCut) process.kill(process.pid, 'SIGKILL')
  count += 1
  if (count !== nth) return undefined
  if (operation !== 'write') process.kill(process.pid, 'SIGKILL')
  isCut = true
  return { shortWriteBytes: 1 }
})
await history.trackCommand('c1', async () => {
  await writeFile(`${root}/a.txt`, 'by the command')
  await chmod(`${root}/a.txt`, 0o600)
  await rm(`${root}/d/b.txt`)
  await mkdir(`${root}/new`)
  await writeFile(`${root}/new/file.txt`, 'made')
  await rename(`${root}/e`, `${root}/f`)
  await writeFile(`${root}/tracked.txt`, 'by the command')
  await writeFile(`${root}/x.log`, 'ignored')
  if (nth === 0) process.kill(process.pid, 'SIGKILL')
})
setFaultHook(undefined)
process.stdout.write(String(count))
await history.close()
