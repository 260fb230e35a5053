import { mulberry32 } from './random.mjs'

const CODE =
  'const return await import function session entry parent tip branch if (value === null) { } => [index] "quoted" \'single\' C:\\path\\to for (const line of lines) async export class extends throw new Error message: string /* why */ && || ?? ... <T> 42 0x1f'.split(
    ' ',
  )
const OTHER =
  'résumé “quoted” — naïve 会話 保存 永続性 セッション разговор ветка запись جلسة محادثة سجل 🚀 👩‍💻 ✅ 한국어 größer'.split(
    ' ',
  )

/**
 * A source of bodies as transcripts hold them: code-like words in lines of about 60 characters with tabs, literal
 * quotes and backslashes; 15 % of them mixed with other scripts and emoji. Escapes and characters of several bytes are
 * what makes real lines slow to parse.
 *
 * @returns a function from a length in characters to a text of about that length, well-formed
 */
export function bodySource(seed) {
  const random = mulberry32(seed)
  const plain = linesOf(random, CODE, 4096)
  const mixed = linesOf(random, [...CODE, ...OTHER, ...OTHER], 4096)
  return (length) => {
    const lines = random() < 0.15 ? mixed : plain
    let at = Math.floor(random() * lines.length)
    const out = []
    for (let left = length; left > 0; at = (at + 1) % lines.length) {
      const line = lines[at]
      out.push(line.length <= left ? line : line.slice(0, left).toWellFormed())
      left -= line.length
    }
    return out.join('')
  }
}

function linesOf(random, words, count) {
  return Array.from({ length: count }, () => {
    let line = random() < 0.5 ? '\t' : '    '
    while (line.length < 60) line += `${words[Math.floor(random() * words.length)]} `
    return `${line}\n`
  })
}
