import { files, LociError, orAbsent } from '@loci/disk'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { parseChoice } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { findMemory, withMemory } from '../compose.ts'
import type { MemoryPlace } from '../compose.ts'
import { secretWarnings } from '../secret-warnings.ts'

/** The memory that `--scope` names. */
export function scopeOf(context: CommandContext): 'project' | 'user' {
  return parseChoice('scope', context.options.scope, ['project', 'user'])
}

export function placeOf(
  { home, cwd, env, options }: CommandContext,
  { create = false }: { create?: boolean } = {},
): Promise<MemoryPlace> {
  return findMemory({ home, cwd, env, bare: options.bare === true, create })
}

/** Runs `work` on the memory folder of the scope. */
export async function readMemory<T>(
  context: CommandContext,
  work: (memory: Memdir) => Promise<T>,
): Promise<T> {
  const scope = scopeOf(context)
  const { dirs } = await placeOf(context)
  return withMemory({ dir: dirs[scope] }, work)
}

/**
 * As {@link readMemory}, for what changes the folder. It is made only where `make` says so: elsewhere there is nothing
 * to change in one that is not there.
 *
 * @throws {LociError} MEMORY_DISABLED when memory is off; CONFIG_READ_ONLY in a config home that is not ours
 */
export async function changeMemory<T>(
  context: CommandContext,
  work: (memory: Memdir) => Promise<T>,
  { make = false }: { make?: boolean } = {},
): Promise<T> {
  const scope = scopeOf(context)
  const { enabled, rule, dirs } = await placeOf(context)
  if (!enabled)
    throw new LociError('MEMORY_DISABLED', `Memory is off: ${rule}; nothing was changed`, {
      details: { rule },
    })
  const isThere = (await orAbsent(files.stat(dirs[scope]))) !== undefined
  if (!make && !isThere) return withMemory({ dir: dirs[scope] }, work)
  await context.home.claim()
  const made = await placeOf(context, { create: scope === 'project' })
  return withMemory({ dir: made.dirs[scope] }, work)
}

/** What of a memory that was not just written by the person who asks looks like a secret, a line each. */
export function memoryWarnings({ name, description, hook = '', body, file = '' }: MemoryDraft): string[] {
  return secretWarnings([name, description, hook, file, body].join('\n'), file || 'this proposal').map(
    (warning) => `warning: ${warning}`,
  )
}
