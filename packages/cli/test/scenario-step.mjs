// One step of the scenario in a process of its own: `node scenario-step.mjs NAME JSON`, prints its result as JSON.
// Written as a program over the packages would be, with nothing of the CLI.
import { writeFileSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import { linkBackups, openFileHistory } from '@loci/file-history'
import { isAutoMemoryEnabled, loadMemoryPrompt, memoryDirs, openMemdir } from '@loci/memdir'
import { createSession, forkSession, openSession, readTranscript } from '@loci/session-jsonl'

const user = (text) => ({ type: 'user', message: { role: 'user', content: text } })
const assistant = (...content) => ({ type: 'assistant', message: { role: 'assistant', content } })
const say = (text) => assistant({ type: 'text', text })

async function withSession({ projectDir, sessionId, mode }, work) {
  const session = await openSession({ projectDir, sessionId, ...(mode ? { mode } : {}) })
  const result = await work(session)
  await session.close()
  return result
}

/** A file history whose ledger is the session's transcript, as an agent would compose it. */
async function withHistory({ dir, root, projectDir, sessionId }, work) {
  const path = `${projectDir}/${sessionId}.jsonl`
  const ledger = {
    async load() {
      const records = []
      for await (const { record } of readTranscript(path)) {
        if (record?.type.startsWith('file-history-')) records.push(record)
      }
      return records
    },
    append: (record) => withSession({ projectDir, sessionId }, (session) => session.record(record)),
  }
  const history = await openFileHistory({ dir, root, ...(projectDir ? { ledger } : {}) })
  const result = await work(history)
  await history.close()
  return result
}

const steps = {
  async saveMemory({ home, projectDir }) {
    const { project } = memoryDirs({ home, projectDir })
    const memdir = await openMemdir({ dir: project })
    const saved = await memdir.save({
      name: 'indentation',
      description: 'we indent with 4 spaces',
      type: 'project',
      body: 'Four spaces, never tabs.',
    })
    await memdir.close()
    return saved
  },

  async buildPrompt({ home, projectDir, env = {}, settings, bare }) {
    const dirs = memoryDirs({ home, projectDir, env, ...(settings ? { settings } : {}) })
    const enabled = isAutoMemoryEnabled({ env, ...(settings ? { settings } : {}), ...(bare ? { bare } : {}) })
    return loadMemoryPrompt({ dirs, enabled })
  },

  edit: ({ messageId, edits, ...place }) =>
    withHistory(place, async (history) => {
      await history.makeSnapshot(messageId)
      for (const { path, text } of edits) {
        await history.trackEdit(path, messageId)
        writeFileSync(path, text)
        await history.recordEdit(path, messageId)
      }
      return null
    }),

  rewindFiles: ({ messageId, ...place }) => withHistory(place, (history) => history.rewind(messageId)),
  undoRewind: (place) => withHistory(place, (history) => history.undoRewind()),

  async talk({ projectDir, sessionId, turns }) {
    const session = await createSession({ projectDir, sessionId, cwd: '/w/project' })
    const uuids = []
    for (const turn of turns) {
      uuids.push((await session.append(user(turn))).uuid)
      uuids.push((await session.append(say(`answer to ${turn}`))).uuid)
    }
    await session.close()
    return uuids
  },

  moveTip: ({ to, ...place }) => withSession(place, (session) => session.moveTip(to).then(() => null)),

  look: (place) =>
    withSession({ ...place, mode: 'read' }, async (session) => ({
      tip: session.tip,
      chain: (await session.chain()).map(({ uuid }) => uuid),
      conversation: await session.conversation(place.to ? { tip: place.to } : {}),
      tips: await session.tips(),
      damage: await session.damage(),
    })),

  append: ({ text, ...place }) =>
    withSession(place, async (session) => (await session.append(user(text))).uuid),

  /** A turn whose long tool result is replaced, then one more. Resolves to the ids in order. */
  async talkWithTool({ projectDir, sessionId, lines, replacement }) {
    const session = await createSession({ projectDir, sessionId, cwd: '/w/project' })
    const uuids = []
    const add = async (draft) => uuids.push((await session.append(draft)).uuid)
    await add(user('run it'))
    await add(assistant({ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'seq 9' } }))
    await add(user([{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'line\n'.repeat(lines) }]))
    await session.record({
      type: 'content-replacement',
      replacements: [{ kind: 'tool-result', toolUseId: 'toolu_1', replacement }],
    })
    await add(say('it ran'))
    await add(user('and again'))
    await add(say('again'))
    await session.close()
    return uuids
  },

  async fork({ projectDir, sessionId, upTo, newSessionId, dir, newDir }) {
    const fork = await forkSession({ projectDir, sessionId, upTo, newSessionId })
    return { ...fork, backups: await linkBackups({ fromDir: dir, toDir: newDir }) }
  },

  /** Appends until it is killed, and says each uuid once it is acknowledged. */
  async appendForever({ projectDir, sessionId, bytes }) {
    const session = await openSession({ projectDir, sessionId })
    for (;;) {
      const { uuid } = await session.append(user('x'.repeat(bytes)))
      process.stdout.write(`${uuid}\n`)
    }
  },

  /** Is killed after a part of its second record has reached the file. */
  async dieInsideRecord({ projectDir, sessionId }) {
    const session = await openSession({ projectDir, sessionId })
    const { uuid } = await session.append(user('acknowledged'))
    process.stdout.write(`${uuid}\n`)
    let writes = 0
    setFaultHook((operation) => {
      if (operation !== 'write') return undefined
      writes += 1
      if (writes === 2) process.kill(process.pid, 'SIGKILL')
      return { shortWriteBytes: 40 }
    })
    await session.append(user('never acknowledged'))
  },
}

const [, , name, json] = process.argv
const result = await steps[name](JSON.parse(json))
process.stdout.write(JSON.stringify(result ?? null))
