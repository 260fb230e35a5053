import { LITE_READ_BUF_SIZE, readHeadAndTail } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'

const WINDOW = LITE_READ_BUF_SIZE

async function endsOf(bytes: string | Uint8Array, sizeBytes?: number) {
  const made = await tree({ f: bytes })
  try {
    return await readHeadAndTail(made.path('f'), sizeBytes)
  } finally {
    await made.remove()
  }
}

test('the window is 64 KiB', () => {
  expect(WINDOW).toBe(65_536)
})

describe('head and tail', () => {
  const sizes = [0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW - 1, 2 * WINDOW, 2 * WINDOW + 1, 5 * WINDOW]
  test.each(sizes)('of %i bytes', async (size) => {
    const all = Array.from({ length: size }, (_, index) => String.fromCharCode(97 + (index % 26))).join('')
    const { head, tail, sizeBytes } = await endsOf(all)
    expect(sizeBytes).toBe(size)
    expect(head).toBe(all.slice(0, WINDOW))
    expect(tail).toBe(all.slice(Math.max(Math.min(size, WINDOW), size - WINDOW)))
  })

  test('no character is cut, and where the two meet none is lost', async () => {
    for (const before of [0, 1, 2, 3]) {
      const all = 'x'.repeat(before) + '😀'.repeat(WINDOW / 4 + 10)
      const { head, tail } = await endsOf(all)
      expect(head + tail).toBe(all)
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(WINDOW)
    }
  })

  test('far apart, a character on either edge is in neither', async () => {
    const all = `x${'😀'.repeat(WINDOW)}y`
    const { head, tail } = await endsOf(all)
    expect(head).toBe(all.slice(0, 1 + ((WINDOW - 4) / 4) * 2))
    expect(tail).toBe(all.slice(-1 - ((WINDOW - 4) / 4) * 2))
  })

  test('a given size ends the file earlier', async () => {
    expect(await endsOf('abcdef', 4)).toMatchObject({ head: 'abcd', tail: '', sizeBytes: 4 })
    expect(await endsOf('abc', 9)).toMatchObject({ head: 'abc', sizeBytes: 3 })
  })

  test('tells when the file was written', async () => {
    const before = Date.now()
    const { mtimeMs } = await endsOf('a')
    expect(Math.abs(mtimeMs - before)).toBeLessThan(60_000)
  })

  test('a file that is not there is SESSION_NOT_FOUND', async () => {
    await expect(readHeadAndTail('/nowhere/x.jsonl')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
})
