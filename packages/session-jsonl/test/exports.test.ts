import { readFileSync } from 'node:fs'
import * as sessionJsonl from '@loci/session-jsonl'
import * as testing from '@loci/session-jsonl/testing'
import { expect, test } from 'vitest'

test('the public names', () => {
  expect(Object.keys(sessionJsonl).toSorted()).toEqual([
    'LITE_READ_BUF_SIZE',
    'archiveSession',
    'createSession',
    'deleteSession',
    'exportSession',
    'extractJsonStringField',
    'extractLastJsonStringField',
    'fileSessionStore',
    'findImportable',
    'findTranscripts',
    'foldSessionSummary',
    'forkSession',
    'importSessions',
    'listSessions',
    'memorySessionStore',
    'mirrorSession',
    'openScratchpad',
    'openSession',
    'readHeadAndTail',
    'readTranscript',
    'renameSession',
    'searchSessions',
    'sessionInfo',
    'tagSession',
    'unarchiveSession',
    'unlockSession',
    'verifySession',
  ])
})

test('the public types', () => {
  expect(namesIn('index.d.ts').types).toEqual([
    'CarryAlongside',
    'Compaction',
    'ContentBlock',
    'DocumentBlock',
    'Durability',
    'Entry',
    'EntryDraft',
    'FoundTranscript',
    'HeadAndTail',
    'ImageBlock',
    'ImportPlan',
    'Mirror',
    'MirrorOptions',
    'ModelMessage',
    'RecordDraft',
    'RedactedThinkingBlock',
    'ScratchFile',
    'Scratchpad',
    'SearchHit',
    'SearchProgress',
    'Session',
    'SessionAddress',
    'SessionImport',
    'SessionInfo',
    'SessionKey',
    'SessionOptions',
    'SessionStore',
    'SessionStoreEntry',
    'SessionSummaryEntry',
    'TextBlock',
    'ThinkingBlock',
    'TimerFunctions',
    'Tip',
    'ToolResultBlock',
    'ToolUseBlock',
    'TranscriptItem',
  ])
  expect(namesIn('index.d.ts').values).toEqual(Object.keys(sessionJsonl).toSorted())
  expect(namesIn('testing.d.ts')).toEqual({
    types: ['StoreAbility', 'StoreSuiteOptions', 'StoreUnderTest'],
    values: ['testSessionStore'],
  })
})

/** What the declarations that users get export. */
function namesIn(declarations: string): { types: string[]; values: string[] } {
  const text = readFileSync(new URL(`../dist/${declarations}`, import.meta.url), 'utf8')
  const found = { types: [] as string[], values: [] as string[] }
  const rest = text.replaceAll(
    /^export (type )?\{([\w\s,]*)\} from '[^']*';$/gm,
    (_all, type: string | undefined, names: string) => {
      found[type === undefined ? 'values' : 'types'].push(...(names.match(/\w+/g) ?? []))
      return ''
    },
  )
  // Nothing is exported in another way, which would not be counted.
  expect(rest.trim()).toBe('')
  return { types: found.types.toSorted(), values: found.values.toSorted() }
}

test('the public names for those who write a store', () => {
  expect(Object.keys(testing)).toEqual(['testSessionStore'])
})
