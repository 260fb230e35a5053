import { files } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { memoryDirs, memoryRoot } from '@loci/memdir'
import type { CommandContext } from '../command-context.ts'
import { findMemory } from '../compose.ts'
import { verifySettings } from '../settings.ts'
import { checkHome, checkRest, isOpenToOthers } from './check-home.ts'
import type { HomeReport } from './check-home.ts'
import { checkMemory } from './check-memory.ts'
import { BAD_OWNER, checkAllSessions, checkSessionsHere } from './check-sessions.ts'
import { Checkup } from './checkup.ts'
import { withoutRepeats } from './findings.ts'
import type { Finding } from './findings.ts'
import { showEverySecond } from './progress.ts'
import type { UsageReport } from './usage.ts'
import { findVersions } from './versions.ts'
import type { Versions } from './versions.ts'

/** What the doctor found. */
export interface Examination {
  /** Damage first, then hints. */
  findings: Finding[]
  versions: Versions
  /** Of what was looked at: with `--all` of the whole config home. */
  usage: UsageReport
  home: HomeReport
  checked: Checkup['checked']
}

/** Looks at everything that Loci keeps for the directory, or with `all` at the whole config home. Writes nothing. */
export async function examine(context: CommandContext, options: { all: boolean }): Promise<Examination> {
  const { home, env } = context
  const isOpenHome = await isOpenToOthers(home.dir)
  const checkup = new Checkup(context, { tell: showEverySecond(context.showProgress), isOpenHome })
  const versions = await findVersions(env)
  const report = await checkHome(checkup)
  await checkSettings(checkup)
  const memories = await memoriesHere(checkup)
  for (const [dir, where] of memories) await checkMemory(checkup, dir, where)
  if (options.all) {
    await checkAllSessions(checkup, new Set(memories.keys()))
    await checkRest(checkup)
  } else await checkSessionsHere(checkup)
  checkup.tellOfReadable()
  const { usage, checked } = checkup
  const findings = withoutRepeats(checkup.findings)
  const of = (severity: Finding['severity']): Finding[] => findings.filter((one) => one.severity === severity)
  return { findings: [...of('damage'), ...of('hint')], versions, usage: usage.report, home: report, checked }
}

/** Those of the directory, and those where its memory is one. */
async function checkSettings(checkup: Checkup): Promise<void> {
  const { home, cwd } = checkup.context
  const root = await checkup.attempt(cwd, () => memoryRoot(cwd))
  for (const directory of new Set([cwd, root ?? cwd])) {
    for (const damage of await verifySettings({ configDir: home.dir, cwd: directory })) {
      const adviceOn = (): string => 'until then no command that needs settings runs'
      checkup.add([damage], { place: damage.path, adviceOn })
    }
  }
}

/** The memory folders of both scopes that are there, and how a command is told of each. */
async function memoriesHere(checkup: Checkup): Promise<Map<string, string>> {
  const { home, cwd, env, options } = checkup.context
  const found = await findMemory({ home, cwd, env, bare: options.bare === true }).catch(() => undefined)
  const { user, project, warnings = [] } = found?.dirs ?? (await usualMemory(checkup))
  for (const message of warnings)
    checkup.hint({ kind: 'unused-setting', path: home.dir, message, advice: '' })
  const dirs = new Map([[user, '--scope user']])
  if (project !== undefined) dirs.set(project, '--scope project')
  for (const dir of dirs.keys()) {
    const stats = await checkup.attempt(dir, () => files.lstat(dir))
    if (stats === undefined) dirs.delete(dir)
  }
  return dirs
}

/** Where memory is if no setting says otherwise: what cannot be read of them was said already. */
async function usualMemory(
  checkup: Checkup,
): Promise<Partial<ReturnType<typeof memoryDirs>> & { user: string }> {
  const { home, cwd } = checkup.context
  const { projectsDir } = home
  const projectDir = await checkup.attempt(
    projectsDir,
    async () => resolveProjectDir({ projectsDir, root: await memoryRoot(cwd) }),
    BAD_OWNER,
  )
  const { user, project } = memoryDirs({ home: home.dir, projectDir: projectDir ?? home.dir })
  return projectDir === undefined ? { user } : { user, project }
}
