import { expect, test } from 'vitest'
import { ownerState, parseLeaseOwner } from '../src/lease-owner.ts'
import type { LeaseOwner, Vantage } from '../src/lease-owner.ts'

const owner: LeaseOwner = {
  bootId: 'boot-1',
  pidNamespace: 'pid:[1]',
  pid: 42,
  startTime: '1000',
  thread: 'thread-1',
  host: 'here',
  since: '2026-01-01T00:00:00.000Z',
}
const alive = { alive: true, startTime: '1000' }

function from(
  changes: Partial<Omit<Vantage, 'lookAt'>>,
  look: { alive: boolean; startTime: string | null },
): Vantage {
  return {
    bootId: 'boot-1',
    pidNamespace: 'pid:[1]',
    host: 'here',
    localFileSystem: true,
    ownLease: () => 'not-ours',
    lookAt: async () => look,
    ...changes,
  }
}

test.each<[string, Partial<LeaseOwner>, Vantage, string]>([
  ['its process runs', {}, from({}, alive), 'live'],
  ['it is this thread, which holds it', {}, from({ ownLease: () => 'held' }, alive), 'live'],
  ['it is this thread, which has given it up', {}, from({ ownLease: () => 'given-up' }, alive), 'dead'],
  ['its process has ended', {}, from({}, { alive: false, startTime: null }), 'dead'],
  ['another process has its pid now', {}, from({}, { alive: true, startTime: '2000' }), 'dead'],
  ['the start time cannot be read', {}, from({}, { alive: true, startTime: null }), 'undecidable'],
  ['the machine has rebooted', {}, from({ bootId: 'boot-2' }, alive), 'dead'],
  [
    'another machine wrote it over a network',
    {},
    from({ bootId: 'boot-2', localFileSystem: false }, alive),
    'undecidable',
  ],
  [
    'it runs in another container',
    {},
    from({ pidNamespace: 'pid:[2]' }, { alive: false, startTime: null }),
    'undecidable',
  ],
  ['its date lies years back', { since: '1970-01-01T00:00:00.000Z' }, from({}, alive), 'live'],
  [
    'its date lies in the future',
    { since: '2999-01-01T00:00:00.000Z' },
    from({}, { alive: false, startTime: null }),
    'dead',
  ],
  [
    'there are no boot ids and the pid is gone from the same host',
    { bootId: null, pidNamespace: null, startTime: null },
    from({ bootId: null, pidNamespace: null }, { alive: false, startTime: null }),
    'dead',
  ],
  [
    'there are no boot ids and the pid is in use on the same host',
    { bootId: null, pidNamespace: null, startTime: null },
    from({ bootId: null, pidNamespace: null }, { alive: true, startTime: null }),
    'undecidable',
  ],
  [
    'there are no boot ids and the host is another',
    { bootId: null, pidNamespace: null, startTime: null, host: 'there' },
    from({ bootId: null, pidNamespace: null }, { alive: false, startTime: null }),
    'undecidable',
  ],
])('when %s', async (_, changes, here, expected) => {
  expect(await ownerState({ ...owner, ...changes }, here)).toBe(expected)
})

test.each([
  '',
  '{',
  'null',
  '[]',
  '{"pid":"x"}',
  JSON.stringify({ ...owner, pid: 1.5 }),
  JSON.stringify({ ...owner, host: 1 }),
])('takes %j for no owner', (text) => {
  expect(parseLeaseOwner(text)).toBeUndefined()
})

test('reads back what was written', () => {
  expect(parseLeaseOwner(`${JSON.stringify(owner)}\n`)).toEqual(owner)
})
