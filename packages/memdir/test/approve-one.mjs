// Approves the proposal argv[3] of the folder argv[2] when its standard input ends; says what came of it.
import { once } from 'node:events'
import { openMemdir } from '@loci/memdir'

const memdir = await openMemdir({ dir: process.argv[2], waitMs: 60_000 })
process.stdout.write('ready\n')
process.stdin.resume()
await once(process.stdin, 'end')
process.stdout.write(
  await memdir.approve(process.argv[3]).then(
    ({ file }) => file,
    ({ code }) => code,
  ),
)
