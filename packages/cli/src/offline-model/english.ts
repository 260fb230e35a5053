import { QUOTED } from './mask-quotes.ts'
import type { Rule } from './step.ts'

const FILE = String.raw`(?:the\s+)?(?:(?:new\s+|empty\s+)*(?<word>file)\s+)?(?:(?:called|named)\s+)?(?<file>${QUOTED}|[^\s\uE000\uE001]+)`
/** What may stand before a quoted piece of a text. */
const PIECE = String.raw`(?:the\s+(?:line|text|words?|string)\s+(?=\uE000))?`
const rule = (pattern: string, step: Rule['step'], tail?: string): Rule => ({
  pattern: new RegExp(`^(?:${pattern})$`, 'isu'),
  step,
  ...(tail === undefined ? {} : { tail }),
})

/** Words before a request that change nothing in it. */
export const ENGLISH_MANNERS: RegExp =
  /^(?:(?:please|pls|kindly|now|first|also|and|then|next|finally|ok|okay|so|hey|loci|let's|can you|could you|would you|will you|i want you to|i would like you to|i'd like you to|i need you to)(?:\s*[,:]\s*|\s+))+/iu

/** What English requests look like, most particular first. */
export const ENGLISH: readonly Rule[] = [
  rule(
    String.raw`(?:hello|hi|hey|hiya|good\s+(?:morning|afternoon|evening)|who\s+are\s+you|what\s+are\s+you)(?:\s+(?:there|loci))?\s*[?!.]*`,
    () => ({ kind: 'greet' }),
  ),
  rule(String.raw`(?:thanks|thank\s+you|thx|cheers)[\w\s]{0,40}[!.]*`, () => ({ kind: 'thanks' })),
  rule(
    String.raw`(?:help(?:\s+me)?|what\s+can\s+(?:you|i)\s+(?:do|ask|say)(?:\s+here)?|how\s+do(?:es)?\s+(?:you|this|it)\s+work)\s*[?!.]*`,
    () => ({ kind: 'help' }),
  ),
  rule(
    String.raw`(?:what|which)\s+(?:do|did|have)\s+you\s+(?:still\s+)?(?:remember(?:ed)?|know|memori[sz]ed?|saved?)(?:\s+so\s+far)?\s*[?.]*|(?:list|show)\s+(?:me\s+)?(?:all\s+)?(?:your\s+|the\s+|my\s+)?memor(?:y|ies)`,
    () => ({ kind: 'list-memory' }),
  ),
  rule(
    String.raw`(?:tell\s+me\s+)?(?:what(?:'s|’s|\s+is)?\s+(?:the\s+|today's\s+|today’s\s+)?(?:current\s+)?(?:date|day|weekday)(?:\s+(?:is\s+it|is\s+today|is\s+it\s+today|today|now))*|what(?:'s|’s|\s+is)\s+today|which\s+(?:day|date)\s+is\s+(?:it|today)(?:\s+today)?|today's\s+date)\s*[?.]*`,
    () => ({ kind: 'ask-date' }),
  ),
  rule(String.raw`forget\b.*`, () => ({ kind: 'forget' })),
  rule(
    String.raw`(?:remember|memori[sz]e|keep\s+in\s+mind|(?:make\s+a\s+|take\s+a?\s*)?note(?:\s+down)?(?=\s*[:,]|\s+that\b|\s+(?:in|for|across)\s+all\s+projects))(?:\s*[,:]\s*|\s+)(?:(?<all>(?:in|for|across)\s+all\s+(?:my\s+)?projects|about\s+me)\s*[,:]?\s*)?(?:that\s+)?(?<text>.*[^?？\s])`,
    (match) => ({ kind: 'remember', text: match.text('text'), scope: match.has('all') ? 'user' : 'project' }),
    'text',
  ),
  rule(
    String.raw`(?:create|write|overwrite|make|generate|add)\s+(?:an?\s+)?${FILE}(?:\s+file)?,?(?:(?:\s+and\s+\w+\s+it)?\s+(?:with|containing|that\s+(?:says|contains|reads)|saying)(?:\s+(?:the\s+)?(?:contents?|text)\b)?\s*:?(?:\s+(?<text>.*)|(?<none>)))?`,
    (match) => {
      const file = match.path()
      return file === undefined ? undefined : { kind: 'create', file, content: match.text('text') }
    },
    'text',
  ),
  rule(String.raw`(?:write|save|put)\s+(?:the\s+text\s+)?(?<text>.+)\s+(?:to|into|in)\s+${FILE}`, (match) => {
    const file = match.path()
    return file === undefined ? undefined : { kind: 'create', file, content: match.text('text') }
  }),
  rule(
    String.raw`(?:replace|change|substitute)\s+(?:(?<all>all\s+(?:occurrences\s+of\s+)?|every\s+(?:occurrence\s+of\s+)?)|from\s+)?${PIECE}(?<from>.+?)\s+(?:with|by|to|into)\s+(?<to>.+?)(?<every>\s+everywhere)?\s+in\s+${FILE}(?<last>,?\s+(?:everywhere|all))?`,
    replacement,
  ),
  rule(
    String.raw`(?:replace|change|substitute)\s+(?<all>all\s+(?:occurrences\s+of\s+)?|every\s+(?:occurrence\s+of\s+)?)?${PIECE}(?<from>.+?)\s+in\s+${FILE}\s+(?:with|by|to|into)\s+(?<to>.+?)(?<every>\s+everywhere)?`,
    replacement,
    'to',
  ),
  rule(
    String.raw`in\s+${FILE},?\s+(?:replace|change|substitute)\s+(?<all>all\s+(?:occurrences\s+of\s+)?|every\s+(?:occurrence\s+of\s+)?)?${PIECE}(?<from>.+?)\s+(?:with|by|to|into)\s+(?<to>.+?)(?<every>\s+everywhere)?`,
    replacement,
    'to',
  ),
  rule(String.raw`(?:append|add)\s+to\s+(?:the\s+end\s+of\s+)?${FILE}\s*:?\s+(?<text>.+)`, addition, 'text'),
  rule(
    String.raw`(?:append|add)\s+(?:(?:the|a)\s+(?:new\s+)?(?:line|text|words?)\s+(?:(?:saying|reading|with|that\s+says)\s+)?)?(?<text>.+)\s+(?:to|at)\s+(?:the\s+(?:end|bottom)\s+of\s+)?${FILE}`,
    addition,
  ),
  rule(String.raw`(?:delete|remove|erase)\s+${FILE}`, (match) => {
    const file = match.path()
    return file === undefined ? undefined : { kind: 'delete', file }
  }),
  rule(
    String.raw`(?:read|show|print|cat|open|display|view)\s+(?:me\s+)?(?:(?:the\s+)?(?:contents?|text)\s+of\s+)?${FILE}|what(?:'s|’s|\s+is)\s+in\s+${FILE.replaceAll('?<', '?<in_')}|what\s+does\s+${FILE.replaceAll('?<', '?<says_')}\s+(?:say|contain|hold)`,
    (match) => {
      const file = match.path()
      return file === undefined ? undefined : { kind: 'read', file }
    },
  ),
  rule(
    String.raw`(?:run|execute)(?:\s+(?:the\s+)?command\b)?(?:\s*:\s*|\s+)(?!(?:the|an?|all|your|my|our)\s)(?<command>.+)`,
    (match) => {
      const command = match.command('command').trim()
      return command === '' ? undefined : { kind: 'run', command }
    },
    'command',
  ),
]

/** Whether a piece that is no request is a question. */
export const ENGLISH_QUESTION: RegExp =
  /[?？]\s*$|^(?:what|which|who|whose|where|when|why|how|tell\s+me|do\s+you\s+(?:know|remember))\b/iu

function replacement(match: Parameters<Rule['step']>[0]): ReturnType<Rule['step']> {
  const file = match.path()
  if (file === undefined || match.text('from') === '') return undefined
  const everywhere = match.has('all') || match.has('every') || match.has('last')
  return { kind: 'replace', file, from: match.text('from'), to: match.text('to'), everywhere }
}

function addition(match: Parameters<Rule['step']>[0]): ReturnType<Rule['step']> {
  const file = match.path()
  return file === undefined ? undefined : { kind: 'append', file, text: match.text('text') }
}
