import { logUniform, mulberry32, seededUuid } from './random.mjs'
import { bodySource } from './text.mjs'

const MEGABYTE = 1024 * 1024
const START_MS = Date.UTC(2026, 0, 1)

/**
 * The entries of a made-up conversation, without end: turns of prompt, one or two calls of a tool, their results, and
 * an answer. Where two tools are called at once each result hangs on its own call, as clients write it.
 *
 * Each entry: `{ kind, type, uuid, parentUuid, timestamp, message, fields }`; `fields` are what only some lines have.
 * One in 25 calls, and so one line in a hundred, has a nested `uuid` and `parentUuid` in its input.
 *
 * @param options.branchy one line in 50 goes on from four entries before (the answer of a turn before), so that what lay
 * between is a dead branch
 * @param options.boundaryAt after how many bytes one compaction happens; default: never
 * @param written how many bytes the reader of this generator has made of it so far
 */
export function* conversation({ seed, branchy = false, boundaryAt = Infinity }, written) {
  const random = mulberry32(seed)
  const body = bodySource(seed + 1_000_000)
  let clockMs = START_MS
  let nextHuge = 5 * MEGABYTE
  let parentUuid = null
  let compacted = false
  const answers = []

  const entry = (kind, type, parent, message, fields = {}) => {
    clockMs += 1000
    const made = { kind, type, uuid: seededUuid(random), parentUuid: parent, message, fields }
    return { ...made, timestamp: new Date(clockMs).toISOString() }
  }
  const answerOf = (id, content) => ({
    id,
    type: 'message',
    role: 'assistant',
    model: 'model-1',
    content: [content],
    stop_reason: null,
    usage: { input_tokens: 1200, output_tokens: 300 },
  })

  for (let turn = 0; ; turn++) {
    if (!compacted && written() >= boundaryAt) {
      compacted = true
      const fields = {
        subtype: 'compact_boundary',
        content: 'Conversation compacted',
        logicalParentUuid: parentUuid,
        compactMetadata: { trigger: 'auto', preTokens: 150_000 },
      }
      const boundary = entry('boundary', 'system', null, undefined, fields)
      yield boundary
      const summary = { role: 'user', content: body(6000) }
      const closing = entry('summary', 'user', boundary.uuid, summary, { isCompactSummary: true })
      yield closing
      parentUuid = closing.uuid
      answers.length = 0
    }
    // Every fifth line or so is a prompt.
    if (branchy && answers.length > 1 && random() < 0.09) parentUuid = answers.at(-2)
    const prompt = entry('prompt', 'user', parentUuid, { role: 'user', content: body(bodyLength(random)) })
    yield prompt
    parentUuid = prompt.uuid

    const calls = []
    const messageId = `msg_${turn}`
    const callCount = random() < 0.1 ? 2 : 1
    for (let nth = 0; nth < callCount; nth++) {
      const half = body(bodyLength(random) / 2)
      const nested = random() < 0.04 ? { uuid: seededUuid(random), parentUuid: seededUuid(random) } : {}
      const input = { file_path: `/home/user/app/src/file-${turn % 97}.ts`, old_string: half, ...nested }
      const use = {
        type: 'tool_use',
        id: `toolu_${turn}_${nth}`,
        name: 'Edit',
        input: { ...input, new_string: half },
      }
      const call = entry('call', 'assistant', parentUuid, answerOf(messageId, use))
      yield call
      calls.push({ call, use })
      parentUuid = call.uuid
    }
    for (const { call, use } of calls) {
      const huge = written() >= nextHuge
      if (huge) nextHuge += 10 * MEGABYTE
      // A third of it again beside the message: together about the length that was drawn.
      const text = body((huge ? MEGABYTE : bodyLength(random)) * 0.67)
      const content = [{ tool_use_id: use.id, type: 'tool_result', content: text }]
      const result = entry(
        'result',
        'user',
        call.uuid,
        { role: 'user', content },
        {
          toolUseResult: {
            filePath: use.input.file_path,
            content: text.slice(0, text.length / 2).toWellFormed(),
          },
          sourceToolAssistantUUID: call.uuid,
        },
      )
      yield result
      parentUuid = result.uuid
    }
    const answer = entry(
      'answer',
      'assistant',
      parentUuid,
      answerOf(`${messageId}_end`, { type: 'text', text: body(bodyLength(random)) }),
    )
    yield answer
    parentUuid = answer.uuid
    answers.push(answer.uuid)
    if (answers.length > 8) answers.shift()
  }
}

/** Lengths as found in real sessions: most short, a fifth of them 4 to 30 KB. Every line carries some 400 bytes more. */
function bodyLength(random) {
  const draw = random()
  const bytes =
    draw < 0.45
      ? logUniform(random, 300, 800)
      : draw < 0.8
        ? logUniform(random, 800, 4000)
        : logUniform(random, 4000, 30_000)
  return Math.floor(bytes)
}
