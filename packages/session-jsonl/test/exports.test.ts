import * as sessionJsonl from '@loci/session-jsonl'
import type {
  CarryAlongside,
  ImportPlan,
  Mirror,
  ScratchFile,
  Scratchpad,
  SearchHit,
  SearchProgress,
  Session,
  SessionAddress,
  SessionImport,
  SessionInfo,
  SessionKey,
  SessionOptions,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
  Tip,
  TranscriptItem,
} from '@loci/session-jsonl'
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
  type Names = [
    CarryAlongside,
    ImportPlan,
    Mirror,
    ScratchFile,
    Scratchpad,
    SearchHit,
    SearchProgress,
    Session,
    SessionAddress,
    SessionImport,
    SessionInfo,
    SessionKey,
    SessionOptions,
    SessionStore,
    SessionStoreEntry,
    SessionSummaryEntry,
    Tip,
    TranscriptItem,
  ]
  expect([] satisfies Partial<Names>).toEqual([])
})
