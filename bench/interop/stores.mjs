import {
  InMemorySessionStore,
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  importSessionToStore,
  listSessions,
  renameSession,
  tagSession,
} from '@anthropic-ai/claude-agent-sdk'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from './project.mjs'
import { writeOwnSessions } from './own-sessions.mjs'
import { sdk } from './views.mjs'

/** Our stores as the SDK's: sessions imported into them are read from them as they are from the disk. */
export async function checkStores(home, differences) {
  const stores = await storesOf(home)
  const project = await makeProject(home, 'stores')
  const written = await writeOwnSessions(project)
  for (const [name, store] of stores) {
    const where = (session) => `${name} store, ${session.name}`
    const options = { dir: project.root, sessionStore: store }
    for (const session of written) {
      await importSessionToStore(session.sessionId, store, { dir: project.root })
      await compareWithDisk(project, where(session), session, options, differences)
      // A second import is what a retry looks like.
      await importSessionToStore(session.sessionId, store, { dir: project.root })
      await compareWithDisk(project, `${where(session)}, imported twice`, session, options, differences)
    }
    const idsOf = (list) => list.map(({ sessionId }) => sessionId).toSorted()
    const listed = await listSessions(options)
    differences.compare(`${name} store`, 'list', idsOf(listed), idsOf(await sdk.list(project)))
    for (const { sessionId } of written.slice(0, 3)) {
      const here = `${name} store, changed by the SDK`
      await renameSession(sessionId, '題 in a store', options)
      await tagSession(sessionId, 'kept', options)
      const info = await getSessionInfo(sessionId, options)
      differences.compare(here, 'title and tag', [info?.customTitle, info?.tag], ['題 in a store', 'kept'])
      const fork = await forkSession(sessionId, options)
      const said = async (id) =>
        (await getSessionMessages(id, options)).map(({ type, message }) => [type, message])
      differences.compare(here, 'fork beside the source', await said(fork.sessionId), await said(sessionId))
      await deleteSession(fork.sessionId, options)
      differences.compare(here, 'deleted', await said(fork.sessionId), [])
    }
  }
}

async function compareWithDisk(project, where, { sessionId }, options, differences) {
  const onDisk = await sdk.session(project, sessionId)
  const messages = await getSessionMessages(sessionId, options)
  const inStore = messages.map(({ type, uuid, message }) => ({
    type,
    uuid,
    message: JSON.stringify(message),
  }))
  differences.compareMessages(where, inStore, onDisk.messages)
  const info = await getSessionInfo(sessionId, options)
  for (const field of ['summary', 'customTitle', 'tag', 'firstPrompt'])
    differences.compare(where, field, info?.[field], onDisk.info?.[field])
}

/** Ours, as far as they are exported, and the SDK's own: what that one does is not ours to explain. */
async function storesOf(home) {
  const projectsDir = join(home, 'store')
  mkdirSync(projectsDir, { recursive: true })
  const { fileSessionStore, memorySessionStore } = await import('../loci.mjs')
  return [
    ["SDK's own", new InMemorySessionStore()],
    ...(memorySessionStore ? [['memory', memorySessionStore()]] : []),
    ...(fileSessionStore ? [['file', fileSessionStore({ projectsDir })]] : []),
  ]
}
