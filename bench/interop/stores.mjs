import {
  InMemorySessionStore,
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  importSessionToStore,
  listSessions,
  listSubagents,
  renameSession,
  tagSession,
} from '@anthropic-ai/claude-agent-sdk'
import { mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileSessionStore, memorySessionStore, mirrorSession, openSession } from '../loci.mjs'
import { writeOwnSessions } from './own-sessions.mjs'
import { makeProject } from './project.mjs'
import { loci, sdk } from './views.mjs'

/**
 * Our stores as the SDK's, and sessions brought into stores by the SDK and by our mirror: read from the store by the SDK
 * they are what it reads from the disk. The SDK's own store is there to tell what is the SDK's doing from what is the
 * store's.
 */
export async function checkStores(home, differences) {
  const project = await makeProject(home, 'stores')
  const written = await writeOwnSessions(project)
  const ways = { imported: importTwice, mirrored: mirrorTwice }
  for (const [way, bring] of Object.entries(ways)) {
    for (const { name, store, projectsDir } of storesOf(home, way)) {
      const what = `${name} store, ${way}`
      const options = { dir: project.root, sessionStore: store }
      for (const session of written) {
        await bring(project, session, store)
        await compareWithDisk(project, `${what}, ${session.name}`, session, options, differences)
        if (projectsDir !== undefined)
          await compareFiles(project, projectsDir, `${what}, ${session.name}`, session, differences)
      }
      const listed = await listSessions(options)
      differences.compare(what, 'list', idsOf(listed), idsOf(await sdk.list(project)))
      for (const session of written.slice(0, 3)) await changeBySdk(what, session, options, differences)
    }
  }
}

const idsOf = (list) => list.map(({ sessionId }) => sessionId).toSorted()

/** Twice, which is what a retry looks like. */
async function importTwice({ root }, { sessionId }, store) {
  await importSessionToStore(sessionId, store, { dir: root })
  await importSessionToStore(sessionId, store, { dir: root })
}

/** By two mirrors, as after a restart. */
async function mirrorTwice({ projectDir }, { sessionId }, store) {
  for (let nth = 0; nth < 2; nth++) {
    const session = await openSession({ projectDir, sessionId })
    const mirror = mirrorSession(session, store)
    await mirror.flush()
    await mirror.close()
    await session.close()
  }
}

async function compareWithDisk(project, where, { sessionId }, options, differences) {
  const onDisk = await sdk.session(project, sessionId)
  differences.compareMessages(where, inForm(await getSessionMessages(sessionId, options)), onDisk.messages)
  const info = await getSessionInfo(sessionId, options)
  for (const field of ['summary', 'customTitle', 'tag', 'firstPrompt', 'cwd', 'gitBranch'])
    differences.compare(where, field, info?.[field], onDisk.info?.[field])
  const agents = []
  for (const id of (await listSubagents(sessionId, options)).toSorted())
    agents.push({ id, messages: inForm(await getSubagentMessages(sessionId, id, options)) })
  differences.compare(where, 'subagents', agents, await sdk.subagents(project, sessionId))
}

/** What a store keeps in files is a folder of sessions like any other. */
async function compareFiles(project, projectsDir, where, { sessionId }, differences) {
  const kept = { projectsDir, projectDir: join(projectsDir, basename(project.projectDir)) }
  const { messages } = await loci.session(kept, sessionId)
  const source = await loci.session(project, sessionId)
  differences.compareMessages(`${where}, as files`, messages, source.messages)
}

async function changeBySdk(what, { sessionId }, options, differences) {
  const where = `${what}, changed by the SDK`
  await renameSession(sessionId, '題 in a store', options)
  await tagSession(sessionId, 'kept', options)
  const info = await getSessionInfo(sessionId, options)
  differences.compare(where, 'title and tag', [info?.customTitle, info?.tag], ['題 in a store', 'kept'])
  const fork = await forkSession(sessionId, options)
  const said = async (id) =>
    (await getSessionMessages(id, options)).map(({ type, message }) => [type, message])
  differences.compare(where, 'fork beside the source', await said(fork.sessionId), await said(sessionId))
  await deleteSession(fork.sessionId, options)
  differences.compare(where, 'deleted', await said(fork.sessionId), [])
}

function inForm(messages) {
  return messages.map(({ type, uuid, message }) => ({ type, uuid, message: JSON.stringify(message) }))
}

function storesOf(home, way) {
  const projectsDir = join(home, `store-${way}`)
  mkdirSync(projectsDir, { recursive: true })
  return [
    { name: "SDK's own", store: new InMemorySessionStore() },
    { name: 'memory', store: memorySessionStore() },
    { name: 'file', store: fileSessionStore({ projectsDir }), projectsDir },
  ]
}
