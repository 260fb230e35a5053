// Writes to a session as argv[2] (JSON) says, and prints what was acknowledged, a line each, as soon as it was: the
// uuid of an entry, `record N` or `tip UUID`. With `dieAt` it ends itself by SIGKILL before that file operation.
import { writeSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import { createSession, forkSession, openSession, renameSession, tagSession } from '@loci/session-jsonl'

const {
  projectDir,
  sessionId,
  mode = 'open',
  rounds = 1,
  burst = 1,
  sizeBytes = 100,
  records = 0,
  durability = 'os',
  moveTo,
  forkTo,
  titles = 0,
  isAwaited = true,
  dieAt,
} = JSON.parse(process.argv[2])

// Past the stream, which keeps lines back while nobody reads and the event loop has no turn.
const said = (line) => writeSync(1, `${line}\n`)
let operations = 0
setFaultHook(() => {
  operations += 1
  if (operations === dieAt) process.kill(process.pid, 'SIGKILL')
  return undefined
})

const content = 'x'.repeat(sizeBytes)
/** One call after the other, waited for or not. */
async function all(calls) {
  if (!isAwaited) await Promise.all(calls.map((call) => call()))
  else for (const call of calls) await call()
}

async function write() {
  const options = { projectDir, sessionId, durability }
  const session = mode === 'create' ? await createSession(options) : await openSession(options)
  if (moveTo !== undefined) await session.moveTip(moveTo).then(() => said(`tip ${moveTo}`))
  for (let round = 0; round < rounds; round += 1) {
    const calls = []
    for (let n = 0; n < burst; n += 1) {
      const role = n % 2 === 0 ? 'user' : 'assistant'
      const entry = { type: role, message: { role, content } }
      calls.push(session.append(entry).then(({ uuid }) => said(uuid)))
    }
    for (let n = 0; n < records; n += 1) {
      const number = round * records + n
      calls.push(
        session
          .record({ type: 'x-note', number, pid: process.pid, pad: content })
          .then(() => said(`record ${number}`)),
      )
    }
    await Promise.all(calls)
  }
  await session.close()
}

try {
  if (mode === 'fork') await forkSession({ projectDir, sessionId, newSessionId: forkTo, durability })
  else if (mode !== 'titles') await write()
  const title = (n) => `${process.pid} ${n} ${content}`
  const give = (n) => renameSession({ projectDir, sessionId, title: title(n) }).then(() => said(`title ${n}`))
  const tag = (n) => tagSession({ projectDir, sessionId, tag: title(n) }).then(() => said(`tag ${n}`))
  await all(Array.from({ length: titles }, (_, n) => () => (n % 2 === 0 ? give(n) : tag(n))))
} catch (error) {
  process.stderr.write(`${error.code} ${JSON.stringify(error.details)} ${error.message}\n`)
  process.exitCode = 3
}
