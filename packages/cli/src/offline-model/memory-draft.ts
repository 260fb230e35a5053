/** What SaveMemory is called with. */
export interface MemoryDraft {
  name: string
  description: string
  type: 'user' | 'feedback' | 'project' | 'reference'
  body: string
  scope: 'project' | 'user'
}

const EVERYWHERE =
  /[\s,，]*(?:\b(?:in|for|across)\s+all\s+(?:my\s+)?projects|\babout\s+me|在所有的?项目[中里]?)[.。]?$/iu
const ABOUT_USER =
  /^(?:i\s+am|i[’']m|my\s+name|call\s+me|i\s+(?:like|live|work|speak|study)|我是|我叫|我的名字|叫我|我喜欢|我住|我在)/iu
const HOW_TO_WORK =
  /^(?:always|never|use|prefer|avoid|don[’']?t|do\s+not|make\s+sure|please|i\s+prefer|总是|始终|永远|不要|别|请|必须|使用|用|优先|应该)|^(?:we|our|you|我们|咱们|你)(?:\b|(?=\p{Script=Han})).*(?:indent|tabs?\b|spaces?\b|format|commit|test|lint|style|review|always|never|prefer|should|must|缩进|空格|格式|提交|测试|风格|评审|总是|从不|不要|应该|必须)/isu
const STOP_WORDS = new Set(
  'a an am the that this we our us i my me you your it its is are was be to of in on at for with and or as do not by from has have'.split(
    ' ',
  ),
)
const SENTENCE_START = /^(?:we|i|the|our|my|a|an|always|never|use|do|don|this|it|in|on|at|all|to|you)\b/u

/** The memory to save for what someone wants remembered: type and name are guesses from its words. Pure. */
export function draftMemory(text: string, scope: 'project' | 'user'): MemoryDraft {
  const stripped = text.replace(EVERYWHERE, '').trim()
  const fact = stripped === '' ? text.trim() : stripped
  const description = fact.replaceAll(/\s+/gu, ' ').replace(/(?<=.)[.。]$/u, '')
  return {
    name: nameOf(description),
    description,
    type: typeOf(description),
    body: toSentence(fact),
    scope: scope === 'user' || stripped !== text.trim() ? 'user' : 'project',
  }
}

function typeOf(fact: string): MemoryDraft['type'] {
  if (/https?:\/\//iu.test(fact)) return 'reference'
  if (ABOUT_USER.test(fact)) return 'user'
  return HOW_TO_WORK.test(fact) ? 'feedback' : 'project'
}

/** Up to five telling words, or the first twelve characters of a text without blanks; never empty. */
function nameOf(fact: string): string {
  const plain = fact.replaceAll(/https?:\/\/\S+/giu, ' ')
  const words = (/[\p{L}\p{N}]/u.test(plain) ? plain : fact).toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const telling = words.filter((word) => !STOP_WORDS.has(word))
  const chosen = (telling.length > 0 ? telling : words)
    .slice(0, 5)
    .map((word) => Array.from(word).slice(0, 24).join(''))
  const name = chosen.join('-')
  const short = /\p{Script=Han}/u.test(name) ? Array.from(name).slice(0, 12).join('') : name
  return short.replace(/-+$/u, '') || 'note'
}

function toSentence(fact: string): string {
  const start = SENTENCE_START.test(fact) ? fact.charAt(0).toUpperCase() + fact.slice(1) : fact
  if (/[.!?。！？…:：`]$/u.test(start)) return start
  return start + (/\p{Script=Han}/u.test(start) ? '。' : '.')
}
