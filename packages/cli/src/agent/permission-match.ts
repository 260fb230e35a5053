import { dirname, relative, sep } from 'node:path'
import type { Access } from './permissions.ts'
import type { PermissionRule } from './permission-rule.ts'
import { forbiddenForms, parseShellCommand } from './shell-command.ts'
import { isInside } from './tools/file-target.ts'
import { ANY_RUN, matchesRun } from './wildcard.ts'

/** A call that rules are asked about. */
export interface RuledCall {
  toolName: string
  access: Access
}

/** Where the paths in rules begin. Real paths. */
export interface RulePlaces {
  root: string
  /** What `~/` means; `undefined`: nothing. */
  userHome: string | undefined
}

/**
 * The first rule that speaks of a call, each taken as widely as it can be meant: for rules that deny or ask. Pure.
 */
export function restrictingRule(
  rules: readonly PermissionRule[],
  call: RuledCall,
  places: RulePlaces,
): PermissionRule | undefined {
  const { access } = call
  const candidates = rules.filter((rule) => namesTool(rule, call) || isMeantFor(rule, call))
  if (candidates.length === 0) return undefined
  const forms = access.kind === 'command' ? [...forbiddenForms(access.command)] : []
  return candidates.find(({ specifier, flaw }) => {
    if (specifier === null || flaw !== undefined) return true
    if (access.kind === 'command') {
      const patterns = commandPatterns(specifier)
      return forms.some((form) => patterns.some((pattern) => matchesText(pattern, form)))
    }
    if (access.kind !== 'read' && access.kind !== 'edit') return true
    const pattern = pathPattern(specifier, places)
    if (pattern === undefined) return true
    // A link does not lead around a rule, whichever of its ends that names, nor does a file system that knows no case.
    const anyCase = lowerCased(pattern)
    return [access.path, access.asked ?? access.path].some((path) => matchesPath(anyCase, path.toLowerCase()))
  })
}

/** Whether rules allow a call, each taken as narrowly as it can be meant. Pure. */
export function isAllowedBy(rules: readonly PermissionRule[], call: RuledCall, places: RulePlaces): boolean {
  const { access } = call
  const candidates = rules.filter((rule) => rule.flaw === undefined && namesTool(rule, call))
  if (candidates.some(({ specifier }) => specifier === null)) return true
  const specifiers = candidates.flatMap(({ specifier }) => specifier ?? [])
  if (access.kind === 'command') return isAllowedCommand(specifiers.flatMap(commandPatterns), access.command)
  if (access.kind !== 'read' && access.kind !== 'edit') return false
  return specifiers.some((specifier) => {
    const pattern = pathPattern(specifier, places)
    return pattern !== undefined && matchesPath(pattern, access.path)
  })
}

const TOOL_OF_KIND: Readonly<Record<string, string>> = { read: 'Read', edit: 'Edit', command: 'Bash' }

/** `Read`, `Edit` and `Bash` speak of every tool that reads, edits or runs commands. */
function namesTool({ tool }: PermissionRule, { toolName, access }: RuledCall): boolean {
  if (tool === toolName || tool === TOOL_OF_KIND[access.kind]) return true
  // All tools of a server, or those of some name.
  if (!tool.startsWith('mcp__')) return false
  return tool.includes('*') ? matchesText(wildcards(tool), toolName) : toolName.startsWith(`${tool}__`)
}

/** What a rule that restricts means beyond its words. */
function isMeantFor({ tool, specifier }: PermissionRule, { toolName, access }: RuledCall): boolean {
  if (tool === 'Write' && specifier !== null && access.kind === 'edit') return true
  return tool.includes('*') && matchesText(wildcards(tool), toolName)
}

type TextPattern = readonly (string | typeof ANY_RUN)[]

/** `:*`, or a blank and `*`, at the end: the words before it, with others or none after them. */
function commandPatterns(specifier: string): TextPattern[] {
  const [, words] = /^([^]+?)(?::\*| \*)$/.exec(specifier) ?? []
  return words === undefined
    ? [wildcards(specifier)]
    : [wildcards(words), [...wildcards(words), ' ', ANY_RUN]]
}

/** `*` is anything; a backslash before it, or before another, takes its meaning. */
function wildcards(text: string): TextPattern {
  return [...text.matchAll(/\\[\\*]|[^]/gu)].map(([token]) =>
    token === '*' ? ANY_RUN : token.replace(/^\\(?=.)/u, ''),
  )
}

function matchesText(pattern: TextPattern, text: string): boolean {
  return matchesRun(pattern, Array.from(text), (one, char) => one === char)
}

/** Word for word as a rule has it, or each part by one of the rules: what cannot be taken apart may be anything. */
function isAllowedCommand(patterns: readonly TextPattern[], command: string): boolean {
  const exact = patterns.filter((pattern) => !pattern.includes(ANY_RUN))
  if (exact.some((pattern) => matchesText(pattern, command))) return true
  const parts = parseShellCommand(command)
  return parts?.every((part) => patterns.some((pattern) => matchesText(pattern, part))) ?? false
}

interface PathPattern {
  /** An absolute path. */
  base: string
  /** Of the path below that. */
  segments: readonly (string | typeof ANY_RUN)[]
}

/**
 * `//` begins at the root of the file system, `~/` at the user's home, anything else at the project. A name alone is meant
 * at any depth; what holds for a directory holds for all below it.
 */
function pathPattern(specifier: string, { root, userHome }: RulePlaces): PathPattern | undefined {
  const [, start = '', rest = ''] = /^(\/\/|~\/|\/|(?:\.\/)+|)([^]*)$/.exec(specifier) ?? []
  let base: string | undefined = start === '//' ? '/' : start === '~/' ? userHome : root
  const names = rest.split('/').filter((name) => name !== '' && name !== '.')
  while (base !== undefined && names[0] === '..') {
    base = dirname(base)
    names.shift()
  }
  if (base === undefined) return undefined
  const segments: TextPattern = names.map((name) => (name === '**' ? ANY_RUN : name))
  const isName = start === '' && !rest.replace(/\/$/, '').includes('/')
  return { base, segments: isName ? [ANY_RUN, ...segments, ANY_RUN] : [...segments, ANY_RUN] }
}

function lowerCased({ base, segments }: PathPattern): PathPattern {
  return {
    base: base.toLowerCase(),
    segments: segments.map((one) => (typeof one === 'string' ? one.toLowerCase() : one)),
  }
}

function matchesPath({ base, segments }: PathPattern, path: string): boolean {
  const names = relative(base, path).split(sep)
  return isInside(base, path) && matchesRun(segments, names, matchesName)
}

function matchesName(pattern: string, name: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === name
  const tokens: TextPattern = Array.from(pattern).map((char) => (char === '*' ? ANY_RUN : char))
  return matchesRun(tokens, Array.from(name), (one, char) => one === '?' || one === char)
}
