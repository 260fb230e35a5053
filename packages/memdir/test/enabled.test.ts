import { explainAutoMemory, isAutoMemoryEnabled } from '@loci/memdir'
import { describe, expect, test } from 'vitest'

const TRUE = ['1', 'true', 'yes', 'on', 'TRUE', ' On ', 'Yes\n']
const FALSE = ['0', 'false', 'no', 'off', 'FALSE', ' Off ', 'No']
const UNSET = [undefined, '', ' ', '2', 'maybe', 'enabled', 'null']

describe('CLAUDE_CODE_DISABLE_AUTO_MEMORY', () => {
  test.each(TRUE)('%j: off, whatever the setting says', (value) => {
    const options = { env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: value }, settings: { autoMemoryEnabled: true } }
    expect(explainAutoMemory(options)).toEqual({
      enabled: false,
      rule: 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is true',
    })
  })

  test.each(FALSE)('%j: on, whatever the rest says', (value) => {
    const options = {
      env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: value, CLAUDE_CODE_SIMPLE: '1', CLAUDE_CODE_REMOTE: '1' },
      settings: { autoMemoryEnabled: false },
      bare: true,
    }
    expect(explainAutoMemory(options)).toEqual({
      enabled: true,
      rule: 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is false',
    })
  })

  test.each(UNSET)('%j: as if it were not set', (value) => {
    const env = { CLAUDE_CODE_DISABLE_AUTO_MEMORY: value }
    expect(explainAutoMemory({ env })).toEqual({ enabled: true, rule: 'default' })
    expect(explainAutoMemory({ env, settings: { autoMemoryEnabled: false } })).toEqual({
      enabled: false,
      rule: 'setting autoMemoryEnabled is false',
    })
  })
})

test.each(TRUE)('CLAUDE_CODE_SIMPLE %j: off, before any setting', (value) => {
  const options = { env: { CLAUDE_CODE_SIMPLE: value }, settings: { autoMemoryEnabled: true } }
  expect(explainAutoMemory(options)).toEqual({ enabled: false, rule: 'CLAUDE_CODE_SIMPLE is true' })
})

test('bare mode counts as CLAUDE_CODE_SIMPLE', () => {
  expect(explainAutoMemory({ env: {}, settings: { autoMemoryEnabled: true }, bare: true })).toEqual({
    enabled: false,
    rule: 'bare mode',
  })
  expect(isAutoMemoryEnabled({ env: {}, bare: false })).toBe(true)
})

test.each(['relative', '/r', ' /r '])(
  'CLAUDE_CODE_REMOTE is no reason with CLAUDE_CODE_REMOTE_MEMORY_DIR %j',
  (dir) => {
    const env = { CLAUDE_CODE_REMOTE: '1', CLAUDE_CODE_REMOTE_MEMORY_DIR: dir }
    expect(explainAutoMemory({ env })).toEqual({ enabled: true, rule: 'default' })
    expect(isAutoMemoryEnabled({ env, settings: { autoMemoryEnabled: false } })).toBe(false)
  },
)

test.each([undefined, '', '  '])('CLAUDE_CODE_REMOTE with CLAUDE_CODE_REMOTE_MEMORY_DIR %j: off', (dir) => {
  const env = { CLAUDE_CODE_REMOTE: 'yes', CLAUDE_CODE_REMOTE_MEMORY_DIR: dir }
  expect(explainAutoMemory({ env, settings: { autoMemoryEnabled: true } })).toEqual({
    enabled: false,
    rule: 'CLAUDE_CODE_REMOTE is true and CLAUDE_CODE_REMOTE_MEMORY_DIR is not set',
  })
})

test('a setting that is no boolean is not taken for unset', () => {
  // @ts-expect-error a caller without types
  expect(() => isAutoMemoryEnabled({ env: {}, settings: { autoMemoryEnabled: 'false' } })).toThrow(TypeError)
})

/** M04: one function decides; here the order of the rules once more, as a table over all combinations. */
test('M04: every combination is decided by the first rule that applies', () => {
  const values = ['1', '0', 'odd', undefined]
  let tried = 0
  for (const disable of values) {
    for (const simple of values) {
      for (const bare of [true, false, undefined]) {
        for (const remote of values) {
          for (const dir of ['/r', '', undefined]) {
            for (const setting of [true, false, undefined]) {
              const env = {
                CLAUDE_CODE_DISABLE_AUTO_MEMORY: disable,
                CLAUDE_CODE_SIMPLE: simple,
                CLAUDE_CODE_REMOTE: remote,
                CLAUDE_CODE_REMOTE_MEMORY_DIR: dir,
              }
              const rules: [boolean, boolean][] = [
                [disable === '1', false],
                [disable === '0', true],
                [simple === '1' || bare === true, false],
                [remote === '1' && dir !== '/r', false],
                [setting !== undefined, setting === true],
                [true, true],
              ]
              const expected = rules.find(([applies]) => applies)?.[1]
              const options = { env, bare, settings: { autoMemoryEnabled: setting } }
              expect(isAutoMemoryEnabled(options), JSON.stringify(options)).toBe(expected)
              expect(explainAutoMemory(options).enabled).toBe(expected)
              tried += 1
            }
          }
        }
      }
    }
  }
  expect(tried).toBe(4 * 4 * 3 * 4 * 3 * 3)
})
