import { CommandTracker } from './command-tracker.ts'
import { EditLog } from './edits.ts'
import type { FileHistoryOptions } from './file-history.ts'
import { defaultLedgerPath, fileLedger } from './ledger.ts'
import { loadHistory, readSnapshots } from './load-history.ts'
import { Recording } from './recording.ts'
import { emptyFileHistoryState } from './snapshot.ts'
import type { HistoryCell } from './snapshot.ts'
import { SnapshotTaker } from './take-snapshot.ts'
import { ChangeTracker } from './track-changes.ts'
import { MAX_BASE_BYTES, MAX_FILES } from './track-command.ts'
import { EditTracker } from './track-edit.ts'

/** What an open history is made of. */
export interface HistoryParts {
  recording: Recording
  snapshots: SnapshotTaker
  edits: EditTracker
  commands: CommandTracker
}

/** Reads what is recorded and puts the parts together. Writes nothing. */
export async function loadParts(options: FileHistoryOptions, maxSnapshots: number): Promise<HistoryParts> {
  const { dir, root, clock = () => new Date(), maxBytes, maxFileBytes = Infinity } = options
  const log = await EditLog.open(dir)
  const read = await readSnapshots(dir, options.ledger)
  const { state, versions, overdue } = loadHistory(read.records, log, maxSnapshots)
  log.noteGone(overdue)
  const cell = options.state ?? ownCell()
  cell.setState(() => state)
  const isLedgerDamaged = read.damage.length > 0
  // What is recorded from now on of a file whose record is lost is not its first.
  for (const key of log.lostKeys(state, isLedgerDamaged)) if (!versions.has(key)) versions.set(key, 1)
  const recording = new Recording({
    dir,
    root,
    cell,
    ledger: options.ledger ?? fileLedger(defaultLedgerPath(dir)),
    log,
    clock,
    maxSnapshots,
    maxBytes,
    maxFileBytes,
    versions,
    overdue,
    isLedgerDamaged,
  })
  const snapshots = new SnapshotTaker(recording)
  const commands = new CommandTracker({
    dir,
    root,
    changes: new ChangeTracker(recording, snapshots),
    log,
    clock,
    maxFiles: options.maxFiles ?? MAX_FILES,
    maxBytes: maxBytes ?? MAX_BASE_BYTES,
    maxFileBytes,
  })
  recording.commands = commands
  return { recording, snapshots, edits: new EditTracker(recording, snapshots), commands }
}

function ownCell(): HistoryCell {
  let state = emptyFileHistoryState()
  return {
    getState: () => state,
    setState: (updater) => {
      state = updater(state)
    },
  }
}
