import { join } from 'node:path'
import { LociError, errorMessage, files, orAbsent } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { z } from 'zod'

/** The settings that Loci reads; others in the same files belong to other programs and stay as they are. */
const settingsSchema = z.looseObject({
  autoMemoryEnabled: z.boolean().optional(),
  autoMemoryDirectory: z.string().optional(),
  memoryMode: z.enum(['index', 'daily-log']).optional(),
  memoryReview: z.boolean().optional(),
  memoryExtraction: z.boolean().optional(),
  fileCheckpointingEnabled: z.boolean().optional(),
  autoCompactEnabled: z.boolean().optional(),
  permissions: z
    .looseObject({
      allow: z.array(z.string()).optional(),
      ask: z.array(z.string()).optional(),
      deny: z.array(z.string()).optional(),
      additionalDirectories: z.array(z.string()).optional(),
    })
    .optional(),
})

/** What settings say of what the agent may do. */
interface PermissionSettings {
  allow?: readonly string[] | undefined
  ask?: readonly string[] | undefined
  deny?: readonly string[] | undefined
  additionalDirectories?: readonly string[] | undefined
}

export interface Settings {
  autoMemoryEnabled?: boolean
  autoMemoryDirectory?: string
  /** `daily-log`: what is to be remembered goes into the log of the day. Default: `index`. */
  memoryMode?: 'index' | 'daily-log'
  /** What the background saves waits for a person. Default: false. */
  memoryReview?: boolean
  /** Whether the background looks for what to remember. Default: true. */
  memoryExtraction?: boolean
  fileCheckpointingEnabled?: boolean
  /** Whether a conversation is compacted by itself when the model's window is nearly full. Default: true. */
  autoCompactEnabled?: boolean
  /** Of the user's own file; of those in the project all that restricts. */
  permissions?: PermissionSettings
  /** What the files in the project would allow. It counts with the user's consent only: anybody can have written them. */
  offered?: PermissionSettings
  /** One line for each setting that stands where it does not count. */
  warnings?: readonly string[]
}

/** What a project's checked-in file cannot say: its author would decide about what belongs to others. */
const NOT_CHECKED_IN = ['autoMemoryDirectory', 'memoryMode', 'memoryReview', 'memoryExtraction'] as const

/**
 * The settings in force: `<config>/settings.json`, over it `<cwd>/.claude/settings.json`, over that
 * `settings.local.json`. A project's checked-in file cannot say where memory is, nor how it is written, nor switch on
 * what the user switched off: whoever wrote it could have it written anywhere, and unseen. None of the project's files
 * can switch file history off: who opens a project is not to lose the way back by it. Permissions add up: the project's
 * files can deny and have asked; what they would allow is `offered`.
 * @throws {LociError} CONFIG_INVALID when a file is not JSON or a value has the wrong type; DISK_IO
 */
export async function readSettings(options: { configDir: string; cwd: string }): Promise<Settings> {
  const [ofUser, checkedIn, ofMine] = settingsFiles(options)
  const user = await readSettingsFile(ofUser)
  const project = await readSettingsFile(checkedIn)
  const local = await readSettingsFile(ofMine)
  const ignored = NOT_CHECKED_IN.filter((key) => project[key] !== undefined)
  for (const key of ignored) delete project[key]
  // It is on where nobody says otherwise: this could only overrule the user.
  if (project.autoMemoryEnabled === true) delete project.autoMemoryEnabled
  for (const settings of [project, local]) delete settings.fileCheckpointingEnabled
  const warnings = ignored.map(
    (key) =>
      `Setting ${key} in ${JSON.stringify(checkedIn)} is not used: a project's checked-in file cannot decide it. Put it into settings.local.json beside it, or into the config home`,
  )
  return {
    ...user,
    ...project,
    ...local,
    ...mergePermissions(user.permissions, [project.permissions ?? {}, local.permissions ?? {}]),
    ...(warnings.length > 0 ? { warnings } : {}),
  }
}

function mergePermissions(
  own: PermissionSettings = {},
  theirs: readonly PermissionSettings[],
): Required<Pick<Settings, 'permissions' | 'offered'>> {
  const all = [own, ...theirs]
  return {
    permissions: {
      ...own,
      ask: all.flatMap(({ ask = [] }) => ask),
      deny: all.flatMap(({ deny = [] }) => deny),
    },
    offered: {
      allow: theirs.flatMap(({ allow = [] }) => allow),
      additionalDirectories: theirs.flatMap(({ additionalDirectories = [] }) => additionalDirectories),
    },
  }
}

/** What is wrong with each of the settings files, one by one: {@link readSettings} stops at the first. */
export async function verifySettings(options: { configDir: string; cwd: string }): Promise<Damage[]> {
  const damage: Damage[] = []
  for (const path of settingsFiles(options)) {
    try {
      await readSettingsFile(path)
    } catch (error) {
      damage.push({ kind: 'bad-settings', path, message: errorMessage(error) })
    }
  }
  return damage
}

/** Later ones count for more. */
function settingsFiles({ configDir, cwd }: { configDir: string; cwd: string }): [string, string, string] {
  return [
    join(configDir, 'settings.json'),
    join(cwd, '.claude', 'settings.json'),
    join(cwd, '.claude', 'settings.local.json'),
  ]
}

async function readSettingsFile(path: string): Promise<Settings> {
  const value = await readJsonFile(path)
  if (value === undefined) return {}
  const result = settingsSchema.safeParse(value)
  if (!result.success) {
    const issue = result.error.issues[0]
    throw invalid(
      path,
      `has a wrong value at ${issue?.path.join('.') || 'the top'}: ${issue?.message ?? ''}`,
      result.error,
    )
  }
  const known = Object.keys(settingsSchema.shape)
  return Object.fromEntries(
    Object.entries(result.data).filter(([key, setting]) => known.includes(key) && setting !== undefined),
  )
}

/**
 * What a JSON file of settings holds; `undefined`: it is not there, or empty.
 * @throws {LociError} CONFIG_INVALID when it is no file or no JSON; DISK_IO
 */
export async function readJsonFile(path: string): Promise<unknown> {
  const stats = await orAbsent(files.stat(path))
  // Opening a FIFO can take for ever.
  if (stats !== undefined && !stats.isFile()) throw invalid(path, 'is no file', undefined)
  const bytes = stats && (await orAbsent(files.readFile(path)))
  const text = bytes?.toString('utf8').replace(/^\uFEFF/, '') ?? ''
  if (text.trim() === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalid(path, 'is not valid JSON', cause)
  }
}

function invalid(path: string, what: string, cause: unknown): LociError {
  return new LociError('CONFIG_INVALID', `${JSON.stringify(path)} ${what}; correct it or move it away`, {
    details: { path },
    cause,
  })
}
