/**
 * What makes one text of another where they have too little in common to look for it: all lines of the one go, all of
 * the other come. `null`: the file is absent. `from` and `to` are the names on both sides, as they stand in a patch;
 * one of them for texts that are told in lines at all. Pure.
 */
export function wholePatch(
  from: string,
  to: string,
  { before, after }: { before: Uint8Array | null; after: Uint8Array | null },
): string {
  const [old, now] = [linesOf(before), linesOf(after)]
  const names = `--- ${before === null ? '/dev/null' : named(from)}\n+++ ${after === null ? '/dev/null' : named(to)}\n`
  return `${names}@@ -${range(old)} +${range(now)} @@\n${told('-', old)}${told('+', now)}`
}

/** Each with its line feed, which the last may lack. */
function linesOf(bytes: Uint8Array | null): string[] {
  const text = bytes === null ? '' : Buffer.from(bytes).toString('utf8')
  return text === '' ? [] : text.split(/(?<=\n)/)
}

function range({ length }: readonly string[]): string {
  return `${length === 0 ? 0 : 1},${length}`
}

function told(sign: '-' | '+', lines: readonly string[]): string {
  const text = lines.map((line) => `${sign}${line}`).join('')
  return text === '' || text.endsWith('\n') ? text : `${text}\n\\ No newline at end of file\n`
}

/** A tab ends a name that holds spaces, as git writes it. */
function named(name: string): string {
  return name.includes(' ') ? `${name}\t` : name
}
