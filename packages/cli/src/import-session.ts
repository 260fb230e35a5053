import { basename, dirname, join } from 'node:path'
import { applyCarry, files, orAbsent, planCarry } from '@loci/disk'
import type { CarryRule } from '@loci/disk'
import { importSessions, sessionInfo } from '@loci/session-jsonl'
import type { ImportPlan, SessionImport } from '@loci/session-jsonl'
import { withHistory } from './compose.ts'
import type { ConfigHome } from './config-home.ts'
import { placeOf } from './find-session.ts'

/**
 * Imports sessions with their file histories: the backups first, so that no session is there without them. They are
 * copies: another client writes over a backup that none of its records names. A transcript has one where it lies in
 * `<home>/projects/<folder>`: at `<home>/file-history/<sessionId>`.
 *
 * @param cwd counts for sessions that recorded no directory
 * @throws {LociError} as `importSessions`
 */
export function importWithHistory(
  home: ConfigHome,
  cwd: string,
  transcripts: readonly string[],
): AsyncIterable<SessionImport> {
  return importSessions({
    transcripts,
    projectsDir: home.projectsDir,
    alongside: (plan) => carryHistory(home, cwd, plan),
  })
}

async function carryHistory(home: ConfigHome, cwd: string, plan: ImportPlan): Promise<readonly string[]> {
  const { sessionId, from, to, step } = plan
  const projects = dirname(dirname(from))
  // Elsewhere what is called file-history is somebody else's.
  if (basename(projects) !== 'projects') return []
  const dir = join(dirname(projects), 'file-history', sessionId)
  const ours = home.historyDir(sessionId)
  const carry = async (): Promise<readonly string[]> => {
    const found = await planCarry({ from: dir, to: ours, ruleFor: historyRule })
    await applyCarry(found)
    return found.kept
  }
  if (step.kind === 'copy' || (await orAbsent(files.lstat(ours))) === undefined) return carry()
  const place = placeOf({ sessionId, path: to }, (await sessionInfo(to))?.cwd ?? cwd)
  return withHistory(home, place, 'write', carry)
}

/** Pure. What a file history is made of: `docs/formats/file-history.md`. */
function historyRule(name: string): CarryRule {
  // What it says of files here it says of another folder of backups.
  if (name === 'stat.json') return 'never'
  if (name.includes('/')) return 'once'
  if (name.endsWith('.jsonl')) return 'grow'
  return /@v\d+$/.test(name) ? 'follow' : 'once'
}
