/** At most so many UTF-16 units of a text, never with half a character at the end. Pure. */
export function cutText(text: string, units: number): string {
  return text.length <= units ? text : text.slice(0, units).replace(/[\uD800-\uDBFF]$/, '')
}
