export { LociError, errorMessage, isLociError } from './error.ts'
export type { Damage } from './error.ts'
export { files, fileErrno, isAbsent, orAbsent, OPEN_APPEND, OPEN_REGULAR } from './file-operations.ts'
export type { FileStats, OpenFile } from './file-operations.ts'
export { filesNow, OPEN_PROMPTLY } from './files-now.ts'
export type { FileNow } from './files-now.ts'
export {
  createFileAtomic,
  removeQuietly,
  syncDirectory,
  temporaryName,
  writeFileAtomic,
} from './atomic-write.ts'
export { appendRecords, appendRecordsNow } from './append-record.ts'
export { isScratchName } from './scratch-name.ts'
export { compareBytes } from './compare-bytes.ts'
export { applyCarry, planCarry } from './carry-files.ts'
export type { CarryPlan, CarryRule } from './carry-files.ts'
export { cloneFile } from './clone-file.ts'
export { resolveInside } from './resolve-inside.ts'
export { acquireLease, breakLease, heldLeases, leaseHolder } from './lease.ts'
export type { HeldLease, Lease, LeaseHolder } from './lease.ts'
export { isLocalFileSystem } from './vantage.ts'
export { walkFiles } from './walk-files.ts'
export type { WalkedFile } from './walk-files.ts'
