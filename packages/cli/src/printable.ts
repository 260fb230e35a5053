/**
 * Text that a terminal only shows: control characters, which could clear the screen or pass for other lines, become
 * visible ones (U+2400 and up, as `␛`). Line feeds and tabs stay. Pure.
 */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, (control) => {
    const code = control.charCodeAt(0)
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\uFFFD'
  })
}

// C0 without tab and line feed, DEL, C1, line and paragraph separators, and marks that turn the reading direction.
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/g

/** The same on one line: what others wrote into a title must not look like a line of ours. */
export function oneLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n\u2028\u2029]+\s*/g, ' '))
}
