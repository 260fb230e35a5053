import { homedir } from 'node:os'
import { basename, isAbsolute, join, normalize, parse, relative, resolve, sep } from 'node:path'
import { remoteMemoryDir } from './enabled.ts'
import type { AutoMemoryOptions, MemorySettings } from './enabled.ts'

/** Where memory is kept. All paths are absolute if `home` and `projectDir` are. */
export interface MemoryDirs {
  /** What holds for all projects: `<home>/memory`. */
  user: string
  /** What holds for this project: `<projectDir>/memory`, unless environment or settings say otherwise. */
  project: string
  /** What the team shares: `<project>/team`. */
  team: string
  /** A plain file of notes for all projects: `<home>/MEMORY.md`. */
  userFile: string
  /** One line for each value that was refused and the default used instead; absent if there is none. */
  warnings?: readonly string[]
}

/**
 * Where memory is kept: the one resolver for reading, writing, prompt text and permissions. Looks at no file.
 * The setting `autoMemoryDirectory` beats `CLAUDE_CODE_REMOTE_MEMORY_DIR`, which beats the default.
 *
 * @param options.home the config home, such as `~/.loci`
 * @param options.projectDir the project's folder below it, `<home>/projects/<slug>` of the main repository root
 *   (see `memoryRoot`)
 */
export function memoryDirs(options: {
  home: string
  projectDir: string
  env?: AutoMemoryOptions['env'] | undefined
  settings?: MemorySettings | undefined
}): MemoryDirs {
  const { home, projectDir, env = {}, settings } = options
  const warnings: string[] = []
  const chosen = settings?.autoMemoryDirectory
  const remote = remoteMemoryDir(env)
  const project =
    (chosen === undefined
      ? undefined
      : accept('Setting autoMemoryDirectory', chosen, env, warnings, { isFolder: true })) ??
    (remote === undefined ? undefined : remoteProject(remote, projectDir, env, warnings)) ??
    join(projectDir, 'memory')
  const dirs = {
    user: join(home, 'memory'),
    project,
    team: join(project, 'team'),
    userFile: join(home, 'MEMORY.md'),
  }
  return warnings.length === 0 ? dirs : { ...dirs, warnings }
}

function remoteProject(
  remote: string,
  projectDir: string,
  env: AutoMemoryOptions['env'],
  warnings: string[],
): string | undefined {
  const root = accept('CLAUDE_CODE_REMOTE_MEMORY_DIR', remote, env, warnings)
  return root === undefined ? undefined : join(root, 'projects', basename(projectDir), 'memory')
}

/**
 * The directory `value` names, normalised; or a warning that says why it is refused.
 *
 * @param options.isFolder it is to be the memory folder itself, not to hold one
 */
function accept(
  what: string,
  value: string,
  env: AutoMemoryOptions['env'],
  warnings: string[],
  { isFolder = false }: { isFolder?: boolean } = {},
): string | undefined {
  const refuse = (why: string): undefined => {
    warnings.push(
      `${what} ${JSON.stringify(value)} is not used: ${why}. Give an absolute path, or one that begins with ~/`,
    )
  }
  if (typeof value !== 'string') return refuse('it is not text')
  if (value.includes('\0')) return refuse('it contains a NUL')
  if (value.startsWith('\\\\')) return refuse('it is a network path')
  const userHome = env['HOME'] ?? homedir()
  const inHome = value === '~' || value.startsWith('~/')
  if (!inHome && !isAbsolute(value)) return refuse(value === '' ? 'it is empty' : 'it is relative')
  const path = withoutTrailingSeparator(normalize(inHome ? join(userHome, value.slice(1)) : value))
  if (!isAbsolute(path)) return refuse('the home directory is relative')
  if (path === parse(path).root) return refuse('it is the root directory')
  if (inHome && !isBelow(userHome, path)) return refuse('it does not lie below the home directory')
  // Every Markdown file in it would be a memory.
  if (isFolder && (path === resolve(userHome) || isBelow(path, resolve(userHome))))
    return refuse('it is the home directory, or holds it')
  return path
}

function withoutTrailingSeparator(path: string): string {
  return path.length > 1 && path.endsWith(sep) && path !== parse(path).root ? path.slice(0, -1) : path
}

function isBelow(root: string, path: string): boolean {
  const rest = relative(resolve(root), path)
  return rest !== '' && rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest)
}
