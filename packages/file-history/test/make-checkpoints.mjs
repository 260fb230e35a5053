// Makes argv[4] checkpoints of the file argv[3] in the index argv[2], called argv[5]-0, argv[5]-1, …
import { makeCheckpoint } from '@loci/file-history'

const [, , file, path, count, name] = process.argv
for (let n = 0; n < Number(count); n += 1) await makeCheckpoint(`${name}-${n}`, [path], { file })
