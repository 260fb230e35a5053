// Imports what argv[2] names into the projects folder argv[3], and prints each outcome. With DIE_AT it ends itself by
// SIGKILL before that file operation.
import { setFaultHook } from '@loci/disk/testing'
import { findImportable, importSessions } from '@loci/session-jsonl'

const [source, projectsDir] = process.argv.slice(2)
const dieAt = Number(process.env.DIE_AT ?? Infinity)
let operations = 0
setFaultHook(() => {
  operations += 1
  if (operations === dieAt) process.kill(process.pid, 'SIGKILL')
  return undefined
})
for await (const { outcome } of importSessions({ transcripts: await findImportable(source), projectsDir }))
  process.stdout.write(`${outcome}\n`)
