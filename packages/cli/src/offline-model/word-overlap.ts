const EMPTY_ENGLISH = new Set(
  'a an the that this these those we our us i my me mine you your it its is are was were be been am to of in on at for with and or as do does did done by from has have had what which who whom whose where when why how many much can could should would will tell about say said know remember please there here so if not no any some get got use uses used using like want file s t re ve'.split(
    ' ',
  ),
)
const EMPTY_CHINESE =
  /什么|多少|怎么|怎样|如何|为什么|哪里|哪儿|哪个|哪些|哪|谁|我们|咱们|你们|我|你|请问|告诉|记得|知道|一下|是不是|有没有|应该|使用|[的了是吗呢啊吧用在有和与把到几个]/gu
const SUFFIX = /(?:ations?|ments?|ings?|ions?|ers?|ed|es|ly|s|e)$/u

/** What a text is about: stems of its telling words, and pairs of neighbouring Han characters. Pure. */
export function topicsOf(text: string): string[] {
  const words = (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).flatMap(
    (word) => word.match(/\p{Script=Han}+|[^\p{Script=Han}]+/gu) ?? [],
  )
  const topics = words.flatMap((word) =>
    /\p{Script=Han}/u.test(word) ? pairsOf(word) : EMPTY_ENGLISH.has(word) ? [] : [stemOf(word)],
  )
  return [...new Set(topics)]
}

/** How much of what is asked a statement speaks of, from 0 to 1. */
export function overlap(asked: readonly string[], stated: readonly string[]): number {
  if (asked.length === 0) return 0
  const exact = new Set(stated)
  const shared = asked.filter((topic) => exact.has(topic) || stated.some((other) => isKin(topic, other)))
  return shared.length / asked.length
}

function pairsOf(run: string): string[] {
  return run
    .replace(EMPTY_CHINESE, ' ')
    .split(' ')
    .flatMap((part) => {
      const characters = Array.from(part)
      if (characters.length < 2) return characters
      return characters.slice(1).map((character, n) => `${characters[n] ?? ''}${character}`)
    })
}

function stemOf(word: string): string {
  const stems = [word.replace(SUFFIX, ''), word.replace(/s$/u, '')]
  return stems.find((stem) => stem.length >= 3) ?? word
}

/** Words of one family: they begin with the same five letters or more, and with most of the shorter one. */
function isKin(left: string, right: string): boolean {
  const shorter = Math.min(left.length, right.length)
  if (shorter < 5 || left.charCodeAt(0) !== right.charCodeAt(0)) return false
  let shared = 0
  while (shared < shorter && left.charCodeAt(shared) === right.charCodeAt(shared)) shared += 1
  return shared >= 5 && shared >= shorter * 0.8
}
