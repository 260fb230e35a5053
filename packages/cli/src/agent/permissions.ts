import { relative, sep } from 'node:path'
import type { PermissionMode } from '@loci/app-state'
import { isAllowedBy, restrictingRule } from './permission-match.ts'
import type { RulePlaces } from './permission-match.ts'
import { commandRule, pathRule } from './permission-rule.ts'
import type { PermissionRule } from './permission-rule.ts'
import { isInside } from './tools/file-target.ts'

/** What a call needs permission for. Paths are real ones; `asked` is the same as it was asked for, links in it. */
export type Access =
  | { kind: 'read'; path: string; asked?: string }
  | { kind: 'edit'; path: string; asked?: string }
  | { kind: 'command'; command: string }
  /** Looks into memory, or saves to it. */
  | { kind: 'recall' }
  /** Looks at, or ends, what the session itself began, or notes its plans. */
  | { kind: 'own' }
  | { kind: 'memory' }

export type Decision =
  | { kind: 'allow' }
  /** `rule`: the rule that asks. `always`: the rule that would allow it from now on. */
  | { kind: 'ask'; rule?: string; always?: string }
  | { kind: 'refuse'; reason: string }

/** What decides. All paths are real ones: a link in one of them would hide what is behind it. */
export interface PermissionRules extends RulePlaces {
  mode: PermissionMode
  /** Other directories that are as open as the project. */
  directories: readonly string[]
  /** Where this session puts large results aside; always read. */
  asideDir: string
  /** Always read, as far as they hold memories (Markdown): settings can name any folder. No tool edits them directly. */
  memoryDirs: readonly string[]
  configDir: string
  allow: readonly PermissionRule[]
  ask: readonly PermissionRule[]
  deny: readonly PermissionRule[]
}

/**
 * Whether a call may be made: at once, after asking, or not at all. Rules that deny come first, then what no rule can
 * allow, rules that ask, the mode and rules that allow. Pure.
 */
export function decide(toolName: string, access: Access, rules: PermissionRules): Decision {
  const call = { toolName, access }
  const denying = restrictingRule(rules.deny, call, rules)
  if (denying) return { kind: 'refuse', reason: `The rule ${denying.text} denies it.` }
  const reason = impossible(access, rules)
  if (reason !== undefined) return { kind: 'refuse', reason }
  const asking = restrictingRule(rules.ask, call, rules)
  if (asking) return { kind: 'ask', rule: asking.text }
  if (rules.mode === 'bypassPermissions' || isOpen(access, rules)) return { kind: 'allow' }
  if (access.kind !== 'edit')
    return isAllowedBy(rules.allow, call, rules) ? { kind: 'allow' } : ask(toolName, access, rules)
  // No rule lifts the guard, and only one that names a path leads out of the project.
  if (isGuarded(access.path, rules)) return { kind: 'ask' }
  const allow = isOwn(access.path, rules)
    ? rules.allow
    : rules.allow.filter((rule) => rule.specifier !== null)
  return isAllowedBy(allow, call, rules) ? { kind: 'allow' } : ask(toolName, access, rules)
}

/** A call that reads. */
export type ReadAccess = Extract<Access, { kind: 'read' }>

/**
 * Which files a search that was allowed must leave out: those that a rule denies to read, and those that one wants to be
 * asked about, unless it asked about the search itself. Pure.
 */
export function withheldFrom(access: ReadAccess, rules: PermissionRules): (path: string) => boolean {
  const wasAsked = restrictingRule(rules.ask, { toolName: 'Read', access }, rules) !== undefined
  const withholding = wasAsked ? rules.deny : [...rules.deny, ...rules.ask]
  return (path) =>
    restrictingRule(withholding, { toolName: 'Read', access: { kind: 'read', path } }, rules) !== undefined
}

/** Why a call is refused in any case. */
function impossible(access: Access, { mode, memoryDirs, configDir }: PermissionRules): string | undefined {
  if (access.kind === 'edit') {
    if (memoryDirs.some((dir) => isInside(dir, access.path)))
      return 'Memory is changed with SaveMemory, not by editing its files.'
    if (isInside(configDir, access.path))
      return `${configDir} holds sessions and their history; no tool edits it.`
  }
  const changes = !['read', 'recall', 'own'].includes(access.kind)
  return mode === 'plan' && changes ? 'In plan mode nothing is changed.' : undefined
}

/** What needs no rule. */
function isOpen(access: Access, rules: PermissionRules): boolean {
  if (access.kind === 'recall' || access.kind === 'own' || access.kind === 'memory') return true
  if (access.kind === 'command') return false
  const { path } = access
  if (access.kind === 'edit')
    return rules.mode === 'acceptEdits' && isOwn(path, rules) && !isGuarded(path, rules)
  const isMemory = /\.md$/i.test(path) && rules.memoryDirs.some((dir) => isInside(dir, path))
  return isOwn(path, rules) || isInside(rules.asideDir, path) || isMemory
}

/** To be asked about, with the rule that would spare the question: not wider than what is seen. */
function ask(toolName: string, access: Access, rules: PermissionRules): Decision {
  const always = ruleFor(toolName, access, rules)
  return always === undefined ? { kind: 'ask' } : { kind: 'ask', always }
}

function ruleFor(toolName: string, access: Access, rules: PermissionRules): string | undefined {
  if (access.kind === 'command') return commandRule(access.command)
  if (access.kind === 'edit') return isOwn(access.path, rules) ? toolName : pathRule('Edit', access.path)
  return access.kind === 'read' ? pathRule('Read', access.path) : toolName
}

/** Where an edit is more than an edit: hooks of git are run, and settings say what agents may do. */
const GUARDED = new Set(['.git', '.claude'])

/** At any depth below where it is open, and in any case: some file systems see none. */
function isGuarded(path: string, { root, directories }: PermissionRules): boolean {
  const open = [root, ...directories].find((dir) => isInside(dir, path)) ?? sep
  return relative(open, path)
    .split(sep)
    .some((name) => GUARDED.has(name.toLowerCase()))
}

/** In the project, or a directory that is as open. */
function isOwn(path: string, { root, directories }: PermissionRules): boolean {
  return [root, ...directories].some((dir) => isInside(dir, path))
}

/** What the model is told where nobody can be asked; `asking` is the rule that asks. */
export function nobodyToAsk(
  toolName: string,
  access: Access,
  rules: PermissionRules,
  asking: string | undefined,
): string {
  if (asking !== undefined)
    return `${toolName} was not allowed: the rule ${asking} asks, and nobody is there to ask.`
  const flag =
    access.kind === 'edit' && isOwn(access.path, rules) && !isGuarded(access.path, rules)
      ? '--permission-mode acceptEdits (edits of files in this directory) or bypassPermissions (everything)'
      : '--permission-mode bypassPermissions (everything)'
  return `${toolName} was not allowed: nobody is there to ask. Start loci with ${flag} to allow it.`
}
