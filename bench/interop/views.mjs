import {
  listSessions as sdkList,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  listSubagents,
} from '@anthropic-ai/claude-agent-sdk'
import { listSessions, openSession, sessionInfo } from '../loci.mjs'
import { join } from 'node:path'

/**
 * What each reader shows of a project's folder, in one form so that the two can be compared field by field.
 *
 * A project: `{ root, projectsDir, projectDir }`. A session: `{ info, messages }`; a list: infos, newest first.
 */
export const loci = {
  name: 'Loci',

  async list({ projectsDir, projectDir }) {
    const all = await listSessions({ projectsDir, archived: true })
    return all.filter(({ path }) => path.startsWith(`${projectDir}/`)).map((info) => infoOf(info))
  },

  async session({ projectDir }, sessionId) {
    const info = await sessionInfo(join(projectDir, `${sessionId}.jsonl`))
    const session = await openSession({ projectDir, sessionId, mode: 'read' })
    try {
      return { info: info && infoOf(info), messages: shown(await session.chain()) }
    } finally {
      await session.close()
    }
  },
}

export const sdk = {
  name: 'SDK',

  async list({ root }, page = {}) {
    return (await sdkList({ dir: root, ...page })).map((info) => sdkInfoOf(info))
  },

  async session({ root }, sessionId) {
    const info = await getSessionInfo(sessionId, { dir: root })
    const messages = await getSessionMessages(sessionId, { dir: root })
    return { info: info && sdkInfoOf(info), messages: messages.map((line) => messageOf(line)) }
  },

  async subagents({ root }, sessionId) {
    const found = []
    for (const id of (await listSubagents(sessionId, { dir: root })).toSorted()) {
      const messages = await getSubagentMessages(sessionId, id, { dir: root })
      found.push({ id, messages: messages.map((line) => messageOf(line)) })
    }
    return found
  },
}

/** The lines of a chain that the SDK gives out as messages. */
function shown(chain) {
  return chain
    .filter(({ type, isMeta }) => (type === 'user' || type === 'assistant') && isMeta !== true)
    .map((line) => messageOf(line))
}

function messageOf({ type, uuid, message }) {
  return { type, uuid, message: JSON.stringify(message) }
}

function infoOf({
  sessionId,
  summary,
  customTitle,
  tag,
  firstPrompt,
  gitBranch,
  cwd,
  createdAtMs,
  archived,
  sizeBytes,
  lastPrompt,
}) {
  return {
    sessionId,
    summary,
    customTitle,
    tag,
    firstPrompt,
    gitBranch,
    cwd,
    createdAt: createdAtMs,
    archived,
    sizeBytes,
    lastPrompt,
  }
}

function sdkInfoOf({
  sessionId,
  summary,
  customTitle,
  tag,
  firstPrompt,
  gitBranch,
  cwd,
  createdAt,
  archived,
  fileSize,
}) {
  // Absent and false are one: not archived.
  return {
    sessionId,
    summary,
    customTitle,
    tag,
    firstPrompt,
    gitBranch,
    cwd,
    createdAt,
    archived: archived === true,
    sizeBytes: fileSize,
  }
}
