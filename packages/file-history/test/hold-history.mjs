// Opens the history argv[2] of the project argv[3], makes a snapshot, says so, and holds it until it is killed.
import { openFileHistory } from '@loci/file-history'

const history = await openFileHistory({ dir: process.argv[2], root: process.argv[3] })
await history.makeSnapshot('m')
process.stdout.write('held\n')
process.stdin.resume()
