import { LociError, isLociError } from '@loci/disk'
import { describe, expect, test } from 'vitest'

describe('isLociError', () => {
  test('knows our errors by shape, also from a second copy of the class', () => {
    class Copy extends Error {
      readonly code = 'SESSION_LOCKED'
    }
    expect(isLociError(new LociError('DISK_FULL', 'full'))).toBe(true)
    expect(isLociError(new Copy('locked'), 'SESSION_LOCKED')).toBe(true)
    expect(isLociError(Object.assign(new Error('x'), { code: 'STATE_REENTRANCY' }))).toBe(true)
  })

  test.each([
    ['an errno', Object.assign(new Error('x'), { code: 'ENOENT' })],
    ["Node's own codes", Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' })],
    ['an error without a code', new Error('x')],
    ['something thrown that is no error', { code: 'DISK_FULL' }],
    ['nothing', undefined],
  ])('does not take %s for one', (_, error) => {
    expect(isLociError(error)).toBe(false)
  })

  test('tells codes apart', () => {
    const error = new LociError('PATH_LINK', 'a link')
    expect(isLociError(error, 'PATH_LINK', 'PATH_OUTSIDE')).toBe(true)
    expect(isLociError(error, 'PATH_OUTSIDE')).toBe(false)
  })
})
