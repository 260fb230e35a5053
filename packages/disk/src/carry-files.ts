import { dirname, join } from 'node:path'
import { removeQuietly, temporaryName } from './atomic-write.ts'
import { cloneFile } from './clone-file.ts'
import { compareBytes } from './compare-bytes.ts'
import { fileErrno, files, OPEN_REGULAR, orAbsent } from './file-operations.ts'
import { isScratchName } from './scratch-name.ts'

/**
 * What becomes of a file that the source has: `never` carried; carried `once`, where there is none; also where ours is a
 * beginning of it (`grow`); made equal in any case (`follow`).
 */
export type CarryRule = 'never' | 'once' | 'grow' | 'follow'

/** What {@link applyCarry} would do. */
export interface CarryPlan {
  steps: { from: string; to: string; replaces: boolean }[]
  /** Files of ours that differ from the source's and stay as they are. */
  kept: string[]
}

/**
 * Compares the files below `from` with those below `to`, a copy from earlier or nothing yet, and plans what is to be
 * carried. Directories, links and special files of the source are no files and stay behind, and so do locks and scratch;
 * nothing leads through a link that stands in the way at `to`. Writes nothing.
 *
 * @param options.ruleFor the rule for a file, by its path below `from` with `/` between segments
 * @throws {LociError} DISK_IO
 */
export async function planCarry(options: {
  from: string
  to: string
  ruleFor: (name: string) => CarryRule
}): Promise<CarryPlan> {
  const plan: CarryPlan = { steps: [], kept: [] }
  if ((await orAbsent(files.lstat(options.from)))?.isDirectory() === true)
    await planDirectory(options, '', plan)
  return plan
}

async function planDirectory(
  options: { from: string; to: string; ruleFor: (name: string) => CarryRule },
  within: string,
  plan: CarryPlan,
): Promise<void> {
  const target = join(options.to, within)
  const isFree = (await orAbsent(files.lstat(target)))?.isDirectory() ?? true
  if (!isFree) {
    plan.kept.push(target)
    return
  }
  for (const entry of await files.readdir(join(options.from, within))) {
    if (isScratchName(entry.name)) continue
    const name = within === '' ? entry.name : `${within}/${entry.name}`
    if (entry.isDirectory()) await planDirectory(options, name, plan)
    if (!entry.isFile()) continue
    const rule = options.ruleFor(name)
    if (rule === 'never') continue
    const [from, to] = [join(options.from, name), join(options.to, name)]
    const relation = await relate(from, to)
    if (relation === 'same') continue
    const replaces = relation !== 'absent'
    const isCarried = !replaces || rule === 'follow' || (rule === 'grow' && relation === 'shorter')
    if (isCarried && relation !== 'blocked') plan.steps.push({ from, to, replaces })
    else if (relation !== 'longer' || rule !== 'grow') plan.kept.push(to)
  }
}

async function relate(
  from: string,
  to: string,
): Promise<'absent' | 'blocked' | Awaited<ReturnType<typeof compareBytes>>> {
  const stats = await orAbsent(files.lstat(to))
  if (stats === undefined) return 'absent'
  if (!stats.isFile()) return 'blocked'
  const theirs = await files.open(from, OPEN_REGULAR)
  try {
    const ours = await files.open(to, OPEN_REGULAR)
    try {
      const relation = await compareBytes(ours, theirs)
      const isSameMode = ((await theirs.stat()).mode & 0o7777n) === (stats.mode & 0o7777n)
      return relation === 'same' && !isSameMode ? 'different' : relation
    } finally {
      await ours.close()
    }
  } finally {
    await theirs.close()
  }
}

/**
 * Carries files as planned, each in one step, with bytes and permission bits, and never as a second name of the source's:
 * what is written to one later does not change the other. Cut off anywhere, planning again finds the rest.
 *
 * @throws {LociError} DISK_FULL, DISK_IO
 */
export async function applyCarry(plan: CarryPlan): Promise<void> {
  for (const { from, to, replaces } of plan.steps) {
    await files.mkdir(dirname(to), 0o755)
    if (replaces) await replaceWithClone(from, to)
    else {
      await cloneFile(from, to).catch((error: unknown) => {
        // Somebody else carried it meanwhile.
        if (fileErrno(error) !== 'EEXIST') throw error
      })
    }
  }
}

async function replaceWithClone(from: string, to: string): Promise<void> {
  const temporary = temporaryName(to)
  try {
    await cloneFile(from, temporary)
    await files.rename(temporary, to)
  } catch (error) {
    await removeQuietly(temporary)
    throw error
  }
}
