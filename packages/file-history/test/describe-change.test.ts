import { createHash } from 'node:crypto'
import { diffLines } from 'diff'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeChange } from '../src/describe-change.ts'
import type { FileChange, Side } from '../src/describe-change.ts'

function sideOf(text: string): Side {
  const bytes = Buffer.from(text)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { state: { sha256, sizeBytes: bytes.length, mode: 0o644 }, bytes }
}

function changeOf(before: string, after: string): FileChange | undefined {
  return describeChange({
    path: '/f',
    name: 'f',
    before: sideOf(before),
    after: sideOf(after),
    patch: false,
  })
}

function countsOf(before: string, after: string): { insertions: number; deletions: number } {
  const counts = { insertions: 0, deletions: 0 }
  for (const { added, removed, count } of diffLines(before, after)) {
    if (added) counts.insertions += count
    else if (removed) counts.deletions += count
  }
  return counts
}

const piece = fc.constantFrom('a', 'b', '\n', '\n', '\r\n', 'é', '🎈')
const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))

test('lines are counted as if all of both texts were compared', () => {
  fc.assert(
    fc.property(text, text, text, text, (start, old, now, end) => {
      const [before, after] = [`${start}${old}${end}`, `${start}${now}${end}`]
      fc.pre(before !== after)
      expect(changeOf(before, after)).toMatchObject(countsOf(before, after))
    }),
    { numRuns: 3000 },
  )
})

test.each([
  ['a\nb\nc\n', 'a\nb\nc\nd\n', 1, 0],
  ['a\nb', 'a\nb\n', 1, 1],
  ['\n', '\n\n', 1, 0],
  ['\nx', 'x', 0, 1],
  ['', 'a', 1, 0],
])('from %j to %j', (before, after, insertions, deletions) => {
  expect(changeOf(before, after)).toMatchObject({ kind: 'modify', insertions, deletions, binary: false })
})
