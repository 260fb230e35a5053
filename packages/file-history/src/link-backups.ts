import { join } from 'node:path'
import { cloneFile, fileErrno, files, filesNow, orAbsent, writeFileAtomic } from '@loci/disk'
import { BACKUP_NAME } from './backup.ts'
import { compareStatsAndContent } from './compare.ts'
import { parseEditRecord } from './edit-record.ts'
import type { EditRecord } from './edit-record.ts'
import { editLogPath } from './edits.ts'
import { pace } from './in-parallel.ts'
import { appendJsonLines, readJsonLines } from './json-lines.ts'
import { defaultLedgerPath } from './ledger.ts'

/**
 * Gives the history in `toDir`, of a fork or a resumed session, every backup of the one in `fromDir`: by hard link,
 * which takes no room, or by a copy where linking fails (another file system). Nothing that is there already
 * is replaced, and `fromDir` is only read. The default ledger is copied, if there is one. Of `edits.jsonl` goes along what is true of
 * the fork as well: which bytes the backups were made with, in which state the agent left each file. The
 * journal stays behind: only the session that rewound can undo it. The parent may go on meanwhile: the fork is as of
 * the beginning of the call. Where `toDir` has gone on by itself, only backups under free names come in, with their
 * notes.
 *
 * @returns how many backups were linked and copied; nothing is made where `fromDir` is absent
 */
export async function linkBackups(options: {
  fromDir: string
  toDir: string
}): Promise<{ linked: number; copied: number }> {
  const { fromDir, toDir } = options
  const result = { linked: 0, copied: 0 }
  if ((await orAbsent(files.stat(fromDir))) === undefined) return result
  // First the ledger: what it names is there now, also if the parent goes on meanwhile.
  const ledger = await orAbsent(files.readFile(defaultLedgerPath(fromDir)))
  await files.mkdir(toDir)
  const { lines: ownLines } = await readJsonLines(editLogPath(toDir))
  const placed = new Set<string>()
  for (const { name } of await files.readdir(fromDir)) {
    if (!BACKUP_NAME.test(name)) continue
    // Room was made in the parent just now; its log says so, and is read after this.
    const how = await orAbsent(placeOnce(join(fromDir, name), join(toDir, name)))
    if (how === 'linked') result.linked += 1
    else if (how === 'cloned' || how === 'copied') result.copied += 1
    if (how !== undefined && how !== 'taken') placed.add(name)
    // An earlier call was cut off before it came to the notes.
    if (how === 'taken' && ownLines.length === 0) {
      const isSame = (await compareStatsAndContent(join(fromDir, name), join(toDir, name))) === 'same'
      if (isSame) placed.add(name)
    }
  }
  const edits = await carriedEdits(fromDir)
  const carried = edits.filter((record) =>
    // A history that has gone on knows better who left its files, and what its own backups hold.
    record.type === 'backup' ? placed.has(record.name) : ownLines.length === 0,
  )
  if (carried.length > 0) await appendJsonLines(editLogPath(toDir), carried)
  // Last, so that a fork whose ledger is there has the backups that it names.
  if (ledger) await writeFileAtomic(defaultLedgerPath(toDir), ledger, { mode: 0o600, ifAbsent: true })
  return result
}

async function placeOnce(
  from: string,
  to: string,
): Promise<'linked' | 'cloned' | 'copied' | 'taken' | undefined> {
  while (pace.turn) await pace.turn
  // The look, and the link.
  pace.spend(2)
  if (!filesNow.lstat(from).isFile()) return undefined
  try {
    return await cloneFile(from, to, { link: true })
  } catch (error) {
    if (fileErrno(error) === 'EEXIST') return 'taken'
    throw error
  }
}

async function carriedEdits(fromDir: string): Promise<EditRecord[]> {
  const { lines } = await readJsonLines(editLogPath(fromDir))
  const carried: EditRecord[] = []
  const operations = new Map<string, Extract<EditRecord, { type: 'rewind' }>>()
  for (const { value } of lines) {
    const record = parseEditRecord(value)
    if (record === undefined || record.type === 'rewind-end') continue
    if (record.type === 'rewind') operations.set(record.id, record)
    else if (record.type === 'rewind-file') {
      const operation = operations.get(record.id)
      const file = operation?.files.find(({ trackingPath }) => trackingPath === record.trackingPath)
      if (!operation || !file) continue
      const { messageId, snapshot, timestamp } = operation
      const { trackingPath } = file
      carried.push({ type: 'edit', messageId, trackingPath, state: file[record.side], snapshot, timestamp })
    } else if (record.type !== 'command' && record.type !== 'command-end') carried.push(record)
  }
  return carried
}
