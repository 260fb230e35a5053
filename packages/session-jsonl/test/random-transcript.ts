import * as fc from 'fast-check'
import { SID, stampOf } from './lines.ts'
import type { Line } from './lines.ts'
import { readReference } from './reference-chain.ts'
import { anyStep, style } from './random-steps.ts'
import type { Call, Step, Style } from './random-steps.ts'
import { recordKinds } from './record-kinds.ts'

/**
 * Random healthy transcripts, as the client and we write them: turns with thinking, text and tools called at once whose
 * results come in any order, notes between them, interrupted turns, rewinds (said and unsaid), branches that are gone
 * back to, compactions that keep messages, subagents' lines, replaced results, every kind of record, lines of unknown
 * kinds in the chain, beginnings as forks leave them. `verifySession` has nothing to say about any of them.
 *
 * They shrink: a failing case ends with the fewest and plainest steps. `damaged-transcript.ts` spoils them.
 */
export interface RandomTranscript {
  /** The lines in file order. */
  readonly lines: readonly Line[]
  /** What was done, for the message of a failure. */
  readonly steps: readonly Step[]
}

/**
 * Any healthy transcript.
 *
 * @param options.maxSteps default 12; a step is up to about twenty lines
 * @param options.padBytes how much longer a line of the conversation is made; default: mostly not at all
 */
export function healthyTranscript(
  options: { maxSteps?: number; padBytes?: fc.Arbitrary<number> } = {},
): fc.Arbitrary<RandomTranscript> {
  const { maxSteps = 12, padBytes = fc.constantFrom(0, 0, 0, 0, 700) } = options
  const steps = fc.array(fc.tuple(anyStep, padBytes), { maxLength: maxSteps })
  return fc.tuple(style, steps).map(([how, done]) => {
    const builder = new Builder(how)
    for (const [action, pad] of done) builder.take(action, pad)
    return { lines: builder.finish(), steps: done.map(([action]) => action) }
  })
}

class Builder {
  readonly #style: Style
  readonly #lines: Line[] = []
  #tip: string | null = null
  #names = 0
  #pad = 0

  constructor(how: Style) {
    this.#style = how
    const begin: Partial<Record<Style['origin'], Line[]>> = {
      client: [{ type: 'queue-operation', operation: 'enqueue', timestamp: stampOf(0), sessionId: SID }],
      fork: [
        { type: 'forked-from', sessionId: SID, sourceSessionId: 'source', upTo: 'gone' },
        { type: 'custom-title', customTitle: 'Fork', sessionId: SID },
      ],
      'client fork': [{ type: 'mode', mode: 'default', sessionId: SID }],
    }
    this.#lines.push(...(begin[how.origin] ?? []))
  }

  finish(): readonly Line[] {
    return this.#lines
  }

  take(action: Step, pad: number): void {
    this.#pad = pad
    switch (action.do) {
      case 'turn':
        this.#turn(action)
        break
      case 'interrupt':
        this.#prompt(action.said)
        this.#message(
          [...action.calls.entries()].map(([place, one]) => ({ ...one, isOpen: place >= action.finished })),
          false,
        )
        break
      case 'rewind':
        this.#say({ type: 'last-prompt', lastPrompt: '', leafUuid: this.#pick(action.at), explicit: true })
        break
      case 'begin again':
        this.#say({ type: 'last-prompt', lastPrompt: '', leafUuid: null, explicit: true })
        break
      case 'branch':
        this.#tip = this.#pick(action.at)
        this.#prompt('another way')
        break
      case 'go back':
        this.#say({ type: 'last-prompt', lastPrompt: 'x', leafUuid: this.#pick(action.at) })
        break
      case 'compact':
        this.#compact(action.keep, action.form)
        break
      case 'subagent':
        this.#subagent(this.#pick(action.at), action.length)
        break
      case 'replace':
        this.#replace(action.at)
        break
      case 'record':
        this.#record(action.kind)
        break
      case 'progress':
        this.#progress(action.inChain)
        break
    }
  }

  #turn({ said: text, rounds, thinking, notes, closes }: Extract<Step, { do: 'turn' }>): void {
    for (let note = 0; note < notes; note += 1)
      this.#follow('attachment', { attachment: { type: 'date', date: text } })
    const prompt = this.#prompt(text)
    this.#lines.push(recordKinds.snapshot(prompt))
    for (const round of rounds)
      this.#message(
        round.map((one) => ({ ...one, isOpen: false })),
        thinking,
      )
    this.#message([], thinking)
    if (closes) this.#say({ type: 'last-prompt', lastPrompt: text, leafUuid: this.#tip })
  }

  #prompt(text: string): string {
    return this.#follow('user', {
      message: { role: 'user', content: text },
      promptId: `prompt-${this.#names}`,
    })
  }

  /** One message of the model, a line a block, and the results of its calls, each behind its own call. */
  #message(made: readonly (Call & { isOpen: boolean })[], thinking: boolean): void {
    const id = `msg_${this.#lines.length}`
    const results: { one: Call; toolUseId: string; caller: string }[] = []
    let index = 0
    const block = (content: Line): string => {
      const message = { id, role: 'assistant', content: [content] }
      index += 1
      return this.#follow('assistant', { message, apiBlockIndex: index - 1, requestId: `req_${id}` })
    }
    if (thinking) block({ type: 'thinking', thinking: 'hm', signature: 'c2ln' })
    if (made.length === 0) block({ type: 'text', text: `said ${id}` })
    for (const one of made) {
      const toolUseId = `toolu_${this.#lines.length}`
      const input = one.decoy
        ? {
            type: 'user',
            uuid: this.#pick(one.order),
            parentUuid: null,
            sessionId: SID,
            message: { role: 'user' },
          }
        : { command: 'ls' }
      const caller = block({ type: 'tool_use', id: toolUseId, name: 'Bash', input })
      if (one.isOpen) continue
      if (one.early) this.#result({ one, toolUseId, caller }, 'beside')
      else results.push({ one, toolUseId, caller })
    }
    for (const result of results.toSorted((a, b) => a.one.order - b.one.order))
      this.#result(result, 'the tip')
  }

  #result(
    { one, toolUseId, caller }: { one: Call; toolUseId: string; caller: string },
    becomes: 'the tip' | 'beside',
  ): void {
    const before = this.#tip
    this.#tip = caller
    if (one.note === 'before') this.#follow('attachment', { attachment: { type: 'hook' } })
    const content =
      one.result === 'blocks' ? [{ type: 'text', text: `result of ${toolUseId}` }] : `result of ${toolUseId}`
    const block = {
      type: 'tool_result',
      tool_use_id: toolUseId,
      content,
      ...(one.result === 'error' ? { is_error: true } : {}),
    }
    const result = this.#follow('user', {
      message: { role: 'user', content: [block] },
      toolUseResult: one.result === 'error' ? 'Error: failed' : { stdout: content },
      sourceToolAssistantUUID: caller,
    })
    if (one.note === 'after') this.#follow('attachment', { attachment: { type: 'hook' } })
    this.#tip = becomes === 'the tip' ? result : before
  }

  #compact(keep: number, form: 'messages' | 'segment' | 'none'): void {
    const closed = this.#tip
    const uuids = readReference(this.#lines).chain(closed).slice(-keep)
    const summary = this.#name()
    const kept = keep === 0 || uuids.length === 0 ? 'none' : form
    this.#tip = null
    const boundary = this.#follow('system', {
      subtype: 'compact_boundary',
      content: 'Compacted',
      logicalParentUuid: closed,
      compactMetadata: {
        trigger: 'manual',
        preTokens: 1000,
        ...(kept === 'none'
          ? {}
          : { preservedSegment: { headUuid: uuids[0], anchorUuid: summary, tailUuid: uuids.at(-1) } }),
        ...(kept === 'messages'
          ? { preservedMessages: { anchorUuid: summary, uuids, allUuids: uuids } }
          : {}),
      },
    })
    this.#write('user', summary, boundary, {
      message: { role: 'user', content: 'What was said so far.' },
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
    })
    this.#tip = summary
  }

  #subagent(from: string | null, length: number): void {
    let parent = from
    for (let line = 0; line < length; line += 1) {
      const uuid = this.#name()
      const type = line % 2 === 0 ? 'user' : 'assistant'
      this.#write(type, uuid, parent, {
        message: { role: type, content: [{ type: 'text', text: 'aside' }] },
        isSidechain: true,
        agentId: 'a0123456789abcdef',
        timestamp: '2030-01-01T00:00:00.000Z',
      })
      parent = uuid
    }
  }

  #replace(place: number): void {
    const found = this.#lines.flatMap((line) => {
      const content: unknown = (line['message'] as Line | undefined)?.['content']
      return Array.isArray(content) ? (content as Line[]).filter(({ type }) => type === 'tool_use') : []
    })
    const toolUseId = found[place % Math.max(1, found.length)]?.['id']
    if (typeof toolUseId === 'string') this.#lines.push(recordKinds.replacement(toolUseId, this.#name()))
  }

  #record(kind: number): void {
    const all = recordKinds.others()
    const record = all[kind % all.length]
    if (record) this.#lines.push(record)
  }

  #progress(inChain: boolean): void {
    const before = this.#tip
    const uuid = this.#follow('progress', { data: { type: 'hook_progress' } })
    this.#tip = inChain ? uuid : before
  }

  /** Says where the conversation stands, and goes on from where a reader then would. */
  #say(record: Line): void {
    this.#lines.push({ ...record, sessionId: SID })
    this.#tip = readReference(this.#lines).tip
  }

  /** Any line of the conversation itself. */
  #pick(place: number): string | null {
    const { main } = readReference(this.#lines)
    return main[place % Math.max(1, main.length)] ?? null
  }

  #follow(type: string, fields: Line): string {
    const uuid = this.#name()
    this.#write(type, uuid, this.#tip, fields)
    this.#tip = uuid
    return uuid
  }

  #write(type: string, uuid: string, parentUuid: string | null, fields: Line): void {
    const { origin, keys } = this.#style
    const place = this.#lines.length
    const common = {
      sessionId: SID,
      timestamp: stampOf(place),
      ...(this.#pad > 0 ? { pad: 'p'.repeat(this.#pad) } : {}),
      ...(origin === 'SDK fork' ? { forkedFrom: { sessionId: 'source', messageUuid: `old-${uuid}` } } : {}),
      ...(origin === 'client fork' && type === 'assistant' ? { requestSessionId: 'source' } : {}),
    }
    const ours = keys === 'ours' || (keys === 'mixed' && place % 2 === 0)
    this.#lines.push(
      ours
        ? { type, uuid, parentUuid, ...common, isSidechain: false, ...fields }
        : { parentUuid, isSidechain: false, ...fields, type, uuid, ...common, ...fields },
    )
  }

  #name(): string {
    this.#names += 1
    const number = String(this.#names)
    if (this.#style.names === 'short') return `u${number}`
    if (this.#style.names === 'odd') return `ü"\\${number}`
    return `00000000-0000-4000-8000-${number.padStart(12, '0')}`
  }
}
