export { createSession, openSession } from './session.ts'
export type { Session, SessionOptions } from './session.ts'
export type { Entry, EntryDraft, RecordDraft } from './entry.ts'
export type {
  ContentBlock,
  DocumentBlock,
  ImageBlock,
  ModelMessage,
  RedactedThinkingBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './content-block.ts'
export { unlockSession } from './append-log.ts'
export type { Compaction } from './plan-compaction.ts'
export type { Durability } from './append-log.ts'
export type { Tip } from './tips.ts'
export { forkSession } from './fork.ts'
export { readTranscript } from './read-transcript.ts'
export type { TranscriptItem } from './transcript.ts'
export { findTranscripts } from './find-transcripts.ts'
export { listSessions } from './list.ts'
export type { FoundTranscript } from './find-transcripts.ts'
export { sessionInfo } from './session-info.ts'
export type { SessionInfo } from './session-info.ts'
export { renameSession, tagSession } from './rename.ts'
export type { SessionAddress } from './rename.ts'
export { archiveSession, unarchiveSession } from './archive.ts'
export { deleteSession } from './delete.ts'
export { openScratchpad } from './scratchpad.ts'
export type { Scratchpad } from './scratchpad.ts'
export type { ScratchFile } from './scratch-file.ts'
export { findImportable, importSessions } from './import.ts'
export type { SessionImport } from './import.ts'
export type { CarryAlongside } from './apply-import.ts'
export type { ImportPlan } from './plan-import.ts'
export { exportSession } from './export.ts'
export { verifySession } from './verify.ts'
export { LITE_READ_BUF_SIZE, readHeadAndTail } from './head-tail.ts'
export type { HeadAndTail } from './head-tail.ts'
export { extractJsonStringField, extractLastJsonStringField } from './extract-field.ts'
export type { Mirror, SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from './store.ts'
export { searchSessions } from './search.ts'
export type { SearchHit, SearchProgress } from './search.ts'
export { fileSessionStore } from './file-store.ts'
export { memorySessionStore } from './memory-store.ts'
export { foldSessionSummary } from './fold-summary.ts'
export { mirrorSession } from './mirror.ts'
export type { MirrorOptions } from './mirror.ts'
export type { TimerFunctions } from './mirror-timers.ts'
