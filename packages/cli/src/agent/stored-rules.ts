import { dirname, join } from 'node:path'
import { LociError, acquireLease, files, resolveInside, writeFileAtomic } from '@loci/disk'
import { z } from 'zod'
import { readJsonFile } from '../settings.ts'

/** Where rules are kept that a person allowed for a project: beside the settings that its other clients read. */
export const LOCAL_SETTINGS = '.claude/settings.local.json'

const consentSchema = z.looseObject({ consented: z.array(z.string()).optional() })
const settingsSchema = z.looseObject({
  permissions: z.looseObject({ allow: z.array(z.string()).optional() }).optional(),
})

/** Which rules of a project's files its user has agreed to. */
export interface Consent {
  read(): Promise<ReadonlySet<string>>
  /** Agrees to rules that are there. */
  give(rules: readonly string[]): Promise<void>
  /** Puts rules into the project's local settings, all else in there kept, and agrees to them. */
  store(rules: readonly string[]): Promise<void>
}

/**
 * The consent to rules of the project at `root`, kept in its folder in the config home. Of two processes that add rules at
 * once neither loses any.
 *
 * Each call throws CONFIG_INVALID when a file is not as it should be (it stays as it is), PATH_LINK when the settings are
 * behind a link, LEASE_HELD, DISK_FULL, DISK_IO.
 */
export function projectConsent({ projectDir, root }: { projectDir: string; root: string }): Consent {
  const path = join(projectDir, 'permissions.json')
  const add = async (rules: readonly string[]): Promise<void> => {
    const held = await readObject(path, consentSchema)
    const consented = [...new Set([...(held.consented ?? []), ...rules])]
    await writeFileAtomic(path, `${JSON.stringify({ ...held, consented }, null, 2)}\n`)
  }
  const alone = async (work: () => Promise<void>): Promise<void> => {
    const lease = await acquireLease(path, { waitMs: 2000 })
    try {
      await work()
    } finally {
      await lease.release()
    }
  }
  return {
    read: async () => new Set((await readObject(path, consentSchema)).consented),
    give: (rules) => alone(() => add(rules)),
    store: (rules) =>
      alone(async () => {
        await storeAllowed(root, rules)
        await add(rules)
      }),
  }
}

async function storeAllowed(root: string, rules: readonly string[]): Promise<void> {
  const path = await resolveInside(root, LOCAL_SETTINGS)
  const held = await readObject(path, settingsSchema)
  const allow = [...new Set([...(held.permissions?.allow ?? []), ...rules])]
  const settings = { ...held, permissions: { ...held.permissions, allow } }
  await files.mkdir(dirname(path))
  await writeFileAtomic(path, `${JSON.stringify(settings, null, 2)}\n`)
}

async function readObject<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
  const result = schema.safeParse((await readJsonFile(path)) ?? {})
  if (result.success) return result.data
  const issue = result.error.issues[0]
  throw new LociError(
    'CONFIG_INVALID',
    `${JSON.stringify(path)} has a wrong value at ${issue?.path.join('.') || 'the top'}: ${issue?.message ?? ''}; correct it or move it away`,
    { details: { path }, cause: result.error },
  )
}
