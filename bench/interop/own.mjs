import {
  archiveSession as sdkArchive,
  deleteSession as sdkDelete,
  forkSession as sdkFork,
  renameSession as sdkRename,
  tagSession as sdkTag,
  unarchiveSession as sdkUnarchive,
} from '@anthropic-ai/claude-agent-sdk'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { openSession, verifySession } from '../loci.mjs'
import { writeOwnSessions } from './own-sessions.mjs'
import { makeProject } from './project.mjs'
import { loci, sdk } from './views.mjs'

/** Sessions that Loci wrote: read by both, changed by the SDK, and read by both again. */
export async function checkOwn(home, differences) {
  const project = await makeProject(home, 'own')
  const written = await writeOwnSessions(project)
  await compareProject(project, 'own', written, differences)
  await compareSubagents(project, written, differences)
  await changeBySdk(project, written, differences)
  await goOnAfterSdk(project, differences)
  await deleteBySdk(project, written.at(-1), differences)
}

/** Compares what both show of a whole project: the list, then each session. */
export async function compareProject(project, what, sessions, differences) {
  const [ours, theirs] = [await loci.list(project), await sdk.list(project)]
  const nameOf = (id) => sessions.find(({ sessionId }) => sessionId === id)?.name ?? id
  const names = (list) => list.map(({ sessionId }) => nameOf(sessionId))
  const without = (list, others) => names(list).filter((name) => !names(others).includes(name))
  differences.compare(`${what}, list`, 'only in ours', without(ours, theirs), [])
  differences.compare(`${what}, list`, 'only in theirs', [], without(theirs, ours))
  differences.compare(`${what}, list`, 'order with forks', names(ours), names(theirs))
  const first = (list) => names(list).filter((name) => !name.includes('fork of'))
  differences.compare(`${what}, list`, 'order', first(ours), first(theirs))
  const page = await sdk.list(project, { limit: 5, offset: 2 })
  differences.compare(
    `${what}, list`,
    'a page of theirs beside their list',
    names(page),
    names(theirs).slice(2, 7),
  )
  for (const { name, sessionId } of sessions) {
    const inList = (list) => list.find((info) => info.sessionId === sessionId)
    differences.compareFields(`${what}, ${name}, in the list`, inList(ours), inList(theirs))
    await compareSession(project, `${what}, ${name}`, sessionId, differences)
  }
}

/** Compares what both show of one session. */
export async function compareSession(project, where, sessionId, differences) {
  const [ours, theirs] = [await loci.session(project, sessionId), await sdk.session(project, sessionId)]
  differences.compareFields(where, ours.info, theirs.info)
  differences.compareMessages(where, ours.messages, theirs.messages)
  return ours
}

/** A fork of ours carries the subagents along. */
async function compareSubagents(project, written, differences) {
  const said = async (name) => {
    const found = await sdk.subagents(project, written.find((session) => session.name === name).sessionId)
    return found.map(({ id, messages }) => [id, messages])
  }
  const expected = await said('with a subagent')
  differences.compare('own, with a subagent', 'subagents that the SDK sees', 1, expected.length)
  differences.compare('own, with a subagent', 'what it said', 2, expected[0]?.[1].length)
  for (const name of ['fork of with a subagent', 'titled fork of with a subagent'])
    differences.compare(`own, ${name}`, 'subagents', await said(name), expected)
}

async function changeBySdk(project, written, differences) {
  const dir = { dir: project.root }
  for (const { name, sessionId } of written.filter(({ name: kind }) => !kind.includes('fork'))) {
    const before = await loci.session(project, sessionId)
    const change = async (what, run, expected) => {
      await run()
      const where = `own, ${name}, ${what} by the SDK`
      const { info } = await compareSession(project, where, sessionId, differences)
      for (const [field, value] of Object.entries(expected))
        differences.compare(where, `${field} as given`, info[field], value)
    }
    const title = `By the SDK: ${name} · 題 👩‍💻`
    await change('renamed', () => sdkRename(sessionId, title, dir), { customTitle: title, summary: title })
    await change('tagged', () => sdkTag(sessionId, 'étiquette 🚀', dir), { tag: 'étiquette 🚀' })
    await change('untagged', () => sdkTag(sessionId, null, dir), { tag: undefined })
    await change('archived', () => sdkArchive(sessionId, dir), { archived: true })
    await change('unarchived', () => sdkUnarchive(sessionId, dir), { archived: false })
    const after = await loci.session(project, sessionId)
    differences.compareMessages(
      `own, ${name}, after the SDK's changes beside before`,
      after.messages,
      before.messages,
    )
    if (before.messages.length === 0) continue
    await forkBySdk(project, name, { sessionId }, before, differences)
    const upTo = before.messages[Math.floor(before.messages.length / 2)].uuid
    await forkBySdk(project, `${name} to the middle`, { sessionId, upToMessageId: upTo }, before, differences)
  }
}

async function forkBySdk(project, name, { sessionId, ...wish }, source, differences) {
  const where = `own, ${name}, forked by the SDK`
  const fork = await sdkFork(sessionId, { dir: project.root, ...wish })
  const read = await compareSession(project, where, fork.sessionId, differences)
  if (wish.upToMessageId === undefined) {
    const said = ({ messages }) => messages.map(({ type, message }) => `${type} ${message}`)
    differences.compare(where, 'conversation beside the source', said(read), said(source))
  }
  const list = await loci.list(project)
  differences.compare(
    where,
    'is listed by us',
    list.some((info) => info.sessionId === fork.sessionId),
    true,
  )
  const damage = await verifySession(join(project.projectDir, `${fork.sessionId}.jsonl`))
  differences.compare(
    where,
    'damage that we see in it',
    damage.map(({ kind, message }) => `${kind}: ${message}`),
    [],
  )
}

/** A session that is open here while the SDK renames it, and is gone on with by both after that. */
async function goOnAfterSdk(project, differences) {
  const dir = { dir: project.root }
  const { createSession } = await import('../loci.mjs')
  const session = await createSession({ projectDir: project.projectDir, cwd: project.root })
  const long = 'word '.repeat(8000)
  await session.append({ type: 'user', message: { role: 'user', content: 'open all the while' } })
  await sdkRename(session.id, 'Renamed while open', dir)
  await sdkTag(session.id, 'while-open', dir)
  for (let nth = 0; nth < 5; nth++)
    await session.append({
      type: 'assistant',
      message: { role: 'assistant', content: [{ type: 'text', text: long }] },
    })
  await session.close()
  const where = 'own, renamed by the SDK while open, then 200 KB longer'
  const { info } = await compareSession(project, where, session.id, differences)
  differences.compare(where, 'title', info.customTitle, 'Renamed while open')
  differences.compare(where, 'tag', info.tag, 'while-open')

  // As another client goes on: a child of the tip with its keys in another order.
  const line = {
    parentUuid: session.tip,
    isSidechain: false,
    type: 'user',
    message: { role: 'user', content: 'said elsewhere' },
    uuid: crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    sessionId: session.id,
    cwd: project.root,
  }
  appendFileSync(session.path, `${JSON.stringify(line)}\n`)
  const again = await openSession({ projectDir: project.projectDir, sessionId: session.id })
  differences.compare('own, gone on with by another client', 'tip', again.tip, line.uuid)
  await again.append({
    type: 'assistant',
    message: { role: 'assistant', content: [{ type: 'text', text: 'answered here' }] },
  })
  await again.close()
  await compareSession(project, 'own, gone on with by another client and then by us', session.id, differences)
}

async function deleteBySdk(project, { name, sessionId }, differences) {
  await sdkDelete(sessionId, { dir: project.root })
  const where = `own, ${name}, deleted by the SDK`
  differences.compare(
    where,
    'its file is there',
    existsSync(join(project.projectDir, `${sessionId}.jsonl`)),
    false,
  )
  const isListed = (await loci.list(project)).some((info) => info.sessionId === sessionId)
  differences.compare(where, 'is listed by us', isListed, false)
}
