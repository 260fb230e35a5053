import { join, resolve } from 'node:path'
import { errorMessage, isLociError } from '@loci/disk'
import type { Settings } from '../settings.ts'
import type { Approve } from './answer-calls.ts'
import { parseRule } from './permission-rule.ts'
import type { PermissionRules } from './permissions.ts'
import { LOCAL_SETTINGS, projectConsent } from './stored-rules.ts'
import type { Consent } from './stored-rules.ts'
import { followLinks } from './tools/file-target.ts'

/** What was said in advance of what the agent may do in a project. */
export interface Permissions {
  /** Rules that allow, as they are written. */
  allowed: readonly string[]
  /** The rest of what decides. */
  rules: Pick<PermissionRules, 'ask' | 'deny' | 'directories' | 'userHome'>
  /** Keeps rules that allow for the sessions to come. A failure is said, and they hold for this session. */
  store(rules: readonly string[]): void
  /** Resolves when all is stored. */
  stored(): Promise<void>
}

/**
 * The permissions of a project. Rules that deny or have asked count wherever they stand. Rules that allow, and other directories,
 * count at once in the user's own settings; in files of the project they do when the user has agreed to them: neither a
 * repository nor a command that writes into it grants itself rights.
 *
 * @throws {LociError} CONFIG_INVALID, LEASE_HELD, DISK_FULL, DISK_IO
 */
export async function openPermissions(options: {
  settings: Settings
  root: string
  /** The project's folder in the config home. */
  projectDir: string
  env: Readonly<Record<string, string | undefined>>
  approve: Approve | undefined
  notify: (text: string) => void
}): Promise<Permissions> {
  const { settings, root, projectDir, env, approve, notify } = options
  const { permissions = {}, offered = {} } = settings
  const consent = projectConsent({ projectDir, root })
  const offers = [
    ...(offered.allow ?? []).map((rule) => ({ rule, words: rule })),
    ...(offered.additionalDirectories ?? []).map((directory) => ({
      directory,
      words: `additionalDirectories(${directory})`,
    })),
  ]
  const words = await agreedOf([...new Set(offers.map((offer) => offer.words))], consent, approve, notify)
  const agreed = offers.filter((offer) => words.has(offer.words))
  const allowed = new Set([
    ...(permissions.allow ?? []),
    ...agreed.flatMap((offer) => ('rule' in offer ? [offer.rule] : [])),
  ])
  const named = [
    ...(permissions.additionalDirectories ?? []),
    ...agreed.flatMap((offer) => ('directory' in offer ? [offer.directory] : [])),
  ]
  const userHome =
    env['HOME'] === undefined || env['HOME'] === '' ? undefined : await realOf(env['HOME'], notify)
  const rules = {
    ask: (permissions.ask ?? []).map(parseRule),
    deny: (permissions.deny ?? []).map(parseRule),
    directories: await realDirectories(named, { root, userHome }, notify),
    userHome,
  }
  for (const { text, flaw } of [...allowed].map(parseRule))
    if (flaw !== undefined) notify(`The rule ${JSON.stringify(text)} ${flaw}; it allows nothing.`)
  for (const { text, flaw, tool } of [...rules.ask, ...rules.deny])
    if (flaw !== undefined)
      notify(`The rule ${JSON.stringify(text)} ${flaw}; it is taken for ${tool}, whatever is done with it.`)
  let last = Promise.resolve()
  return {
    allowed: [...allowed],
    rules,
    store(added) {
      last = last.then(() => storeLoudly(added, consent, notify))
    },
    stored: () => last,
  }
}

/** Those of the offers that the user has agreed to, asked about what is new. */
async function agreedOf(
  offers: readonly string[],
  consent: Consent,
  approve: Approve | undefined,
  notify: (text: string) => void,
): Promise<ReadonlySet<string>> {
  if (offers.length === 0) return new Set()
  const agreed = await consent.read()
  const fresh = offers.filter((words) => !agreed.has(words))
  if (fresh.length === 0) return agreed
  if (approve === undefined) {
    notify(
      `Rules in files of the project allow something only after you have agreed to them in an interactive session, or put them into settings.json of the config home; not used: ${fresh.join(', ')}`,
    )
    return agreed
  }
  const summary = `${fresh.length} ${fresh.length === 1 ? 'rule' : 'rules'} of its .claude folder`
  const toolName = 'what this project allows the agent'
  if ((await approve({ toolName, summary, preview: fresh, always: undefined })) === 'no') return agreed
  await consent.give(fresh)
  return new Set([...agreed, ...fresh])
}

async function storeLoudly(
  rules: readonly string[],
  consent: Consent,
  notify: (text: string) => void,
): Promise<void> {
  try {
    await consent.store(rules)
    notify(`Stored in ${LOCAL_SETTINGS}: ${rules.join(', ')}`)
  } catch (error) {
    notify(`${rules.join(', ')} holds for this session only; it could not be stored: ${errorMessage(error)}`)
    if (!isLociError(error)) throw error
  }
}

async function realDirectories(
  named: readonly string[],
  { root, userHome }: { root: string; userHome: string | undefined },
  notify: (text: string) => void,
): Promise<string[]> {
  const found: string[] = []
  for (const directory of named) {
    const path = directory.startsWith('~/')
      ? userHome && join(userHome, directory.slice(2))
      : resolve(root, directory)
    const real = path && (await realOf(path, notify))
    if (real) found.push(real)
  }
  return found
}

/** A path without links; one that leads nowhere opens nothing. */
async function realOf(path: string, notify: (text: string) => void): Promise<string | undefined> {
  try {
    return await followLinks(path)
  } catch (error) {
    if (!isLociError(error)) throw error
    notify(`Permissions for ${JSON.stringify(path)} are not used: ${errorMessage(error)}`)
    return undefined
  }
}
