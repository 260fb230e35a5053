import type { Conversation, Outcome } from './conversation.ts'
import type { ParsedPrompt } from './parse-prompt.ts'
import { callsOf, planStep } from './plan-step.ts'
import type { Call } from './plan-step.ts'
import { phrasesIn } from './phrases.ts'
import { statementsOf } from './recall.ts'
import { firstLine } from './show-text.ts'
import type { Step } from './step.ts'

/** What comes next: a call, said before it what it is for, or the end. */
export type Next = { text: string; call: Call } | { text: string }

/** Calls for one prompt; what needs more is not begun. */
const MAX_CALLS = 11

/**
 * What comes next for a prompt, given what has been done for it. Pure. The calls so far are matched to the steps by
 * the names of their tools, in order, so that a call is never made twice for one step, whatever its input has become.
 */
export function nextStep(prompt: ParsedPrompt, conversation: Conversation): Next {
  const phrases = phrasesIn(prompt.language)
  const steps = prompt.steps.map(({ step }) => step)
  if (prompt.unknown.length > 0) return { text: phrases.notUnderstood(prompt.unknown) }
  if (steps.length === 0) return { text: phrases.noPrompt }
  if (steps.reduce((sum, step) => sum + callsOf(step), 0) > MAX_CALLS)
    return { text: phrases.tooMuch(MAX_CALLS) }

  const { earlier, done, tools } = conversation
  const date = earlier.findLast((item) => item.kind === 'context' && item.name === 'date')
  const said: string[] = []
  let used = 0
  for (const [position, step] of steps.entries()) {
    const rest = steps.slice(position + 1)
    const stop = (reason: string): Next => ({
      text: [...said, phrases.failed(step, reason), ...(rest.length > 0 ? [phrases.notDone(rest)] : [])].join(
        '\n\n',
      ),
    })
    const plan = planStep(step, {
      phrases,
      statements: statementsOf(earlier, done.slice(0, used), prompt.material),
      date: date?.kind === 'context' ? date.text : undefined,
      canSearch: tools.has('SearchMemory'),
    })
    const missing = plan.stages.find(({ tool }) => !tools.has(tool))
    if (missing !== undefined) return stop(phrases.notOffered(missing.tool))
    const outcomes: Outcome[] = []
    for (const stage of plan.stages) {
      const next = stage.next(outcomes)
      if ('reason' in next) return stop(next.reason)
      const at = done.findIndex(({ name }, n) => n >= used && name === stage.tool)
      const outcome = done[at]
      if (outcome === undefined) {
        const text = outcomes.length === 0 ? [phrases.doing(step)] : []
        return { text: text.join(''), call: { name: stage.tool, input: next.input } }
      }
      used = at + 1
      if (outcome.isError && stage.tolerates?.(outcome) !== true)
        return stop(reasonOf(outcome) || phrases.noResult)
      outcomes.push(outcome)
    }
    said.push(plan.say(outcomes))
  }
  const usesMaterial = steps.some(({ kind }) => kind === 'ask')
  if (prompt.material !== '' && !usesMaterial) said.push(phrases.materialIgnored)
  return { text: said.join(steps.every(isShort) ? '\n' : '\n\n') }
}

/** The first line of an error; a command says its exit code in the last. */
function reasonOf({ text }: Outcome): string {
  const lines = text.trim().split('\n')
  const last = lines.at(-1) ?? ''
  const end = lines.length > 1 && last.startsWith('[') ? ` ${firstLine(last)}` : ''
  return firstLine(text) + end
}

function isShort({ kind }: Step): boolean {
  return ['create', 'replace', 'append', 'delete', 'remember'].includes(kind)
}
