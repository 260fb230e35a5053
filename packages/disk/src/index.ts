export { LociError, isLociError } from './error.ts'
export type { Damage } from './error.ts'
export { files, fileErrno, isAbsent, orAbsent, OpenFile, OPEN_REGULAR } from './file-operations.ts'
export { writeFileAtomic } from './atomic-write.ts'
