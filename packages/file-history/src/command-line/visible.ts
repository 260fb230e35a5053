// Control characters, line and paragraph separators, and marks that turn the reading direction.
const CONTROLS = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

/**
 * Text on one line that a terminal only shows: what could clear the screen, or pass for a line of ours, is written as
 * an escape, such as `\n` or `\u001b`. Pure.
 */
export function oneLine(text: string): string {
  return text.replaceAll(CONTROLS, escapeOf)
}

/** The same for text of many lines: line feeds and tabs stay. Pure. */
export function visible(text: string): string {
  return text.replaceAll(CONTROLS, (one) => (one === '\n' || one === '\t' ? one : escapeOf(one)))
}

function escapeOf(character: string): string {
  if (character === '\n') return String.raw`\n`
  if (character === '\r') return String.raw`\r`
  if (character === '\t') return String.raw`\t`
  return String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
