import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

let work: Tree
beforeAll(async () => {
  work = await tree({ 'project/': '' })
})
afterAll(() => work.remove())

const run = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, ...argv)

test('--help names every command, and sessions --help those of sessions', async () => {
  const all = await run('--help')
  expect(all.code).toBe(0)
  for (const name of ['sessions list', 'history rewind', 'memory save', 'tour'])
    expect(all.out).toContain(`  ${name}`)
  const some = await run('sessions', '--help')
  expect(some.out).toContain('loci sessions tips')
  expect(some.out).toContain('--limit N')
  expect(some.out).not.toContain('memory')
  for (const line of [...all.out.split('\n'), ...some.out.split('\n')])
    expect(line.length).toBeLessThanOrEqual(80)
})

test('without a word and without input it says who answers, and makes nothing', async () => {
  expect(await run()).toMatchObject({ code: 0, out: expect.stringContaining('offline model') })
})

test('--version prints the version and nothing else', async () => {
  expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('global options may stand before or after the command', async () => {
  const before = await run('--json', 'sessions', 'list')
  const after = await run('sessions', 'list', '--json')
  expect(before).toMatchObject({ code: 0, out: '[]\n' })
  expect(after.out).toBe(before.out)
})

test.each([
  [['no', 'such'], 'there is no command "no such"; a prompt is one word: put it in quotes'],
  [['constructor', 'x'], 'there is no command "constructor x"; a prompt is one word: put it in quotes'],
  [
    ['sessions'],
    'sessions needs one of list, search, show, tips, rewind, fork, export, import, rename, tag, archive, unarchive, delete, verify, unlock',
  ],
  [['help', 'nothing'], 'there is no command "nothing"'],
  [['nothing', '--help'], 'there is no command "nothing"'],
  [['sessions', 'lsit'], 'there is no command "sessions lsit"'],
  [['sessions', 'show'], 'sessions show needs SID'],
  [['sessions', 'rewind', 'x'], 'sessions rewind needs ID'],
  [
    ['sessions', 'list', 'extra'],
    'sessions list takes no further word: "extra"; quote words that belong together',
  ],
  [['sessions', 'list', '--scope', 'user'], 'sessions list has no option --scope'],
  [['sessions', 'list', '--limit', '0'], '--limit takes a whole number from 1, not "0"'],
  [['sessions', 'list', '--limit', 'many'], '--limit takes a whole number from 1, not "many"'],
  [['sessions', 'list', '--nonsense'], "Unknown option '--nonsense'"],
  [['sessions', 'list', '--limit'], "Option '--limit <value>' argument missing"],
  [['-p'], '-p needs a prompt: as a word, or on standard input'],
  [['-p', 'two', 'words'], 'a prompt is one word; put it in quotes'],
  [['-p', 'x', '--output-format', 'xml'], '--output-format takes text, json, stream-json, not "xml"'],
  [
    ['-p', 'x', '--permission-mode', 'yes'],
    '--permission-mode takes default, acceptEdits, plan, bypassPermissions, not "yes"',
  ],
  [['-p', 'x', '--session-id', '7'], '--session-id takes a UUID, not "7"'],
  [['-p', 'x', '--fork-session'], '--fork-session needs --resume or --continue'],
  [['-p', 'x', '--continue', '--resume', 'y'], '--continue and --resume say two things; give one'],
  [['-p', 'x', '--scope', 'user'], '-p has no option --scope'],
  [['-p', 'x', '--dry-run'], '-p has no option --dry-run'],
  [['x', '--output-format', 'json'], 'a session has no option --output-format'],
  [['--rewind-files', 'x', '--fork-session'], '--rewind-files has no option --fork-session'],
  [['--rewind-files', 'x', '--continue'], '--rewind-files has no option --continue'],
  [['--rewind-files', 'x', 'y'], '--rewind-files takes no prompt'],
  [['sessions', 'list', '--offline'], 'sessions list has no option --offline'],
  [['sessions', 'export', 'x', '--format', 'pdf'], '--format takes markdown, html, jsonl, not "pdf"'],
  [['memory', 'list', '--scope', 'team'], '--scope takes project, user, not "team"'],
  [
    ['history', 'rewind', 'x', '--on-conflict', 'ask'],
    '--on-conflict takes stop, skip, overwrite, not "ask"',
  ],
  [
    ['sessions', 'list', '--config-dir', ''],
    'there is no config home; give --config-dir or LOCI_CONFIG_DIR a directory',
  ],
])('%j is a usage error of one line, exit code 2', async (argv, what) => {
  const { code, out, err } = await run(...argv)
  expect(err).toBe(`loci: ${what}; see loci --help\n`)
  expect({ code, out }).toEqual({ code: 2, out: '' })
})

test('nothing of this made a directory', async () => {
  expect(await work.snapshot()).toEqual({})
  expect((await run('memory', 'status')).code).toBe(0)
  expect((await run('memory', 'index')).code).toBe(0)
  expect((await run('sessions', 'list', '--all')).code).toBe(0)
  const { readdir } = await import('node:fs/promises')
  expect(await readdir(work.root)).toEqual(['project'])
})
