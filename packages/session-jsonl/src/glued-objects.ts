import { matchingBrace, scanObject, skipBlanks, skipBlanksBack } from './scan-json.ts'

/** A stretch of a text. */
export interface Span {
  start: number
  end: number
}

/**
 * The objects that stand whole at the beginning and at the end of a broken line: what a crash and the appends around it
 * leave is a record with another one's stub behind it, or a stub with records behind that. What lies between is not
 * looked into, since an object there may as well be a value inside the stub.
 *
 * Each character is looked at a bounded number of times: forwards until an object is not whole, backwards until none
 * ends there, and once by `isWhole` for each object found.
 *
 * @param text latin1, so that positions are byte offsets
 * @param isWhole whether the stretch, whose brackets match, is JSON
 * @returns `looked`: how many characters were looked at
 */
export function gluedObjects(
  text: string,
  from: number,
  to: number,
  isWhole: (span: Span) => boolean,
): { leading: Span[]; trailing: Span[]; looked: number } {
  const leading: Span[] = []
  const trailing: Span[] = []
  let looked = 0
  let begin = from
  for (;;) {
    const start = skipBlanks(text, begin, to)
    if (text[start] !== '{') break
    const end = scanObject(text, start, to, () => undefined)
    looked += (typeof end === 'number' ? 2 * end : to) - start
    if (typeof end !== 'number' || !isWhole({ start, end })) break
    leading.push({ start, end })
    begin = end
  }
  let finish = to
  for (;;) {
    const end = skipBlanksBack(text, finish, begin)
    const start = text[end - 1] === '}' ? matchingBrace(text, end, begin) : -1
    looked += start === -1 ? end - begin : 2 * (end - start)
    if (start === -1 || !isWhole({ start, end })) break
    trailing.unshift({ start, end })
    finish = start
  }
  return { leading, trailing, looked }
}
