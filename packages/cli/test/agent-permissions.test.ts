import type { PermissionMode } from '@loci/app-state'
import { describe, expect, test } from 'vitest'
import { parseRule } from '../src/agent/permission-rule.ts'
import { decide, nobodyToAsk } from '../src/agent/permissions.ts'
import type { Access, PermissionRules } from '../src/agent/permissions.ts'

const MODES: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan', 'bypassPermissions']

function rules(changes: Partial<PermissionRules> = {}): PermissionRules {
  return {
    mode: 'default',
    root: '/project',
    asideDir: '/home/.loci/projects/p/s/tool-results',
    memoryDirs: ['/home/.loci/projects/p/memory', '/home/.loci/memory'],
    configDir: '/home/.loci',
    directories: [],
    userHome: '/home',
    allow: [],
    ask: [],
    deny: [],
    ...changes,
  }
}

const read = (path: string): Access => ({ kind: 'read', path })
const edit = (path: string): Access => ({ kind: 'edit', path })
const command = (text: string): Access => ({ kind: 'command', command: text })

/** Tool, access, and the decision in default, acceptEdits, plan and bypassPermissions: allow, ask, refuse. */
const TABLE: readonly [string, Access, string][] = [
  // Reading: the project and memory at once, elsewhere after asking. Plan mode asks too: it changes nothing.
  ['Read', read('/project'), 'allow allow allow allow'],
  ['Read', read('/project/a'), 'allow allow allow allow'],
  ['Read', read('/project/.git/config'), 'allow allow allow allow'],
  ['Read', read('/project/..a'), 'allow allow allow allow'],
  ['Read', read('/project-evil/a'), 'ask ask ask allow'],
  ['Read', read('/projec'), 'ask ask ask allow'],
  ['Read', read('/'), 'ask ask ask allow'],
  ['Read', read('/etc/passwd'), 'ask ask ask allow'],
  ['Read', read('/home/.loci/projects/p/memory/a.md'), 'allow allow allow allow'],
  ['Read', read('/home/.loci/projects/p/memory/logs/2026/11/2026-11-30.MD'), 'allow allow allow allow'],
  // Settings can name any folder as memory; what is no memory in it is asked about.
  ['Read', read('/home/.loci/projects/p/memory/id_rsa'), 'ask ask ask allow'],
  ['Read', read('/home/.loci/projects/p/memory-evil/a.md'), 'ask ask ask allow'],
  ['Read', read('/home/.loci/projects/p/s/tool-results/1.txt'), 'allow allow allow allow'],
  ['Read', read('/home/.loci/projects/p/s.jsonl'), 'ask ask ask allow'],
  // Editing
  ['Edit', edit('/project/a'), 'ask allow refuse allow'],
  ['Write', edit('/project/new/dir/a'), 'ask allow refuse allow'],
  ['Write', edit('/project'), 'ask allow refuse allow'],
  ['Write', edit('/project/..a'), 'ask allow refuse allow'],
  ['Write', edit('/project/.gitignore'), 'ask allow refuse allow'],
  ['Write', edit('/project-evil/a'), 'ask ask refuse allow'],
  ['Write', edit('/a'), 'ask ask refuse allow'],
  ['Write', edit('/home/a'), 'ask ask refuse allow'],
  ['Write', edit('/home/.loci-other/a'), 'ask ask refuse allow'],
  ['Write', edit('/project/.git'), 'ask ask refuse allow'],
  ['Write', edit('/project/.git/hooks/pre-commit'), 'ask ask refuse allow'],
  ['Write', edit('/project/sub/.git/config'), 'ask ask refuse allow'],
  ['Write', edit('/project/.GIT/config'), 'ask ask refuse allow'],
  ['Write', edit('/project/.claude/settings.local.json'), 'ask ask refuse allow'],
  ['Write', edit('/project/sub/.claude/settings.json'), 'ask ask refuse allow'],
  ['Write', edit('/home/.loci/settings.json'), 'refuse refuse refuse refuse'],
  ['Write', edit('/home/.loci'), 'refuse refuse refuse refuse'],
  ['Edit', edit('/home/.loci/projects/p/s.jsonl'), 'refuse refuse refuse refuse'],
  ['Edit', edit('/home/.loci/projects/p/memory/MEMORY.md'), 'refuse refuse refuse refuse'],
  ['Edit', edit('/home/.loci/memory/a.md'), 'refuse refuse refuse refuse'],
  // The rest
  ['Bash', command('ls'), 'ask ask refuse allow'],
  ['SaveMemory', { kind: 'memory' }, 'allow allow refuse allow'],
  ['SearchMemory', { kind: 'recall' }, 'allow allow allow allow'],
]

function row(toolName: string, access: Access, changes: Partial<PermissionRules> = {}): string {
  return MODES.map((mode) => decide(toolName, access, rules({ ...changes, mode })).kind).join(' ')
}

describe('the decision in each mode', () => {
  test.for(TABLE)('%s %o: %s', ([toolName, access, expected]) => {
    expect(row(toolName, access)).toBe(expected)
  })

  test('a rule that names a tool allows what it does in the project, and no more', () => {
    const approved = { allow: [parseRule('Write')] }
    expect(row('Write', edit('/project/a'), approved)).toBe('allow allow refuse allow')
    expect(row('Write', edit('/project/.git/config'), approved)).toBe('ask ask refuse allow')
    expect(row('Write', edit('/elsewhere/a'), approved)).toBe('ask ask refuse allow')
    expect(row('Write', edit('/home/.loci/memory/a.md'), approved)).toBe('refuse refuse refuse refuse')
    for (const [toolName, access, expected] of TABLE.filter(([name]) => name !== 'Write'))
      expect(row(toolName, access, approved)).toBe(expected)
    const both = { allow: [parseRule('Edit')] }
    expect(row('Write', edit('/project/a'), both)).toBe('allow allow refuse allow')
    expect(row('Bash', command('ls'), { allow: [parseRule('Bash')] })).toBe('allow allow refuse allow')
    expect(row('Read', read('/etc/passwd'), { allow: [parseRule('Read')] })).toBe('allow allow allow allow')
  })

  test('another directory is as open as the project, its guarded files are guarded', () => {
    const directories = ['/elsewhere']
    expect(row('Read', read('/elsewhere/a'), { directories })).toBe('allow allow allow allow')
    expect(row('Edit', edit('/elsewhere/a'), { directories })).toBe('ask allow refuse allow')
    expect(row('Edit', edit('/elsewhere/.git/config'), { directories })).toBe('ask ask refuse allow')
    expect(row('Edit', edit('/elsewhere2/a'), { directories })).toBe('ask ask refuse allow')
  })

  test('a project below a guarded name is not guarded', () => {
    expect(row('Edit', edit('/u/.claude/p/a'), { root: '/u/.claude/p' })).toBe('ask allow refuse allow')
  })

  test('a config home inside the project is no part of it, and memory outside the config home is memory', () => {
    const inside = { configDir: '/project/.loci', memoryDirs: ['/project/notes'] }
    expect(row('Write', edit('/project/.loci/projects/a'), inside)).toBe('refuse refuse refuse refuse')
    expect(row('Write', edit('/project/notes/a.md'), inside)).toBe('refuse refuse refuse refuse')
    expect(row('Write', edit('/project/a'), inside)).toBe('ask allow refuse allow')
  })

  test('a project that is the root of the file system holds everything', () => {
    expect(row('Write', edit('/etc/passwd'), { root: '/' })).toBe('ask allow refuse allow')
    expect(row('Write', edit('/home/.loci/settings.json'), { root: '/' })).toBe('refuse refuse refuse refuse')
  })

  test('a refusal says what to do, or why not', () => {
    const reason = (access: Access, mode: PermissionMode = 'default'): unknown =>
      decide('Edit', access, rules({ mode }))
    expect(reason(edit('/home/.loci/memory/a.md'))).toMatchObject({
      reason: 'Memory is changed with SaveMemory, not by editing its files.',
    })
    expect(reason(edit('/home/.loci/settings.json'))).toMatchObject({
      reason: '/home/.loci holds sessions and their history; no tool edits it.',
    })
    expect(reason(edit('/project/a'), 'plan')).toMatchObject({ reason: 'In plan mode nothing is changed.' })
  })
})

describe('where nobody can be asked', () => {
  test.for([
    ['Edit', edit('/project/a'), /Start loci with --permission-mode acceptEdits .*or bypassPermissions/],
    ['Edit', edit('/project/.git/config'), /Start loci with --permission-mode bypassPermissions/],
    ['Edit', edit('/elsewhere/a'), /Start loci with --permission-mode bypassPermissions/],
    ['Read', read('/etc/passwd'), /Start loci with --permission-mode bypassPermissions/],
    ['Bash', command('ls'), /Start loci with --permission-mode bypassPermissions/],
  ] as const)('%s %o is told the flag that helps, and it does', ([toolName, access, message]) => {
    const text = nobodyToAsk(toolName, access, rules(), undefined)
    expect(text).toMatch(message)
    expect(text).toMatch(new RegExp(`^${toolName} was not allowed: nobody is there to ask\\.`))
    expect(text).not.toContain('\n')
    const [, flag] = /--permission-mode (\w+)/.exec(text) ?? []
    const mode = MODES.find((one) => one === flag)
    expect(decide(toolName, access, rules(mode === undefined ? {} : { mode })).kind).toBe('allow')
  })

  test('a rule that asks is named', () => {
    const asking = rules({ ask: [parseRule('Bash(git push:*)')], mode: 'bypassPermissions' })
    const decision = decide('Bash', command('git push -f'), asking)
    expect(decision).toEqual({ kind: 'ask', rule: 'Bash(git push:*)' })
    expect(nobodyToAsk('Bash', command('git push -f'), asking, 'Bash(git push:*)')).toBe(
      'Bash was not allowed: the rule Bash(git push:*) asks, and nobody is there to ask.',
    )
  })
})
