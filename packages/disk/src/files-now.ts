import * as fs from 'node:fs'
import type { Stats } from 'node:fs'
import { readFullNow, runNow, writeAllNow } from './file-operations.ts'
import type { FileStats } from './file-operations.ts'

/** A file that is open for one look; see {@link filesNow}. Positions and lengths are bytes. */
export interface FileNow {
  stat(): Stats
  /** As `stat`, with sizes, times and inodes as bigints: nothing is rounded. */
  statExactly(): FileStats
  /** Fills `buffer` from `position` on, as far as the file goes; returns how many bytes that were. */
  readFull(buffer: Uint8Array, position: number): number
  /** Writes all of `bytes` where the file stands, or at its end if it is open for appending. */
  writeAll(bytes: Uint8Array): void
}

/**
 * Looks at files without waiting, through the same port as `files`: the fault hook sees each operation, and a failed
 * one is the same `LociError`. For those who look at thousands of files in a row, where it is several times as fast.
 * Nothing else runs meanwhile: let the event loop have its turn every few dozen files, and open nothing that can block
 * without `OPEN_PROMPTLY`.
 */
export const filesNow = {
  stat: (path: string): Stats => runNow('stat', path, () => fs.statSync(path)),
  lstat: (path: string): FileStats => runNow('lstat', path, () => fs.lstatSync(path, { bigint: true })),
  /** As `lstat`, in half the time: times are told to a quarter of a microsecond, inodes above 2^53 are rounded. */
  lstatRounded: (path: string): Stats => runNow('lstat', path, () => fs.lstatSync(path)),
  statfs: (path: string): fs.StatsFs => runNow('statfs', path, () => fs.statfsSync(path)),
  realpath: (path: string): string => runNow('realpath', path, () => fs.realpathSync.native(path)),
  /** The names in a directory, in no order. */
  names: (path: string): string[] => runNow('readdir', path, () => fs.readdirSync(path)),
  /** Makes a file that must not exist, with all of `bytes` and these permission bits. A failure may leave a part of it. */
  writeNew: (path: string, bytes: Uint8Array, mode: number): void => {
    const descriptor = runNow('open', path, () => fs.openSync(path, 'wx', 0o600))
    try {
      writeAllNow(path, descriptor, bytes)
      runNow('fchmod', path, () => fs.fchmodSync(descriptor, mode))
    } finally {
      fs.closeSync(descriptor)
      runNow('close', path, () => undefined)
    }
  },
  rename: (from: string, to: string): void => runNow('rename', to, () => fs.renameSync(from, to)),
  link: (from: string, to: string): void => runNow('link', to, () => fs.linkSync(from, to)),
  unlink: (path: string): void => runNow('unlink', path, () => fs.unlinkSync(path)),
  /** Opens the file, hands it to `look`, closes it whatever happens, and returns what `look` does. */
  look: <T>(path: string, flags: string | number, look: (file: FileNow) => T): T => {
    const descriptor = runNow('open', path, () => fs.openSync(path, flags))
    try {
      return look(openFile(path, descriptor))
    } finally {
      // The real close comes first: a descriptor is gone whatever close(2) reports.
      fs.closeSync(descriptor)
      runNow('close', path, () => undefined)
    }
  },
}

/** Flags for `open`: to read, whatever stands there; a FIFO keeps nobody waiting. */
export const OPEN_PROMPTLY: number = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK

function openFile(path: string, descriptor: number): FileNow {
  return {
    stat: () => runNow('fstat', path, () => fs.fstatSync(descriptor)),
    statExactly: () => runNow('fstat', path, () => fs.fstatSync(descriptor, { bigint: true })),
    readFull: (buffer, position) => readFullNow(path, descriptor, { buffer, position }),
    writeAll: (bytes) => writeAllNow(path, descriptor, bytes),
  }
}
