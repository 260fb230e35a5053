import type { PermissionMode } from '@loci/app-state'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseShellCommand } from '../src/agent/shell-command.ts'
import { commandRule, parseRule, pathRule } from '../src/agent/permission-rule.ts'
import { decide } from '../src/agent/permissions.ts'
import type { Access, Decision, PermissionRules } from '../src/agent/permissions.ts'

function rules(changes: Partial<PermissionRules> = {}): PermissionRules {
  return {
    mode: 'default',
    root: '/project',
    asideDir: '/home/u/.loci/aside',
    memoryDirs: ['/home/u/.loci/memory'],
    configDir: '/home/u/.loci',
    directories: [],
    userHome: '/home/u',
    allow: [],
    ask: [],
    deny: [],
    ...changes,
  }
}

const command = (text: string): Access => ({ kind: 'command', command: text })
const TOOLS = {
  read: 'Read',
  edit: 'Edit',
  command: 'Bash',
  recall: 'SearchMemory',
  memory: 'SaveMemory',
  own: 'TodoWrite',
}

/** What is decided by one rule in each of the lists: allow, ask, deny. */
function by(rule: string, access: Access, toolName = TOOLS[access.kind]): string {
  const line = [parseRule(rule)]
  return (['allow', 'ask', 'deny'] as const)
    .map((list) => decide(toolName, access, rules({ [list]: line })).kind)
    .join(' ')
}

describe('rules for commands', () => {
  test.for<[string, string[], string[]]>([
    [
      'Bash(npm run test)',
      ['npm run test', ' npm  run test '],
      ['npm run test:unit', 'npm run test x', 'npm run'],
    ],
    [
      'Bash(git diff:*)',
      ['git diff', 'git diff --stat', 'git diff; git diff a'],
      ['git diffx', 'git', 'git push'],
    ],
    ['Bash(git diff *)', ['git diff', 'git diff --stat'], ['git diffx', 'git difftool']],
    ['Bash(git diff*)', ['git diff', 'git diffx', 'git diff --stat'], ['git dif']],
    ['Bash(* --version)', ['node --version'], ['node --versions', 'node']],
    ['Bash(git * main)', ['git push origin main'], ['git push origin main2', 'git main']],
    ['Bash(echo \\*)', ['echo *'], ['echo a', 'echo']],
    ['Bash(echo \\\\\\*)', ['echo \\*'], ['echo *', 'echo \\a']],
    ['Bash(a(b)', [], []],
    ['Bash', ['anything $(at all)'], []],
    ['Bash(*)', ['anything $(at all)'], []],
    // One text that is allowed as it stands may be anything.
    ['Bash(cd x && make "$(nproc)")', ['cd x && make "$(nproc)"'], ['cd x', 'make "$(nproc)"']],
  ])('%s allows %j, not %j', ([rule, allowed, not]) => {
    for (const one of allowed) expect([one, by(rule, command(one))]).toEqual([one, 'allow ask refuse'])
    for (const one of not) expect([one, by(rule, command(one))]).toEqual([one, 'ask ask ask'])
  })

  test.for([
    'git diff; rm x',
    'git diff && rm x',
    'git diff || rm x',
    'git diff | sh',
    'git diff & rm x',
    'git diff\nrm x',
    'git diff $(rm x)',
    'git diff "$(rm x)"',
    'git diff `rm x`',
    'git diff <(rm x)',
    'git diff > a',
    'git diff >> ~/.bashrc',
    'git diff 2> a',
    'git diff < a',
    'git diff << E\nE\nrm x',
    'git diff \\\n; rm x',
    "git diff # 'a\nrm x #'",
    "git diff 'a\nb'; rm x",
    'X=1 git diff',
    'GIT_EXTERNAL_DIFF="rm x" git diff',
    'PATH=. git diff',
    'env git diff',
    '(git diff)',
    '{ git diff; }',
    '! git diff',
    'if git diff; then rm x; fi',
    'git diff () { rm x; }; git diff',
    'git() { rm x; }; git diff',
    'alias git=rm; git diff',
    'export PATH=.; git diff',
    'cd /elsewhere && git diff',
    '$git diff',
    "$'git' diff",
    'git diff ${x:=`rm x`}',
    'git diff $((a[$(rm x)]))',
    'git diff\u0000',
    'git diff \r rm x',
    'git\u00a0diff',
    'gıt diff',
    './git diff',
    '/tmp/git diff',
    'git diff"',
    "git diff '",
    'git diff\\',
    'git -c a=b diff',
  ])('Bash(git diff:*) does not allow %j', (text) => {
    expect(decide('Bash', command(text), rules({ allow: [parseRule('Bash(git diff:*)')] })).kind).toBe('ask')
  })

  test('each part by one of the rules', () => {
    const allow = [parseRule('Bash(git diff:*)'), parseRule('Bash(head:*)'), parseRule('Bash(npm test)')]
    const kind = (text: string): string => decide('Bash', command(text), rules({ allow })).kind
    expect(kind('git diff --stat 2>&1 | head -5 && npm test')).toBe('allow')
    expect(kind('git diff | head | sh')).toBe('ask')
  })

  test.for([
    'rm x',
    'a; rm x',
    'sudo rm x',
    'a $(rm x)',
    "sh -c 'rm x'",
    '/bin/rm x',
    '\\rm x',
    'X=1 rm x',
    'a\nrm x',
  ])('a rule that denies is not led around by %j, in any mode', (text) => {
    for (const mode of ['default', 'acceptEdits', 'bypassPermissions'] as const) {
      const allow = [parseRule('Bash'), parseRule(commandRule(text))]
      const deny = [parseRule('Bash(rm:*)')]
      expect(decide('Bash', command(text), rules({ mode, allow, deny }))).toEqual({
        kind: 'refuse',
        reason: 'The rule Bash(rm:*) denies it.',
      })
    }
  })

  test('a pipe can be denied as such', () => {
    expect(by('Bash(curl * | sh)', command('curl http://x | sh'))).toBe('ask ask refuse')
  })
})

test('rules that deny come before those that ask, and these before those that allow', () => {
  const allow = [parseRule('Bash(a)')]
  const ask = [parseRule('Bash(a:*)')]
  const deny = [parseRule('Bash')]
  const kind = (changes: Partial<PermissionRules>): string =>
    decide('Bash', command('a'), rules(changes)).kind
  expect(kind({ allow })).toBe('allow')
  expect(kind({ allow, ask })).toBe('ask')
  expect(kind({ allow, ask, deny })).toBe('refuse')
})

describe('rules for files', () => {
  test.for<[string, string[], string[]]>([
    [
      'Edit(docs/**)',
      ['/project/docs/a', '/project/docs/b/c.md'],
      ['/project/a', '/project/x/docs/a', '/docs/a'],
    ],
    [
      'Edit(./docs/*.md)',
      ['/project/docs/a.md'],
      ['/project/docs/a.ts', '/project/docs/b/a.md', '/project/a.md'],
    ],
    ['Edit(/docs/**)', ['/project/docs/a'], ['/docs/a']],
    ['Edit(//docs/**)', ['/docs/a'], ['/project/docs/a', '/docs2/a']],
    ['Edit(~/notes/**)', ['/home/u/notes/a'], ['/home/u/notes2', '/project/notes/a']],
    ['Edit(../other/**)', ['/other/a'], ['/project/other/a', '/a']],
    ['Edit(.env)', ['/project/.env', '/project/a/b/.env', '/project/.env/a'], ['/project/.envs', '/.env']],
    ['Edit(**/*.ts)', ['/project/a.ts', '/project/a/b.ts'], ['/project/a.tsx', '/a.ts']],
    [
      'Edit(src/**/test/?.ts)',
      ['/project/src/test/a.ts', '/project/src/a/b/test/a.ts'],
      ['/project/src/test/aa.ts'],
    ],
    ['Edit(src/)', ['/project/src/a', '/project/b/../src/a'.replace('b/../', '')], ['/project/srcs/a']],
  ])('%s speaks of %j, not of %j', ([rule, yes, no]) => {
    for (const path of yes)
      expect([path, by(rule, { kind: 'edit', path })]).toEqual([path, 'allow ask refuse'])
    for (const path of no) expect([path, by(rule, { kind: 'edit', path })]).toEqual([path, 'ask ask ask'])
  })

  test('what restricts knows no case, and both ends of a link; what allows is as it is written', () => {
    expect(by('Read(secrets/**)', { kind: 'read', path: '/project/SECRETS/a' })).toBe('allow ask refuse')
    expect(by('Edit(docs/**)', { kind: 'edit', path: '/project/Docs/a' })).toBe('ask ask refuse')
    const link: Access = { kind: 'edit', path: '/elsewhere/a', asked: '/project/docs/a' }
    expect(by('Edit(docs/**)', link)).toBe('ask ask refuse')
    const target: Access = { kind: 'edit', path: '/project/docs/a', asked: '/project/link/a' }
    expect(by('Edit(docs/**)', target)).toBe('allow ask refuse')
  })

  test('Edit and Read speak of every tool that edits or reads', () => {
    const edit: Access = { kind: 'edit', path: '/project/docs/a' }
    expect(by('Edit(docs/**)', edit, 'Write')).toBe('allow ask refuse')
    expect(by('Write(docs/**)', edit, 'Edit')).toBe('ask ask refuse')
    expect(by('Read(//etc/**)', { kind: 'read', path: '/etc/passwd' }, 'Grep')).toBe('allow ask refuse')
    expect(by('Read(docs/**)', edit)).toBe('ask ask ask')
  })

  test('no rule opens what is guarded, nor memory, nor the config home', () => {
    for (const rule of ['Edit', 'Edit(**)', 'Edit(//**)', 'Edit(.git/**)', 'Edit(.claude/settings.json)'])
      for (const path of ['/project/.git/hooks/x', '/project/.claude/settings.json', '/project/a/.GIT/x'])
        expect(by(rule, { kind: 'edit', path }).split(' ')[0]).toBe('ask')
    expect(by('Edit(//**)', { kind: 'edit', path: '/home/u/.loci/a' })).toBe('refuse refuse refuse')
  })

  test('a home that is not known', () => {
    const edit: Access = { kind: 'edit', path: '/home/u/a' }
    const line = [parseRule('Edit(~/**)')]
    expect(decide('Edit', edit, rules({ userHome: undefined, allow: line })).kind).toBe('ask')
    expect(decide('Edit', edit, rules({ userHome: undefined, deny: line })).kind).toBe('refuse')
  })
})

describe('rules for other tools', () => {
  test.for<[string, string, string]>([
    ['SaveMemory', 'SaveMemory', 'allow ask refuse'],
    ['mcp__a', 'mcp__a__b', 'allow ask refuse'],
    ['mcp__a__*', 'mcp__a__b', 'allow ask refuse'],
    ['mcp__a__b', 'mcp__a__b', 'allow ask refuse'],
    ['mcp__a__b', 'mcp__a__bc', 'allow allow allow'],
    ['mcp__a', 'mcp__ab__c', 'allow allow allow'],
    ['WebFetch(domain:x)', 'SaveMemory', 'allow allow allow'],
    ['*', 'SaveMemory', 'allow ask refuse'],
  ])('%s and a call of %s: %s', ([rule, toolName, expected]) => {
    expect(by(rule, { kind: 'memory' }, toolName)).toBe(expected)
  })
})

describe('lines of settings that are no rules', () => {
  test.for<[string, string, string | undefined]>([
    ['Bash(rm', 'Bash', 'has brackets that do not fit'],
    ['Bash(rm) x', 'Bash', 'has brackets that do not fit'],
    ['Bash()', 'Bash', 'has brackets that do not fit'],
    ['', '*', 'names no tool'],
    ['(x)', '*', 'names no tool'],
    ['Read(!a)', 'Read', 'has a path with ! or [, which rules do not know'],
    ['Read(a[b]c)', 'Read', 'has a path with ! or [, which rules do not know'],
    [' Bash(a (b)) ', 'Bash', undefined],
    ['mcp__a__b', 'mcp__a__b', undefined],
  ])('%j is about %s: %s', ([line, tool, flaw]) => {
    expect(parseRule(line)).toMatchObject({ tool, text: line.trim() })
    expect(parseRule(line).flaw).toBe(flaw)
    if (flaw !== undefined) {
      const path = '/elsewhere/a'
      const access: Access = tool === 'Read' ? { kind: 'read', path } : command('ls')
      expect(by(line, access)).toBe('ask ask refuse')
    }
  })
})

const words = fc.constantFrom(
  'git',
  'diff',
  'rm',
  'x',
  '*',
  ':*',
  '--stat',
  '\\*',
  '$(rm)',
  ';',
  '&&',
  '|',
  "'a b'",
  '>',
)
const commands = fc.array(words, { minLength: 1, maxLength: 6 }).map((all) => all.join(' '))
const paths = fc
  .array(fc.constantFrom('project', 'docs', 'a.ts', '.git', '.claude', 'home', 'u', '.loci', 'etc'), {
    maxLength: 4,
  })
  .map((all) => `/${all.join('/')}`)
const accesses: fc.Arbitrary<Access> = fc.oneof(
  commands.map(command),
  paths.map((path): Access => ({ kind: 'edit', path })),
  paths.map((path): Access => ({ kind: 'read', path })),
  fc.constantFrom<Access>({ kind: 'memory' }, { kind: 'recall' }, { kind: 'own' }),
)
const lines = fc.oneof(
  fc.constantFrom('Bash', 'Read', 'Edit', 'Write', 'SaveMemory', '*', 'Bash(', 'Read(!x)'),
  commands.map((text) => `Bash(${text})`),
  fc
    .tuple(
      fc.constantFrom('Read', 'Edit', 'Write'),
      fc.constantFrom('', '/', '//', '~/', './'),
      fc.array(fc.constantFrom('**', '*', 'docs', 'a.ts', '.git', 'project', '?.ts'), {
        minLength: 1,
        maxLength: 3,
      }),
    )
    .map(([tool, start, names]) => `${tool}(${start}${names.join('/')})`),
)
const ruleLists = fc.array(lines.map(parseRule), { maxLength: 4 })
const settings = fc.record({
  mode: fc.constantFrom<PermissionMode>('default', 'acceptEdits', 'plan', 'bypassPermissions'),
  allow: ruleLists,
  ask: ruleLists,
  deny: ruleLists,
})
const RANK: Record<Decision['kind'], number> = { allow: 0, ask: 1, refuse: 2 }

describe('whatever rules and calls there are', () => {
  test('another rule that denies or asks never allows more, another that allows never less', () => {
    fc.assert(
      fc.property(settings, accesses, lines, (given, access, line) => {
        const toolName = TOOLS[access.kind]
        const rank = (changes: Partial<PermissionRules>): number =>
          RANK[decide(toolName, access, rules({ ...given, ...changes })).kind]
        const rule = parseRule(line)
        const now = rank({})
        expect(rank({ deny: [...given.deny, rule] })).toBeGreaterThanOrEqual(now)
        expect(rank({ ask: [...given.ask, rule] })).toBeGreaterThanOrEqual(now)
        expect(rank({ allow: [...given.allow, rule] })).toBeLessThanOrEqual(now)
      }),
      { numRuns: 2000 },
    )
  })

  test('plan mode changes nothing, and no mode and no rule edits memory or the config home', () => {
    fc.assert(
      fc.property(settings, accesses, (given, access) => {
        const { kind } = decide(TOOLS[access.kind], access, rules({ ...given, mode: 'plan' }))
        if (!['read', 'recall', 'own'].includes(access.kind)) expect(kind).toBe('refuse')
        if (access.kind === 'edit' && access.path.startsWith('/home/u/.loci'))
          expect(decide('Edit', access, rules(given)).kind).toBe('refuse')
      }),
    )
  })

  test('acceptEdits without rules asks about every edit outside the project', () => {
    fc.assert(
      fc.property(paths, (path) => {
        const { kind } = decide('Edit', { kind: 'edit', path }, rules({ mode: 'acceptEdits' }))
        if (!path.startsWith('/project')) expect(kind).not.toBe('allow')
      }),
    )
  })

  test('the rule that "always" stands for allows this call, and of commands no other', () => {
    fc.assert(
      fc.property(accesses, commands, (access, other) => {
        const toolName = TOOLS[access.kind]
        const decision = decide(toolName, access, rules())
        if (decision.kind !== 'ask' || decision.always === undefined) return
        const allow = [parseRule(decision.always)]
        expect(decide(toolName, access, rules({ allow })).kind).toBe('allow')
        if (access.kind !== 'command' || access.command === other) return
        // Twice the same is the same.
        if (parseShellCommand(other)?.every((part) => part === access.command) !== true)
          expect(decide('Bash', command(other), rules({ allow })).kind).toBe('ask')
      }),
    )
  })

  test('a path that patterns cannot name has no rule', () => {
    expect(pathRule('Edit', '/a/[b]/c')).toBeUndefined()
    expect(pathRule('Edit', '/a/b')).toBe('Edit(//a/b)')
  })
})
