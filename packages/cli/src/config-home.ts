import { join } from 'node:path'
import { LociError, files, orAbsent, writeFileAtomic } from '@loci/disk'

/** The directory that holds sessions, file histories and memories, and whether Loci may change it. */
export interface ConfigHome {
  readonly dir: string
  /** `ours`: made by Loci. `vacant`: absent or empty. `foreign`: made by another program. */
  readonly kind: 'ours' | 'vacant' | 'foreign'
  readonly projectsDir: string
  /** Where the backups of a session are. */
  historyDir(sessionId: string): string
  /**
   * To be called before the first change. Makes a vacant home ours.
   * @throws {LociError} CONFIG_READ_ONLY in a foreign home, unless opened with `write`; DISK_FULL, DISK_IO
   */
  claim(): Promise<void>
}

const MARK = 'loci.json'
/** The name under which `loci.json` is written before it appears. */
const SCRATCH = /^\.loci\.json\.[^.]+\.tmp$/

/**
 * Looks at the config home `dir` and makes nothing.
 * @throws {LociError} DISK_IO when it cannot be read
 */
export async function openConfigHome(options: { dir: string; write: boolean }): Promise<ConfigHome> {
  const { dir, write } = options
  const all = (await orAbsent(files.readdir(dir))) ?? []
  // What a claim that was cut off left behind makes no home somebody else's.
  const entries = all.filter(({ name }) => !SCRATCH.test(name))
  const kind = entries.some((entry) => entry.name === MARK)
    ? 'ours'
    : entries.length === 0
      ? 'vacant'
      : 'foreign'
  return {
    dir,
    kind,
    projectsDir: join(dir, 'projects'),
    historyDir: (sessionId) => join(dir, 'file-history', sessionId),
    async claim() {
      if (kind === 'ours' || (kind === 'foreign' && write)) return
      if (kind === 'foreign') {
        throw new LociError(
          'CONFIG_READ_ONLY',
          `${JSON.stringify(dir)} was not made by Loci and is only read; give --write to change it, or --config-dir for another`,
          { details: { dir } },
        )
      }
      await files.mkdir(dir, 0o755)
      await writeFileAtomic(join(dir, MARK), '{"formatVersion":1}\n', { ifAbsent: true })
    },
  }
}
