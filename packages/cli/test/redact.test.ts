import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MASK, redactSecrets } from '../src/redact.ts'

// Put together here, so that no scanner takes this file for a leak.
const of = (...parts: string[]): string => parts.join('')
const LONG = 'Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7jKl0n'
const PEM = of('-----BEGIN RSA PRIV', 'ATE KEY-----\nMIIE\nabcd\n-----END RSA PRIV', 'ATE KEY-----')

const SECRETS: [string, string][] = [
  ['an API key of Anthropic', of('sk-', 'ant-api03-', LONG)],
  ['an API key of a project', of('sk-', 'proj-', LONG)],
  ['an API key', of('sk-', LONG)],
  ['a live key', of('sk_', 'live_', LONG)],
  ['a token of GitHub', of('gh', 'p_', LONG)],
  ['a fine-grained token of GitHub', of('github_', 'pat_', LONG)],
  ['a token of GitLab', of('gl', 'pat-', LONG)],
  ['a key id of AWS', of('AK', 'IAIOSFODNN7EXAMPLE')],
  ['a key of Google', of('AI', 'za', LONG.slice(0, 35))],
  ['a token of Slack', of('xo', 'xb-1234567890-abc')],
  ['a token of npm', of('np', 'm_', LONG.slice(0, 36))],
  ['a private key', PEM],
]

describe('what is masked', () => {
  test.each(SECRETS)('%s, wherever it stands', (_what, secret) => {
    expect(redactSecrets(secret)).toBe(MASK)
    expect(redactSecrets(`a "${secret}" b (${secret})`)).toBe(`a "${MASK}" b (${MASK})`)
    expect(redactSecrets(`KEY=${secret}\nnext`)).toBe(`KEY=${MASK}\nnext`)
  })

  test('a bearer token, but not the word', () => {
    expect(redactSecrets(`Authorization: Bearer ${LONG}==`)).toBe(`Authorization: Bearer ${MASK}`)
  })

  test('a private key that is cut off, to the end', () => {
    expect(redactSecrets(`x ${PEM.slice(0, 40)}`)).toBe(`x ${MASK}`)
  })

  test('a key behind an escaped line feed of quoted JSON', () => {
    expect(redactSecrets(String.raw`"a\n${of('sk-', 'ant-', LONG)}"`)).toBe(String.raw`"a\n${MASK}"`)
  })
})

test.each([
  'the bearer of bad news',
  'a task-list-of-many-long-words',
  'ghp_short',
  'AKIA',
  '-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----',
  'npm_config_registry',
])('%j stays', (text) => {
  expect(redactSecrets(text)).toBe(text)
})

test('masking twice changes nothing more, and no secret is left in any text around it', () => {
  const secret = fc.constantFrom(...SECRETS.map(([, one]) => one))
  fc.assert(
    fc.property(fc.string(), secret, fc.string(), (before, one, after) => {
      const masked = redactSecrets(`${before} ${one} ${after}`)
      expect(masked).not.toContain(one)
      expect(redactSecrets(masked)).toBe(masked)
    }),
  )
})
