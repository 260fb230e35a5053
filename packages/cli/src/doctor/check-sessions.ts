import { basename, dirname, join } from 'node:path'
import { files, orAbsent, walkFiles } from '@loci/disk'
import { recordedOwner, resolveProjectDir } from '@loci/disk/project'
import { verifyFileHistory } from '@loci/file-history'
import { listSessions, sessionInfo, verifySession } from '@loci/session-jsonl'
import { verifyHistory } from '../compose.ts'
import { placeOf } from '../find-session.ts'
import { adviceOnHistory, adviceOnSession, adviceOnSubagent } from './advice.ts'
import { checkMemory } from './check-memory.ts'
import { shellWord } from './checkup.ts'
import type { Checkup } from './checkup.ts'

/** For a folder that does not say whose it is. */
export const BAD_OWNER = {
  kind: 'bad-owner',
  advice: 'sessions and memory of that project are not found until then',
} as const

/** The sessions that began or went on in the directory. */
export async function checkSessionsHere(checkup: Checkup): Promise<void> {
  const { projectsDir } = checkup.context.home
  const { cwd } = checkup.context
  const found = await checkup.attempt(projectsDir, () => listSessions({ projectsDir, cwd, archived: true }))
  const paths = found?.map(({ path }) => path) ?? (await transcriptsOfProject(checkup))
  await checkHistoryLeases(checkup, new Set(paths.map(idOf)))
  const folders = new Set(paths.map((path) => dirname(path)))
  for (const folder of folders) await checkSessionLeases(checkup, folder, new Set(paths))
  for (const [index, path] of paths.entries()) {
    checkup.tell(`checked ${index} of ${paths.length} sessions`)
    await checkSession(checkup, path)
  }
}

/** What can be had where some other project's folder cannot be read: the transcripts in that of the directory. */
async function transcriptsOfProject(checkup: Checkup): Promise<string[]> {
  const { home, cwd } = checkup.context
  const folder = await checkup.attempt(
    home.projectsDir,
    () => resolveProjectDir({ projectsDir: home.projectsDir, root: cwd }),
    BAD_OWNER,
  )
  if (folder === undefined) return []
  const names = (await entriesOf(checkup, folder)).map(({ name }) => name)
  return names.filter(isTranscript).map((name) => join(folder, name))
}

/** Every folder of a project: who owns it, its sessions, its memory; and the histories of no session. */
export async function checkAllSessions(checkup: Checkup, memoriesSeen: ReadonlySet<string>): Promise<void> {
  const { home } = checkup.context
  await checkHistoryLeases(checkup)
  const known = new Set<string>()
  for (const entry of await entriesOf(checkup, home.projectsDir)) {
    const folder = join(home.projectsDir, entry.name)
    const isLink = entry.isSymbolicLink()
    if (await leadsToFolder(checkup, folder))
      await checkFolder(checkup, folder, { known, memoriesSeen, isLink })
    else await checkup.measureFile('other', folder)
  }
  await checkOtherHistories(checkup, known)
}

async function checkFolder(
  checkup: Checkup,
  folder: string,
  of: { known: Set<string>; memoriesSeen: ReadonlySet<string>; isLink: boolean },
): Promise<void> {
  const owner = join(folder, '.project.json')
  const root = await checkup.attempt(owner, () => recordedOwner(folder), BAD_OWNER)
  await checkSessionLeases(checkup, folder)
  const entries = await entriesOf(checkup, folder)
  const ids = new Set(entries.filter(({ name }) => isTranscript(name)).map(({ name }) => idOf(name)))
  for (const entry of entries) {
    const { name } = entry
    const path = join(folder, name)
    if (isTranscript(name)) {
      of.known.add(idOf(name))
      checkup.tell(`checked ${checkup.checked.sessions} sessions`)
      await checkSession(checkup, path)
    } else if (name === 'memory') {
      const where = `--scope project --cwd ${root === undefined ? 'DIR, its directory' : shellWord(root)}`
      if (!of.memoriesSeen.has(path)) await checkMemory(checkup, path, where)
    } else if (of.isLink) continue // What else is there need not be a project's.
    else if (!entry.isDirectory()) await checkup.measureFile('other', path)
    else if (!ids.has(name)) await checkup.measure(path, () => 'sideFiles')
  }
}

/** A transcript, its side files and its file history. */
async function checkSession(checkup: Checkup, path: string): Promise<void> {
  const sessionId = idOf(path)
  const stats = await checkup.attempt(path, () => files.stat(path))
  if (stats === undefined) return
  checkup.checked.sessions += 1
  checkup.count('transcripts', path, stats)
  const adviceOn = (kind: string): string => adviceOnSession(kind, sessionId)
  checkup.add((await checkup.attempt(path, () => verifySession(path))) ?? [], { place: path, adviceOn })
  await checkSideFiles(checkup, join(dirname(path), sessionId), sessionId)
  await checkHistory(checkup, path)
}

/** The file history of a session; its snapshots may name backups though there is no folder of them any more. */
async function checkHistory(checkup: Checkup, transcript: string): Promise<void> {
  const { home, cwd } = checkup.context
  const sessionId = idOf(transcript)
  const history = home.historyDir(sessionId)
  const info = await sessionInfo(transcript).catch(() => undefined)
  const place = placeOf({ sessionId, path: transcript }, info?.cwd ?? cwd)
  const damage = await checkup.attempt(history, () => verifyHistory(home, place, { isTranscriptKnown: true }))
  checkup.add(damage ?? [], {
    place: history,
    adviceOn: (kind) => adviceOnHistory(kind, sessionId),
    isHint: (kind) => kind === 'command-incomplete' && checkup.isLive(history),
  })
  if (!(await isFolder(checkup, history))) return
  checkup.checked.histories += 1
  await checkup.measure(history, () => 'backups')
}

async function checkSideFiles(checkup: Checkup, side: string, sessionId: string): Promise<void> {
  if (!(await isFolder(checkup, side))) return
  await checkup.checkLeases(side, () => unlocking(sessionId))
  await checkup.measure(side, () => 'sideFiles')
  const subagents = join(side, 'subagents/')
  const onUnreadable = (): void => undefined // told by measure
  for await (const { path, stats } of walkFiles(side, { onUnreadable })) {
    if (!stats.isFile() || !path.startsWith(subagents) || !path.endsWith('.jsonl')) continue
    const damage = await checkup.attempt(path, () => verifySession(path))
    checkup.add(damage ?? [], { place: path, adviceOn: adviceOnSubagent })
  }
}

/** Histories that no session of this home names, and other programs' in their place. */
async function checkOtherHistories(checkup: Checkup, known: ReadonlySet<string>): Promise<void> {
  const { home, cwd } = checkup.context
  const all = join(home.dir, 'file-history')
  for (const entry of await entriesOf(checkup, all)) {
    const { name } = entry
    const dir = join(all, name)
    if (known.has(name)) continue
    if (!entry.isDirectory()) {
      await checkup.measureFile('other', dir)
      continue
    }
    await checkup.measure(dir, () => 'backups')
    const hasLedger =
      (await orAbsent(files.lstat(join(dir, 'snapshots.jsonl'))).catch(() => null)) !== undefined
    if (hasLedger) {
      checkup.checked.histories += 1
      const damage = await checkup.attempt(dir, () => verifyFileHistory({ dir, root: cwd }))
      checkup.add(damage ?? [], { place: dir, adviceOn: (kind) => adviceOnHistory(kind, name) })
    } else {
      const message = 'No session here has this file history; it was deleted, or its transcript was lost'
      checkup.hint({
        kind: 'history-without-session',
        path: dir,
        message,
        advice: 'bring the transcript back, or remove the folder',
      })
    }
  }
}

function checkHistoryLeases(checkup: Checkup, of?: ReadonlySet<string>): Promise<void> {
  return checkup.checkLeases(
    join(checkup.context.home.dir, 'file-history'),
    ({ path }) => unlocking(basename(path)),
    ({ path }) => of?.has(basename(path)) !== false,
  )
}

function checkSessionLeases(checkup: Checkup, folder: string, of?: ReadonlySet<string>): Promise<void> {
  return checkup.checkLeases(
    folder,
    ({ path }) => unlocking(idOf(path)),
    ({ path }) => of?.has(path) !== false,
  )
}

function unlocking(sessionId: string): string {
  return `loci sessions unlock ${sessionId} if that process is gone for certain`
}

function isTranscript(name: string): boolean {
  return name.endsWith('.jsonl') && !name.startsWith('.')
}

function idOf(path: string): string {
  return basename(path, '.jsonl')
}

async function leadsToFolder(checkup: Checkup, path: string): Promise<boolean> {
  return (await checkup.attempt(path, () => files.stat(path)))?.isDirectory() === true
}

/** Whether there is a folder, and no link: behind one may be all of a disk. */
async function isFolder(checkup: Checkup, path: string): Promise<boolean> {
  return (await checkup.attempt(path, () => files.lstat(path)))?.isDirectory() === true
}

async function entriesOf(checkup: Checkup, directory: string): ReturnType<typeof files.readdir> {
  return (await checkup.attempt(directory, () => files.readdir(directory))) ?? []
}
