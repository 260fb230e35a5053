// Deletes a session. With DIE_AT it ends itself by SIGKILL before that file operation.
import { setFaultHook } from '@loci/disk/testing'
import { deleteSession } from '@loci/session-jsonl'

const [projectDir, sessionId] = process.argv.slice(2)
const dieAt = Number(process.env.DIE_AT ?? Infinity)
let operations = 0
setFaultHook(() => {
  operations += 1
  if (operations === dieAt) process.kill(process.pid, 'SIGKILL')
  return undefined
})
const { removed } = await deleteSession({ projectDir, sessionId })
process.stdout.write(JSON.stringify(removed))
