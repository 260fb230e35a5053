import { join } from 'node:path'
import { LociError, files, orAbsent } from '@loci/disk'
import { z } from 'zod'

/** The settings that Loci reads; others in the same files belong to other programs and stay as they are. */
const settingsSchema = z.looseObject({
  autoMemoryEnabled: z.boolean().optional(),
  autoMemoryDirectory: z.string().optional(),
  fileCheckpointingEnabled: z.boolean().optional(),
})

export interface Settings {
  autoMemoryEnabled?: boolean
  autoMemoryDirectory?: string
  fileCheckpointingEnabled?: boolean
}

/**
 * The settings in force: `<config>/settings.json`, over it `<cwd>/.claude/settings.json`, over that
 * `settings.local.json`. A project's checked-in file cannot say where memory is: whoever wrote it could have it
 * written anywhere. None of the project's files can switch file history off: who opens a project is not to lose the
 * way back by it.
 * @throws {LociError} CONFIG_INVALID when a file is not JSON or a value has the wrong type; DISK_IO
 */
export async function readSettings(options: { configDir: string; cwd: string }): Promise<Settings> {
  const user = await readSettingsFile(join(options.configDir, 'settings.json'))
  const {
    autoMemoryDirectory: _directory,
    fileCheckpointingEnabled: _checkpointing,
    ...project
  } = await readSettingsFile(join(options.cwd, '.claude', 'settings.json'))
  const { fileCheckpointingEnabled: _local, ...local } = await readSettingsFile(
    join(options.cwd, '.claude', 'settings.local.json'),
  )
  return { ...user, ...project, ...local }
}

async function readSettingsFile(path: string): Promise<Settings> {
  const bytes = await orAbsent(files.readFile(path))
  const text = bytes?.toString('utf8').replace(/^\uFEFF/, '') ?? ''
  if (text.trim() === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalid(path, 'is not valid JSON', cause)
  }
  const result = settingsSchema.safeParse(value)
  if (!result.success) {
    const issue = result.error.issues[0]
    throw invalid(
      path,
      `has a wrong value at ${issue?.path.join('.') || 'the top'}: ${issue?.message ?? ''}`,
      result.error,
    )
  }
  const { autoMemoryEnabled, autoMemoryDirectory, fileCheckpointingEnabled } = result.data
  return {
    ...(autoMemoryEnabled === undefined ? {} : { autoMemoryEnabled }),
    ...(autoMemoryDirectory === undefined ? {} : { autoMemoryDirectory }),
    ...(fileCheckpointingEnabled === undefined ? {} : { fileCheckpointingEnabled }),
  }
}

function invalid(path: string, what: string, cause: unknown): LociError {
  return new LociError('CONFIG_INVALID', `${JSON.stringify(path)} ${what}; correct it or move it away`, {
    details: { path },
    cause,
  })
}
