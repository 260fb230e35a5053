// Opens the history argv[2] of the project argv[3] again and again, until it has had it argv[4] times; each time it makes
// one snapshot, called argv[5]-0, argv[5]-1, … A history that another has open is no failure. Waits for a line first.
import { once } from 'node:events'
import { openFileHistory } from '@loci/file-history'

const [dir, root, count, name] = process.argv.slice(2)
process.stdout.write('ready\n')
await once(process.stdin, 'data')
for (let had = 0; had < Number(count);) {
  try {
    const history = await openFileHistory({ dir, root })
    await history.makeSnapshot(`${name}-${had}`)
    had += 1
    await history.close()
  } catch (error) {
    if (error.code !== 'HISTORY_LOCKED') throw error
  }
}
process.stdin.pause()
