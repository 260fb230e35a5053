import * as sessionJsonl from '@loci/session-jsonl'
import type {
  Mirror,
  ScratchFile,
  Scratchpad,
  SearchHit,
  SearchProgress,
  Session,
  SessionAddress,
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
    'findTranscripts',
    'foldSessionSummary',
    'forkSession',
    'listSessions',
    'openScratchpad',
    'memorySessionStore',
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
    Mirror,
    ScratchFile,
    Scratchpad,
    SearchHit,
    SearchProgress,
    Session,
    SessionAddress,
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
