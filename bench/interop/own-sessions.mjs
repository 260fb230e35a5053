import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSession, forkSession, renameSession, tagSession } from '../loci.mjs'

const user = (content, fields = {}) => ({ type: 'user', message: { role: 'user', content }, ...fields })
const blocks = (id, content) => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'model-1', content },
})
const text = (id, words) => blocks(id, [{ type: 'text', text: words }])
const call = (id, toolId) =>
  blocks(id, [{ type: 'tool_use', id: toolId, name: 'Read', input: { file_path: '/a' } }])
const result = (toolId, parent, words) => ({
  ...user([{ type: 'tool_result', tool_use_id: toolId, content: words }]),
  parentUuid: parent.uuid,
  sourceToolAssistantUUID: parent.uuid,
})

/** Kinds of sessions that Loci writes. Each is given an open session and what it may need. */
const KINDS = {
  async plain({ session, said }) {
    await session.append(user('How do I keep sessions?'))
    await session.append(text('m1', 'In JSON Lines.'))
    await said('How do I keep sessions?')
  },

  async branchy({ session, said }) {
    const first = await session.append(user('first'))
    await session.append(text('m1', 'one'))
    await session.append(user('second, abandoned'))
    await session.append(text('m2', 'two, abandoned'))
    await session.moveTip(first.uuid)
    await session.append(text('m3', 'one, another time'))
    const third = await session.append(user('third'))
    await session.append(text('m4', 'three, abandoned'))
    await session.append({ ...text('m5', 'three'), parentUuid: third.uuid })
    await said('third')
  },

  async rewound({ session, said }) {
    await session.append(user('kept'))
    const end = await session.append(text('m1', 'kept too'))
    await session.append(user('taken back'))
    await session.append(text('m2', 'taken back too'))
    await said('taken back')
    await session.moveTip(end.uuid)
  },

  async 'rewound to nothing'({ session }) {
    await session.append(user('taken back'))
    await session.append(text('m1', 'taken back too'))
    await session.moveTip(null)
  },

  async 'begun again'({ session, said }) {
    await session.append(user('taken back'))
    await session.append(text('m1', 'taken back too'))
    await session.moveTip(null)
    await session.append(user('begun again'))
    await session.append(text('m2', 'again'))
    await said('begun again')
  },

  async 'parallel results'({ session, said }) {
    await session.append(user('Read three files'))
    const calls = []
    for (const id of ['t1', 't2', 't3']) calls.push(await session.append(call('m1', id)))
    for (const nth of [1, 0, 2]) await session.append(result(`t${nth + 1}`, calls[nth], `file ${nth + 1}`))
    await session.append(text('m2', 'Read.'))
    await said('Read three files')
  },

  async interrupted({ session }) {
    await session.append(user('Read two files'))
    const first = await session.append(call('m1', 't1'))
    await session.append(call('m1', 't2'))
    await session.append(result('t1', first, 'file 1'))
    await session.append(user('never mind'))
  },

  async compacted({ session, said }) {
    await session.append(user('long ago'))
    await session.append(text('m1', 'long ago too'))
    const head = await session.append(user('kept as it was'))
    await session.append(text('m2', 'kept too'))
    await session.compact({ summary: 'A summary of what was said.', keepFrom: head.uuid })
    await session.append(user('after'))
    await session.append(text('m3', 'after too'))
    await said('after')
  },

  async 'compacted, nothing kept'({ session, said }) {
    await session.append(user('long ago'))
    await session.append(text('m1', 'long ago too'))
    await session.compact({ summary: 'A summary of what was said.' })
    await session.append(user('after'))
    await session.append(text('m2', 'after too'))
    await said('after')
  },

  async 'compacted in a turn, calls kept'({ session, said }) {
    await session.append(user('long ago'))
    await session.append(text('m1', 'long ago too'))
    await session.append(user('Read two files'))
    const calls = []
    for (const id of ['t1', 't2']) calls.push(await session.append(call('m2', id)))
    for (const nth of [1, 0]) await session.append(result(`t${nth + 1}`, calls[nth], `file ${nth + 1}`))
    await session.append(text('m3', 'Read.'))
    await session.compact({ summary: 'A summary of what was said.', keepFrom: calls[1].uuid })
    await session.append(user('after'))
    await session.append(text('m4', 'after too'))
    await said('after')
  },

  async 'replaced result'({ session, said }) {
    await session.append(user('Read a long file'))
    const reading = await session.append(call('m1', 't1'))
    await session.append(result('t1', reading, 'long '.repeat(100)))
    const replacements = [{ kind: 'tool-result', toolUseId: 't1', replacement: '[see t1.txt]' }]
    const carried = { uuid: '0a000000-0000-4000-a000-000000000001', timestamp: new Date().toISOString() }
    await session.record({ type: 'content-replacement', replacements, ...carried })
    await session.append(text('m2', 'It is long.'))
    await said('Read a long file')
  },

  async 'with a subagent'({ session, said, projectDir }) {
    await session.append(user('Ask an agent'))
    const agent = 'a0123456789abcdef'
    const sides = join(projectDir, session.id, 'subagents')
    mkdirSync(sides, { recursive: true })
    const shared = {
      sessionId: session.id,
      isSidechain: true,
      agentId: agent,
      timestamp: new Date().toISOString(),
    }
    const ids = ['0b000000-0000-4000-a000-000000000001', '0b000000-0000-4000-a000-000000000002']
    const lines = [
      { ...user('Look around'), uuid: ids[0], parentUuid: null, ...shared },
      { ...text('s1', 'Looked.'), uuid: ids[1], parentUuid: ids[0], ...shared },
    ]
    writeFileSync(
      join(sides, `agent-${agent}.jsonl`),
      lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    )
    writeFileSync(join(sides, `agent-${agent}.meta.json`), JSON.stringify({ agentType: 'general-purpose' }))
    await session.append(text('m1', 'It looked.'))
    await said('Ask an agent')
  },

  async 'with attachments'({ session, said }) {
    await session.append({ type: 'attachment', attachment: { type: 'date', date: '2026-01-01' } })
    await session.append(user('a prompt after an attachment'))
    await session.append({ type: 'system', subtype: 'informational', content: 'a notice', level: 'info' })
    await session.append(user('hidden', { isMeta: true }))
    await session.append(text('m1', 'an answer'))
    await said('a prompt after an attachment')
  },

  async 'other scripts'({ session, said, address }) {
    await session.append(user('会話を保存する 🚀 разговор جلسة “quoted”\u2028next'))
    await session.append(text('m1', '👩‍💻 은 저장했다'))
    await said('会話を保存する 🚀 разговор جلسة “quoted”\u2028next')
    await renameSession({ ...address, title: '会話 · разговор 👩‍💻' })
    await tagSession({ ...address, tag: '重要 ✅' })
  },

  async 'titled long ago'({ session, said, address }) {
    await session.append(user('a long session'))
    await renameSession({ ...address, title: 'Titled long ago' })
    await tagSession({ ...address, tag: 'old' })
    for (let nth = 0; nth < 20; nth++) {
      await session.append(text(`m${nth}`, 'word '.repeat(4000)))
      await session.append(user(`question ${nth}`))
    }
    await said('question 19')
  },

  async 'long prompt'({ session, said }) {
    const prompt = `${'a prompt that goes on '.repeat(20)}\nand on 🚀`
    await session.append(user(prompt))
    await session.append(text('m1', 'short'))
    await said(prompt)
  },

  async 'cut inside an emoji'({ session }) {
    await session.append(user(`${'x'.repeat(199)}🚀🚀 and more`))
    await session.append(text('m1', 'short'))
  },

  async 'prompt in blocks'({ session }) {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } }
    await session.append(user([image, { type: 'text', text: 'what is this?' }]))
    await session.append(text('m1', 'a picture'))
  },

  async 'commands first'({ session }) {
    await session.append(user('<command-name>/model</command-name>\n<command-args></command-args>'))
    await session.append(user('<local-command-stdout>done</local-command-stdout>'))
    await session.append(user('the first real prompt'))
    await session.append(text('m1', 'an answer'))
  },

  async 'tag taken off'({ session, address }) {
    await session.append(user('tagged and not'))
    await session.append(text('m1', 'an answer'))
    await tagSession({ ...address, tag: 'blue' })
    await tagSession({ ...address, tag: null })
  },

  async 'torn at its end'({ session, said }) {
    await session.append(user('whole'))
    await session.append(text('m1', 'whole too'))
    await said('whole')
    appendFileSync(session.path, '{"type":"user","uuid":"0c000000-0000-4000-a000-000000000001","mess')
  },

  async 'prompt only'({ session }) {
    await session.append(user('no answer yet'))
  },
}

/** Writes one session of each kind, and forks of some. Returns `{ name, sessionId }[]` in the order they were written. */
export async function writeOwnSessions({ root, projectDir }) {
  const written = []
  let clockMs = Date.now() - 3_600_000
  const clock = () => new Date((clockMs += 1000))
  const options = { projectDir, cwd: root, version: '1.0.0', gitBranch: 'main', clock }
  for (const [name, write] of Object.entries(KINDS)) {
    const session = await createSession(options)
    const said = (prompt) =>
      session.record({ type: 'last-prompt', lastPrompt: prompt, leafUuid: session.tip })
    await write({ session, said, projectDir, address: { projectDir, sessionId: session.id } })
    await session.close()
    written.push({ name, sessionId: session.id })
  }
  for (const source of written.filter(({ name }) =>
    /^(?:branchy|rewound|parallel|compacted|replaced|with a)/.test(name),
  )) {
    const plain = await forkSession({ ...options, sessionId: source.sessionId })
    written.push({ name: `fork of ${source.name}`, sessionId: plain.sessionId })
    const titled = await forkSession({
      ...options,
      sessionId: source.sessionId,
      title: `また ${source.name} 🚀`,
    })
    written.push({ name: `titled fork of ${source.name}`, sessionId: titled.sessionId })
  }
  return written
}
