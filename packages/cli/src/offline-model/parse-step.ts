import { CHINESE, CHINESE_MANNERS, CHINESE_QUESTION } from './chinese.ts'
import { ENGLISH, ENGLISH_MANNERS, ENGLISH_QUESTION } from './english.ts'
import { toArgument, unmask } from './mask-quotes.ts'
import type { MaskedText } from './mask-quotes.ts'
import type { Language, Match, ParsedStep, Rule } from './step.ts'

type Spans = MaskedText['spans']

/** Names without a dot or a slash that are still taken for files when they are not quoted. */
const KNOWN_FILE = /^(?:makefile|dockerfile|readme|license|changelog|todo|notes)$/iu
/** What may stand after a request that ends in a name, and is no part of it. */
const CLOSING_MANNERS = /(?:[\s,，]*(?:\bplease|\bthanks|\bthank\s+you|谢谢|好吗))?[\s.。!！?？吗]*$/iu

/**
 * UTF-16 units of a piece, quoted spans counting as a few, up to which all rules are tried. Beyond, it is a request only
 * if it ends in free text; the other patterns would need time that grows with the square of its length.
 */
const MAX_SHORT = 4000

/** The language of a piece: Chinese if a Han character stands outside its quotes. */
export function languageOf(piece: string): Language {
  return /\p{Script=Han}/u.test(piece) ? 'zh' : 'en'
}

/** What a piece of a masked prompt asks for; `undefined` if no rule fits. Pure. */
export function parseStep(piece: string, spans: Spans): ParsedStep | undefined {
  const whole = piece.trim()
  const request = whole.replace(ENGLISH_MANNERS, '').replace(CHINESE_MANNERS, '')
  const politeQuestion = /^(?:can|could|would|will) you\b|^(?:请问)?你?(?:能|可以|可不可以)/iu.test(whole)
  const closed = request.slice(0, -40) + request.slice(-40).replace(CLOSING_MANNERS, '')
  // Free text keeps its full stop; only "could you …?" owns its question mark.
  const open = politeQuestion ? request.replace(/[?？吗]+$/u, '') : request
  const asIs = applyRules(open, spans)
  if (asIs !== undefined) return asIs
  const tidied = applyRules(closed, spans)
  return tidied === undefined || tidied.open ? question(whole, spans) : tidied
}

function question(piece: string, spans: Spans): ParsedStep | undefined {
  const language = languageOf(piece)
  const isQuestion = ENGLISH_QUESTION.test(piece) || (language === 'zh' && CHINESE_QUESTION.test(piece))
  if (!isQuestion) return undefined
  return { step: { kind: 'ask', question: unmask(piece, spans) }, language, open: true }
}

function applyRules(piece: string, spans: Spans): ParsedStep | undefined {
  return tryRules(ENGLISH, 'en', piece, spans) ?? tryRules(CHINESE, 'zh', piece, spans)
}

function tryRules(
  rules: readonly Rule[],
  language: Language,
  piece: string,
  spans: Spans,
): ParsedStep | undefined {
  for (const rule of rules) {
    if (rule.tail === undefined && piece.length > MAX_SHORT) continue
    const found = rule.pattern.exec(piece)
    if (found === null) continue
    const match = matchOf(found.groups ?? {}, spans)
    const step = rule.step(match)
    if (step === undefined) continue
    const open =
      rule.tail !== undefined && !match.quoted(rule.tail) && (match.has(rule.tail) || match.has('none'))
    return { step, language, open }
  }
  return undefined
}

function matchOf(groups: Readonly<Record<string, string | undefined>>, spans: Spans): Match {
  const argument = (group: string): ReturnType<typeof toArgument> => toArgument(groups[group] ?? '', spans)
  const has = (group: string): boolean => groups[group] !== undefined
  return {
    has,
    text: (group) => argument(group).value,
    quoted: (group) => argument(group).quoted,
    command: (group) => {
      const { verbatim, quoted } = argument(group)
      return quoted ? verbatim.replace(/\\(["`])/gu, '$1') : verbatim
    },
    path: () => {
      const prefix = ['', 'in_', 'says_'].find((name) => has(`${name}file`)) ?? ''
      return pathOf(argument(`${prefix}file`), has(`${prefix}word`))
    },
  }
}

function pathOf({ value, quoted }: ReturnType<typeof toArgument>, named: boolean): string | undefined {
  const path = quoted ? value : value.replace(/[.,:!?。，！？]+$/u, '')
  if (path === '' || path.includes('\0')) return undefined
  return quoted || named || /[./]/u.test(path) || KNOWN_FILE.test(path) ? path : undefined
}
