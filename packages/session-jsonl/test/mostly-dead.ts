import { statfsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { assistant, entry, jsonl, rewind, text, user } from './lines.ts'

/** Whether temporary files of so many bytes, and as much again, have room. */
export function hasRoom(bytes: number): boolean {
  const { bavail, bsize } = statfsSync(tmpdir())
  return bavail * bsize > 2 * bytes
}

const PIECE_BYTES = 8 * 1024 * 1024

/**
 * Writes a transcript whose greatest part a compaction closed: prompts and answers of `lineBytes` each, `deadBytes` in
 * all; then what lives, `liveBytes` of it, in lines of the same length, with a branch that was left. Fast: the lines of
 * the dead part are the same but for their uuids.
 *
 * @returns how many lines live, with boundary and summary
 */
export async function writeMostlyDead(
  path: string,
  how: { deadBytes: number; liveBytes: number; lineBytes: number },
): Promise<number> {
  const { deadBytes, liveBytes, lineBytes } = how
  const file = await open(path, 'w')
  const uuid = (n: number): string => `d${String(n).padStart(9, '0')}`
  const said = 'd'.repeat(lineBytes)
  const perPiece = Math.max(1, Math.floor(PIECE_BYTES / lineBytes))
  const pieces = Math.max(1, Math.ceil(deadBytes / (perPiece * lineBytes)))
  await file.write(jsonl(user(uuid(0), null, 'the first prompt')))
  const lines = Array.from({ length: perPiece }, (_, n) =>
    jsonl(user(uuid(n + 1), uuid(n), said, { timestamp: '2026-01-01T00:00:00.000Z' })),
  )
  const piece = Buffer.from(lines.join(''))
  const places = [...piece.toString('latin1').matchAll(/"d\d{9}"/g)].map(({ index }) => index + 2)
  for (let at = 0; at < pieces; at += 1) {
    for (const [n, place] of places.entries()) {
      // Each line names itself and the one before it.
      const number = at * perPiece + Math.floor(n / 2) + (n % 2 === 0 ? 1 : 0)
      piece.write(String(number).padStart(9, '0'), place, 'latin1')
    }
    await file.write(piece)
  }
  const boundary = entry('system', 'b', null, {
    subtype: 'compact_boundary',
    logicalParentUuid: uuid(pieces * perPiece),
  })
  await file.write(jsonl(boundary, user('s', 'b', 'summary', { isCompactSummary: true })))
  const living = Math.max(4, Math.floor(liveBytes / lineBytes))
  for (let n = 0; n < living; n += 1) {
    const before = n === 0 ? 's' : `l${n - 1}`
    const line = n % 2 === 0 ? assistant(`l${n}`, before, [text(said)]) : user(`l${n}`, before, said)
    await file.write(jsonl(line))
    if (n === 2) await file.write(jsonl(user('left', 'l2', said), rewind('l2')))
  }
  await file.close()
  return living + 2
}
