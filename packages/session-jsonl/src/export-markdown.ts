import { sizeOf } from './export-document.ts'
import type { DocumentEntry, DocumentPart, SessionDocument } from './export-document.ts'

/**
 * A conversation as Markdown (CommonMark), piece by piece. What was said is quoted (`> `), so that no heading or fence
 * in it can pass for one of the page or swallow what follows; HTML in it shows as text. Calls and results are fenced,
 * by a fence longer than any inside. Pure.
 */
export function* renderMarkdown(page: SessionDocument): Generator<string> {
  const facts = page.facts.map(([name, value]) => `- ${name}: ${inline(value)}\n`)
  yield `# ${inline(page.title)}\n\n${facts.join('')}`
  for (const entry of page.entries) yield renderEntry(entry)
  if (page.damage.length > 0)
    yield `\n## Damage in the file\n\n${page.damage.map((line) => `- ${inline(line)}\n`).join('')}`
}

function renderEntry({ speaker, time, parts }: DocumentEntry): string {
  const heading = time === '' ? speaker : `${speaker} · ${inline(time)}`
  const [first] = parts
  // What is no message takes a line, not a chapter.
  if ((speaker === 'Attachment' || speaker === 'System') && first?.kind === 'note')
    return `\n*${heading}:* ${inline(first.text)}\n`
  return `\n## ${heading}\n${parts.map((part) => `\n${renderPart(part)}\n`).join('')}`
}

function renderPart(part: DocumentPart): string {
  switch (part.kind) {
    case 'prose':
      return quoted(part.text)
    case 'thinking':
      return `<details><summary>Thinking</summary>\n\n${quoted(part.text)}\n\n</details>`
    case 'code':
      return `**${inline(part.label)}**\n\n${fenced(part.text)}`
    case 'image':
      return `*image (${inline(part.mediaType)}, ${sizeOf(part.base64)} bytes)*`
    default:
      return `*${inline(part.text)}*`
  }
}

/** A text on one line in which nothing is markup. */
function inline(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.replaceAll(/[\\`*_{}[\]<>#|~&!]/g, String.raw`\$&`)
}

/** A text between fences longer than any run of backticks in it. */
function fenced(text: string, language = ''): string {
  const longest = text.match(/`+/g)?.reduce((most, run) => Math.max(most, run.length), 2) ?? 2
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`
}

/**
 * Markdown as quotations, one for each stretch of prose and each block of code, so that what one leaves open ends with
 * it. In prose no `<` begins HTML, which could hide what follows.
 */
function quoted(text: string): string {
  const blocks: string[] = []
  let prose: string[] = []
  let code: { fence: string; language: string; lines: string[] } | undefined
  const endProse = (): void => {
    const said = prose.join('\n').trimEnd()
    if (said !== '') blocks.push(said.replaceAll(/<(?=[A-Za-z/!?])/g, '&lt;'))
    prose = []
  }
  const endCode = (): void => {
    if (code) blocks.push(fenced(code.lines.join('\n'), code.language))
    code = undefined
  }
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (code && isFenceEnd(line, code.fence)) endCode()
    else if (code) code.lines.push(line)
    else {
      const [, fence, language = ''] = /^(`{3,}|~{3,})([^`]*)$/.exec(line) ?? []
      if (fence === undefined) prose.push(line)
      else {
        endProse()
        code = { fence, language, lines: [] }
      }
    }
  }
  endProse()
  endCode()
  return blocks.map((block) => block.replaceAll(/^/gm, '> ')).join('\n\n')
}

function isFenceEnd(line: string, fence: string): boolean {
  const bare = line.trim()
  return bare.startsWith(fence) && bare === fence.charAt(0).repeat(bare.length)
}
