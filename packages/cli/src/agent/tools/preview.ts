const MAX_LINES = 12

/** What a change takes away and puts there, for who is asked: a line each, `-` and `+` before it. Pure. */
export function previewOf(change: { removed?: string; added: string }): string[] {
  const { removed, added } = change
  return [...(removed === undefined ? [] : marked('-', removed)), ...marked('+', added)]
}

function marked(mark: string, text: string): string[] {
  const all = text.replace(/\n$/, '').split('\n')
  const rest = all.length - MAX_LINES
  const shown = all.slice(0, MAX_LINES).map((line) => `${mark} ${line}`)
  return rest > 0 ? [...shown, `${mark} … ${rest} lines more`] : shown
}
