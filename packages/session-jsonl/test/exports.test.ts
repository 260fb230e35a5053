import * as sessionJsonl from '@loci/session-jsonl'
import type {
  CarryAlongside,
  ImportPlan,
  Mirror,
  MirrorOptions,
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
  TimerFunctions,
  Tip,
  TranscriptItem,
} from '@loci/session-jsonl'
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
  type Names = [
    CarryAlongside,
    ImportPlan,
    Mirror,
    MirrorOptions,
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
    TimerFunctions,
    Tip,
    TranscriptItem,
  ]
  expect([] satisfies Partial<Names>).toEqual([])
})

test('the public names for those who write a store', () => {
  expect(Object.keys(testing)).toEqual(['testSessionStore'])
})
