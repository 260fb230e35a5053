import type { OpenFile } from './file-operations.ts'

const CHUNK_BYTES = 256 * 1024

/**
 * How the bytes of one open file stand to those of another, as far as both go at the time of the call: `same`;
 * `shorter`, `ours` is the beginning of `theirs`; `longer`, it goes on where `theirs` ends; `different` else. Reads both
 * side by side until they part; memory does not depend on their sizes.
 *
 * @throws {LociError} DISK_IO
 */
export async function compareBytes(
  ours: OpenFile,
  theirs: OpenFile,
): Promise<'same' | 'shorter' | 'longer' | 'different'> {
  const [ourSize, theirSize] = [Number((await ours.stat()).size), Number((await theirs.stat()).size)]
  const common = Math.min(ourSize, theirSize)
  const a = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, common))
  const b = Buffer.allocUnsafe(a.length)
  for (let at = 0; at < common; at += a.length) {
    const length = Math.min(a.length, common - at)
    const left = a.subarray(0, length)
    const right = b.subarray(0, length)
    const isWhole =
      (await ours.readFull(left, at)) === length && (await theirs.readFull(right, at)) === length
    // One that was cut off meanwhile is no longer what its size said.
    if (!isWhole || !left.equals(right)) return 'different'
  }
  if (ourSize === theirSize) return 'same'
  return ourSize < theirSize ? 'shorter' : 'longer'
}
