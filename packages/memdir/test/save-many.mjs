// Saves argv[4] memories into the folder argv[2], named after argv[3]; the first half have names that others use too.
import { openMemdir } from '@loci/memdir'

const [, , dir, who, count] = process.argv
const memdir = await openMemdir({ dir, waitMs: 60_000 })
for (let n = 0; n < Number(count); n += 1) {
  const name = n < Number(count) / 2 ? `shared ${n}` : `${who} ${n}`
  const { memory } = await memdir.save({
    name,
    description: `${who} says ${n}`,
    type: 'project',
    body: `${who} ${n}`,
  })
  // What is printed is what was acknowledged.
  process.stdout.write(`${memory.file}\n`)
}
