import { expect, test } from 'vitest'
import { decideFile } from '../src/decide-file.ts'
import type { FileFacts } from '../src/decide-file.ts'

const state = (sha256: string, mode = 0o644) => ({ sha256, sizeBytes: 1, mode })
const file = (sha256: string, mode?: number): FileFacts['disk'] => ({
  kind: 'file',
  state: state(sha256, mode),
  links: 1,
  inode: '1:1',
  stamp: '',
})
const to = (sha256: string | null): FileFacts['target'] =>
  sha256 === null ? { state: null, source: null } : { state: state(sha256), source: 'f'.repeat(16) + '@v1' }
const absent: FileFacts['disk'] = { kind: 'absent' }

const rows: [string, FileFacts['target'], FileFacts['disk'], FileFacts['left'], object][] = [
  ['as the target wants it', to('a'), file('a'), state('b'), { kind: 'unchanged' }],
  ['absent, as the target wants it', to(null), absent, state('b'), { kind: 'unchanged' }],
  ['as the agent left it', to('a'), file('b'), state('b'), { kind: 'change' }],
  ['as the agent left it, absent', to('a'), absent, null, { kind: 'change', before: null }],
  ['nobody knows how it was left', to('a'), file('b'), 'unknown', { kind: 'change' }],
  ['created since, and left so', to(null), file('b'), state('b'), { kind: 'change', after: null }],
  ['other bytes', to('a'), file('c'), state('b'), { conflict: 'it was changed after the agent left it' }],
  ['gone', to('a'), absent, state('b'), { conflict: 'it was deleted after the agent left it' }],
  ['there again', to('a'), file('b'), null, { conflict: 'it was made after the agent left it absent' }],
  ['other mode', to('a'), file('b', 0o600), state('b'), { conflict: expect.stringContaining('permissions') }],
  ['a link', to(null), { kind: 'link' }, null, { kind: 'skip', reason: expect.stringContaining('link') }],
  ['a directory', to('a'), { kind: 'directory' }, null, { kind: 'skip' }],
  ['a device', to('a'), { kind: 'special' }, null, { kind: 'skip' }],
  ['no backup', { problem: 'lost' }, file('b'), state('b'), { kind: 'skip', reason: 'lost' }],
]

test.each(rows)('%s', (_, target, disk, left, expected) => {
  expect(decideFile({ realPath: '/f', target, disk, left })).toMatchObject(expected)
  // Whatever else is true, a file whose place is wrong is not touched.
  expect(decideFile({ realPath: '/f', target, disk, left, problem: 'elsewhere' })).toEqual({
    kind: 'skip',
    reason: 'elsewhere',
  })
})

test('without a reason no decision conflicts', () => {
  for (const [, target, disk, left, expected] of rows) {
    const decision = decideFile({ realPath: '/f', target, disk, left })
    if (!('conflict' in expected)) expect(decision).not.toHaveProperty('conflict')
  }
})
