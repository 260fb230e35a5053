import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  archiveSession,
  deleteSession,
  forkSession,
  openSession,
  renameSession,
  tagSession,
} from '../loci.mjs'
import { compareProject, compareSession } from './own.mjs'
import { copySessions, makeProject, sessionIds } from './project.mjs'
import { loci, sdk } from './views.mjs'

const OBSERVED = new URL('../../packages/session-jsonl/test/fixtures/observed/', import.meta.url).pathname

/** Sessions that the other client and the SDK wrote: read by both, changed and gone on with by us, and read by both again. */
export async function checkObserved(home, differences) {
  for (const name of readdirSync(OBSERVED)) {
    const projects = join(OBSERVED, name, 'config', 'projects')
    if (!existsSync(projects)) continue
    for (const folder of readdirSync(projects)) {
      const project = await makeProject(home, `observed-${name}`)
      copySessions(join(projects, folder), project.projectDir)
      const sessions = sessionIds(project.projectDir).map((sessionId) => ({
        name: sessionId.slice(0, 8),
        sessionId,
      }))
      await compareProject(project, name, sessions, differences)
      for (const session of sessions) await changeByUs(project, name, session, differences)
    }
  }
}

async function changeByUs(project, what, { name, sessionId }, differences) {
  const address = { projectDir: project.projectDir, sessionId }
  const where = `${what}, ${name}`
  const before = await loci.session(project, sessionId)
  const title = `By us: ${what} · 題 🚀`
  const change = async (how, run, expected) => {
    await run()
    await compareSession(project, `${where}, ${how} by us`, sessionId, differences)
    const { info } = await sdk.session(project, sessionId)
    for (const [field, value] of Object.entries(expected))
      differences.compare(`${where}, ${how} by us`, `${field} as the SDK has it`, value, info?.[field])
  }
  await change('renamed', () => renameSession({ ...address, title }), { customTitle: title, summary: title })
  await change('tagged', () => tagSession({ ...address, tag: 'étiquette' }), { tag: 'étiquette' })
  await change('untagged', () => tagSession({ ...address, tag: null }), { tag: undefined })
  await change('archived', () => archiveSession(address), { archived: true })
  if (before.messages.length > 0) {
    const fork = await forkSession({ ...address, title: '分岐' })
    const read = await compareSession(project, `${where}, forked by us`, fork.sessionId, differences)
    differences.compareMessages(`${where}, our fork beside the source`, read.messages, before.messages)
    await goOn(project, `${where}, our fork gone on with`, fork.sessionId, differences)
    await deleteSession({ projectDir: project.projectDir, sessionId: fork.sessionId })
    const { info } = await sdk.session(project, fork.sessionId)
    differences.compare(`${where}, our fork deleted by us`, 'as the SDK has it', undefined, info)
  }
  await goOn(project, `${where}, gone on with by us`, sessionId, differences)
}

async function goOn(project, where, sessionId, differences) {
  const session = await openSession({ projectDir: project.projectDir, sessionId, cwd: project.root })
  await session.append({ type: 'user', message: { role: 'user', content: 'and now here' } })
  await session.append({
    type: 'assistant',
    message: { role: 'assistant', content: [{ type: 'text', text: 'here' }] },
  })
  await session.record({ type: 'last-prompt', lastPrompt: 'and now here', leafUuid: session.tip })
  await session.close()
  await compareSession(project, where, sessionId, differences)
}
