import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { forbiddenForms, parseShellCommand } from '../src/agent/shell-command.ts'

describe('the simple commands in a command', () => {
  test.for<[string, string[]]>([
    ['git diff', ['git diff']],
    ['  git   diff\t--stat  ', ['git diff --stat']],
    ['a; b', ['a', 'b']],
    ['a && b || c', ['a', 'b', 'c']],
    ['a | b |& c', ['a', 'b', 'c']],
    ['a & b &', ['a', 'b']],
    ['a\nb\n\n', ['a', 'b']],
    ['a;b&&c', ['a', 'b', 'c']],
    ['a \\\n b', ['a b']],
    ['a\\\nb', ['ab']],
    ["a 'x; y && $(z) `w` # \\'", ["a 'x; y && $(z) `w` # \\'"]],
    ['a "x; y | z" b', ['a "x; y | z" b']],
    ['a "\\$(x) \\`y\\` \\" #"', ['a "\\$(x) \\`y\\` \\" #"']],
    ['grep "x$" y$ z', ['grep "x$" y$ z']],
    ['a \\; b', ['a \\; b']],
    ["a -m 'x\n; y'; b", ["a -m 'x\n; y'", 'b']],
    ['a "x\n\n# y" && b', ['a "x\n\n# y"', 'b']],
    ['a#b c#', ['a#b c#']],
    ['a 2>&1', ['a']],
    ['a 2>&1 | b', ['a', 'b']],
    ['a >/dev/null 2>&1; b', ['a', 'b']],
    ['a &> /dev/null && b', ['a', 'b']],
    ['a 2>/dev/null b', ['a b']],
    ['a </dev/null', ['a']],
    ['a b2>/dev/null', ['a b2']],
    ['FOO=1 a', ['FOO=1 a']],
    ['cd x && a', ['cd x', 'a']],
    ['a {b,c} *.ts ~/x [x]', ['a {b,c} *.ts ~/x [x]']],
    ['éa b', ['éa b']],
  ])('%j', ([command, parts]) => {
    expect(parseShellCommand(command)).toEqual(parts)
  })

  test.for([
    '',
    ' ;',
    'a $(b)',
    'a "$(b)"',
    'a `b`',
    'a "`b`"',
    'a $b',
    'a "${b}"',
    'a ${b@P}',
    'a $((b[$(c)]))',
    "a $'b'",
    'a $"b"',
    'a <(b)',
    'a >(b)',
    'a <<E\nb\nE',
    'a <<<b',
    'a <b',
    'a >b',
    'a >>b',
    'a 2>b',
    'a &>b',
    'a >|b',
    'a <>b',
    'a >&b',
    'a >&1b',
    'a >/dev/nullx',
    'a > /dev/null/../x',
    'a; * b',
    'X=1 ~/b',
    '{a,b}',
    'a >/dev/null$b',
    'a >/dev/null"x"',
    '(a)',
    'a (b)',
    '{ a; }',
    '! a',
    'if a; then b; fi',
    'for x in a; do b; done',
    'while a; do b; done',
    'case a in b) c;; esac',
    'function a { b; }',
    'a() { b; }',
    'time a',
    'coproc a',
    '[[ a ]]',
    "a 'b",
    'a "b',
    'a \\',
    "a # 'x\nb #'",
    '# a',
    'a\rb',
    'a \u0000 b',
    'a \u001b[2K b',
  ])('%j is not taken apart', (command) => {
    expect(parseShellCommand(command)).toBeNull()
  })

  test('bash runs no other programs than those of the parts', async () => {
    const symbols =
      `aa bb cc ; && || | & ' " \\ # $ \` ( ) $( < > 2>&1 >/dev/null &> { } ! = X= then ~ * $X`.split(' ')
    const piece = fc.constantFrom(...symbols, ' ', ' ', '\n', '\\\n')
    const run = promisify(execFile)
    let understood = 0
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 2, maxLength: 14 }), async (pieces) => {
        const command = `aa ${pieces.join('')}`
        const parts = parseShellCommand(command)
        if (parts === null) return
        understood += 1
        // Nothing is found on this path, so all that would run is told to the handler.
        const env = {
          PATH: '/nowhere',
          'BASH_FUNC_command_not_found_handle%%': '() { echo "ran ${1//[[:space:]]/_}" >&9; }',
        }
        const script = `exec 9>&1 >/dev/null 2>&1; eval "$1"; wait`
        const { stdout } = await run('/bin/bash', ['-c', script, 'bash', command], { env, cwd: '/' })
        const bare = parts.map((part) =>
          withoutQuotes(part)
            .replace(/^(?:\w+=\S* )*/, '')
            .replaceAll(/\s/g, '_'),
        )
        for (const [, program = ''] of stdout.matchAll(/^ran (.*)$/gm))
          expect(bare.some((part) => `${part}_`.startsWith(`${program}_`))).toBe(true)
      }),
      { numRuns: 600 },
    )
    expect(understood).toBeGreaterThan(40)
  })
})

/** The words of a simple command as bash takes them. */
function withoutQuotes(part: string): string {
  return part.replace(
    /\\([^])|'([^']*)'|"((?:\\[^]|[^"\\])*)"/g,
    (_all, ...groups: (string | undefined)[]) =>
      groups[0] ?? groups[1] ?? groups[2]?.replace(/\\(["\\$`])/g, '$1') ?? '',
  )
}

describe('what a command may be forbidden by', () => {
  test.for([
    'rm x',
    '/bin/rm x',
    '\\rm x',
    "'rm' x",
    'r""m x',
    'X=1 rm x',
    'sudo rm x',
    'sudo -u bob rm x',
    'env X=1 rm x',
    'command rm x',
    'nohup nice rm x',
    'timeout 5 rm x',
    'a && rm x',
    'a; rm x',
    'a\nrm x',
    'a | rm x',
    'a & rm x',
    'a $(rm x)',
    'a `rm x`',
    'a "$(rm x)"',
    'a <(rm x)',
    '(rm x)',
    '{ rm x; }',
    'if true; then rm x; fi',
    'for i in 1; do rm x; done',
    '! rm x',
    'bash -c "rm x"',
    "sh -c 'a; rm x'",
    'eval rm x',
    "sudo sh -c 'rm x'",
    'bash -c "sh -c \'rm x\'"',
    'find . -exec rm x',
    'echo a >b; rm x',
    "a # 'x\nrm x #'",
    'rm   x',
    'rm \\\n x',
  ])('%j: rm x', (command) => {
    expect([...forbiddenForms(command)]).toContainEqual(expect.stringMatching(/^rm x( |$)/))
  })

  test.for(['echo rm x', "git commit -m 'rm x'", 'git commit -m "a; rm x"', 'rmdir x', 'a-rm x'])(
    '%j runs no rm',
    (command) => {
      expect([...forbiddenForms(command)].filter((form) => /^rm( |$)/.test(form))).toEqual([])
    },
  )

  test('text of any kind is taken apart in time', () => {
    for (const piece of ['sudo ', 'bash -c ', '$(', '"', "'", '\\', 'sh -c "', 'a;', '`'])
      expect(forbiddenForms(piece.repeat(400)).size).toBeGreaterThan(0)
    expect(forbiddenForms(`xargs ${'a '.repeat(50_000)}`).size).toBeLessThan(2000)
  })
})
