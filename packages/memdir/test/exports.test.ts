import * as memdir from '@loci/memdir'
import * as anthropic from '@loci/memdir/anthropic'
import { expect, test } from 'vitest'

test('the public names', () => {
  expect(Object.keys(memdir).toSorted()).toEqual([
    'MAX_ENTRYPOINT_BYTES',
    'MAX_ENTRYPOINT_LINES',
    'MAX_MEMORY_LINES',
    'checkDraft',
    'createMemoryExtractor',
    'dailyLogTemplate',
    'explainAutoMemory',
    'isAutoMemoryEnabled',
    'loadMemory',
    'loadMemoryPrompt',
    'memoryDirs',
    'memoryRoot',
    'openMemdir',
    'resolveTeamMemoryPath',
    'saveMemory',
    'scanForSecrets',
    'truncateEntrypointContent',
    'validateTeamMemoryKey',
  ])
})

test("the public names for the API's memory tool", () => {
  expect(Object.keys(anthropic)).toEqual(['memoryToolHandlers'])
})
