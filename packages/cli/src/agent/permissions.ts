import { relative, sep } from 'node:path'
import type { PermissionMode } from '@loci/app-state'
import { isInside } from './tools/file-target.ts'

/** What a call needs permission for. Paths are real ones. */
export type Access =
  | { kind: 'read'; path: string }
  | { kind: 'edit'; path: string }
  | { kind: 'command' }
  /** Looks into memory, or saves to it. */
  | { kind: 'recall' }
  /** Looks at, or ends, what the session itself began, or notes its plans. */
  | { kind: 'own' }
  | { kind: 'memory' }

export type Decision = { kind: 'allow' } | { kind: 'ask' } | { kind: 'refuse'; reason: string }

/** What decides. All paths are real ones: a link in one of them would hide what is behind it. */
export interface PermissionRules {
  mode: PermissionMode
  root: string
  /** Where this session puts large results aside; always read. */
  asideDir: string
  /** Always read, as far as they hold memories (Markdown): settings can name any folder. No tool edits them directly. */
  memoryDirs: readonly string[]
  configDir: string
  /** Names of tools that the person has allowed for the session. */
  approvedTools: readonly string[]
}

/** Whether a call may be made: at once, after asking, or not at all. Pure. */
export function decide(toolName: string, access: Access, rules: PermissionRules): Decision {
  const { mode } = rules
  if (access.kind === 'recall' || access.kind === 'own') return { kind: 'allow' }
  if (access.kind === 'read') {
    const isOwn = isInside(rules.root, access.path) || isInside(rules.asideDir, access.path)
    const isMemory = /\.md$/i.test(access.path) && rules.memoryDirs.some((dir) => isInside(dir, access.path))
    return isOwn || isMemory || mode === 'bypassPermissions' || isApproved(toolName, rules)
      ? { kind: 'allow' }
      : { kind: 'ask' }
  }
  if (access.kind === 'edit') {
    if (rules.memoryDirs.some((dir) => isInside(dir, access.path)))
      return { kind: 'refuse', reason: 'Memory is changed with SaveMemory, not by editing its files.' }
    if (isInside(rules.configDir, access.path))
      return {
        kind: 'refuse',
        reason: `${rules.configDir} holds sessions and their history; no tool edits it.`,
      }
  }
  if (mode === 'plan') return { kind: 'refuse', reason: 'In plan mode nothing is changed.' }
  if (access.kind === 'memory' || mode === 'bypassPermissions') return { kind: 'allow' }
  if (access.kind === 'command') return isApproved(toolName, rules) ? { kind: 'allow' } : { kind: 'ask' }
  const trusted = mode === 'acceptEdits' || isApproved(toolName, rules)
  return trusted && isOwnFile(access.path, rules.root) ? { kind: 'allow' } : { kind: 'ask' }
}

/** Where an edit is more than an edit: hooks of git are run, and settings say what agents may do. */
const GUARDED = new Set(['.git', '.claude'])

/** Files of the project, but for those of its tools, at any depth and in any case: some file systems see none. */
function isOwnFile(path: string, root: string): boolean {
  return (
    isInside(root, path) &&
    !relative(root, path)
      .split(sep)
      .some((name) => GUARDED.has(name.toLowerCase()))
  )
}

function isApproved(toolName: string, { approvedTools }: PermissionRules): boolean {
  return approvedTools.includes(toolName)
}

/** What the model is told where nobody can be asked. */
export function nobodyToAsk(toolName: string, access: Access, root: string): string {
  const flag =
    access.kind === 'edit' && isOwnFile(access.path, root)
      ? '--permission-mode acceptEdits (edits of files in this directory) or bypassPermissions (everything)'
      : '--permission-mode bypassPermissions (everything)'
  return `${toolName} was not allowed: nobody is there to ask. Start loci with ${flag} to allow it.`
}
