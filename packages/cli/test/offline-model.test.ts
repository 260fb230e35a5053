import { describe, expect, test } from 'vitest'
import { OFFLINE_MODEL_NAME } from '../src/offline-model/offline-model.ts'
import { callsOf, contextOf, firstAnswer, textOf } from './offline-model-room.ts'

const INDEX = contextOf(
  'memory',
  [
    'Index of the memory of this project (/home/me/.loci/memory/MEMORY.md):',
    '',
    '- [indent-4-spaces](feedback_indent_4_spaces.md) — we indent with 4 spaces',
    '- [port](project_port.md) — 数据库的端口是 5432',
    '- [login](project_login.md) — user authentication goes through Okta',
    '- [deploys](<project_de ploys.md>) — releases go out on Fridays',
  ].join('\n'),
)
const DATE = contextOf('date', 'Today is 2026-11-30.')

const write = (file_path: string, content: string): object => ({
  name: 'Write',
  input: { file_path, content },
})
const read = (file_path: string): object => ({ name: 'Read', input: { file_path } })
const bash = (command: string): object => ({ name: 'Bash', input: { command } })
const search = (query: string): object => ({ name: 'SearchMemory', input: { query } })
const save = (input: object): object => ({ name: 'SaveMemory', input: expect.objectContaining(input) })

describe('a prompt becomes a call', () => {
  test.each<[string, object]>([
    ['create a.txt with hello', write('a.txt', 'hello\n')],
    ['Create a file called "my file.txt" containing "x\\n\\ty"', write('my file.txt', 'x\n\ty\n')],
    ['write src/a.ts with content: `const a = 1`', write('src/a.ts', 'const a = 1\n')],
    ['create a.txt with "ends itself\\n"', write('a.txt', 'ends itself\n')],
    ['make an empty file a.txt', write('a.txt', '')],
    ['create Makefile with all:', write('Makefile', 'all:\n')],
    ['overwrite a.txt with x', write('a.txt', 'x\n')],
    ['write "hello" to out.txt', write('out.txt', 'hello\n')],
    ['create a.md with\n# Title\nrun for your life', write('a.md', '# Title\nrun for your life\n')],
    ['create a.md with "one\n\ntwo"', write('a.md', 'one\n\ntwo\n')],
    ['create a.ts with\n```ts\nconst a = "x"\n\nlet b\n```', write('a.ts', 'const a = "x"\n\nlet b\n')],
    ['create a.md with one\nwhat is this?', write('a.md', 'one\nwhat is this?\n')],
    ['create "b.txt" with \uE0000\uE001', write('b.txt', '\uE0000\uE001\n')],
    ['Could you please create h.py with print("hi")?', write('h.py', 'print("hi")\n')],
    ['创建 a.txt 内容为 hello', write('a.txt', 'hello\n')],
    ['新建文件 a.txt，内容是「你好」', write('a.txt', '你好\n')],
    ['请帮我创建一个名为 a.txt 的文件，内容为“x”', write('a.txt', 'x\n')],
    ['写 a.txt 内容是 x', write('a.txt', 'x\n')],
    ['把 "x" 写入 a.txt', write('a.txt', 'x\n')],
    ['replace foo with bar in src/a.ts', read('src/a.ts')],
    ["in 'a b.ts', change x to y", read('a b.ts')],
    ['replace "a" in a.ts with "b"', read('a.ts')],
    ['把 a.ts 中的 foo 替换成 bar', read('a.ts')],
    ['在 a.ts 中把「foo」改为「bar」', read('a.ts')],
    ['append "one more" to a.txt', read('a.txt')],
    ['add the line x to the end of a.txt', read('a.txt')],
    ['在 a.txt 末尾追加 hello', read('a.txt')],
    ['向 a.txt 追加「hello」', read('a.txt')],
    ['delete a.txt.', bash("rm -- 'a.txt'")],
    ["please remove the file 'a b'", bash("rm -- 'a b'")],
    ['delete "it\'s; rm -rf ~"', bash("rm -- 'it'\\''s; rm -rf ~'")],
    ['删除 -rf.txt。', bash("rm -- '-rf.txt'")],
    ['把 a.txt 删掉', bash("rm -- 'a.txt'")],
    ['can you read a.txt?', read('a.txt')],
    ['SHOW ME THE CONTENTS OF src/a.ts PLEASE', read('src/a.ts')],
    ["what's in a.txt?", read('a.txt')],
    ['看看 a.txt 的内容', read('a.txt')],
    ['你能帮我读取 a.txt 吗？', read('a.txt')],
    ['a.txt 里有什么？', read('a.txt')],
    ['run npm test && echo "a; then b"', bash('npm test && echo "a; then b"')],
    ['run: echo a', bash('echo a')],
    ['run echo a; echo b', bash('echo a; echo b')],
    ['run "printf \'a\\n\' \\"x\\""', bash('printf \'a\\n\' "x"')],
    ['执行 `ls; pwd`', bash('ls; pwd')],
    ['运行 ls -la', bash('ls -la')],
    [
      'remember that we indent with 4 spaces',
      {
        name: 'SaveMemory',
        input: {
          name: 'indent-4-spaces',
          description: 'we indent with 4 spaces',
          type: 'feedback',
          body: 'We indent with 4 spaces.',
          scope: 'project',
        },
      },
    ],
    ['please note: the docs are at https://x.y/z', save({ type: 'reference', name: 'docs' })],
    ['remember in all projects that I prefer tabs', save({ description: 'I prefer tabs', scope: 'user' })],
    [
      'remember my name is Bob in all projects',
      save({ description: 'my name is Bob', type: 'user', scope: 'user' }),
    ],
    ['remember that the server is in Oslo', save({ type: 'project', scope: 'project' })],
    [
      '记住我们用4个空格缩进',
      save({ description: '我们用4个空格缩进', type: 'feedback', body: '我们用4个空格缩进。' }),
    ],
    ['记住：在所有项目中，我叫小明', save({ description: '我叫小明', type: 'user', scope: 'user' })],
    ['remember that we build, and then we ship', save({ description: 'we build, and then we ship' })],
    ['what is the weather in Paris?', search('weath pari')],
  ])('%j', (prompt, call) => {
    const answer = firstAnswer(prompt, [DATE, INDEX])
    expect(callsOf(answer)).toEqual([call])
    expect(textOf(answer)).not.toBe('')
  })
})

describe('a prompt is answered without a call', () => {
  test.each<[string, string]>([
    ['what is our indentation?', '4 spaces'],
    ['What is our indentation', 'feedback_indent_4_spaces.md'],
    ['how do we indent?', '4 spaces'],
    ['remember our indentation?', '4 spaces'],
    ['how do users authenticate?', 'Okta'],
    ['when are the releases?', 'Fridays'],
    ['数据库端口是多少？', '5432'],
    ['what do you remember?', 'releases go out on Fridays (project_de ploys.md)'],
    ['你记得什么？', 'we indent with 4 spaces'],
    ['what day is it?', 'Monday, 2026-11-30'],
    ["what's today's date?", '2026-11-30'],
    ['今天星期几？', '星期一'],
    ['forget the indentation', 'loci memory remove'],
    ['忘记缩进', 'loci memory remove'],
    ['hello', "Loci's offline model"],
    ['Thanks!', "Loci's offline model"],
    ['help', 'ANTHROPIC_API_KEY'],
    ['你好', '离线模型'],
    ['谢谢', '离线模型'],
    ['你能做什么？', '离线模型'],
    ['frobnicate the widget', 'did not understand "frobnicate the widget"'],
    ['写一首诗', '没有看懂「写一首诗」'],
    ['delete everything', 'did not understand'],
    ["don't delete a.txt", 'did not understand'],
    ['delete a.txt and b.txt', 'did not understand'],
    ['run the tests', 'did not understand'],
    ['add a test to the suite', 'did not understand'],
    [`replace ${'a '.repeat(3000)}with b in a.txt`, 'did not understand'],
    ['delete "a\0b"', 'did not understand'],
    ['append x to a.txt then frobnicate', 'did not understand "frobnicate", so I have done nothing'],
  ])('%j', (prompt, said) => {
    const answer = firstAnswer(prompt, [DATE, INDEX])
    expect(callsOf(answer)).toEqual([])
    expect(textOf(answer)).toContain(said)
  })
})

describe('what follows an empty line is text, never a request', () => {
  test('it can be asked about', () => {
    const answer = firstAnswer('which port does it use?\n\nport = 8080\nrun rm -rf x\n\ndelete a.txt')
    expect(callsOf(answer)).toEqual([])
    expect(textOf(answer)).toContain('port = 8080')
  })

  test('it is the content of a file that has none yet', () => {
    const [call] = callsOf(firstAnswer('create a.md with\n\none\n\nrun rm x'))
    expect(call).toEqual(write('a.md', 'one\n\nrun rm x\n'))
  })

  test.each(['what is "this\n\nabc"; run rm x', "what is 'it\n\n' then delete a.txt"])(
    'a quote left open cannot reach into it: %j',
    (prompt) => {
      expect(callsOf(firstAnswer(prompt)).filter(({ name }) => name === 'Bash')).toEqual([])
    },
  )

  test('a text of several paragraphs with requests after it is not begun', () => {
    const answer = firstAnswer('create a.md with "one\n\ntwo" then run ls')
    expect(callsOf(answer)).toEqual([])
    expect(textOf(answer)).toContain('I have done nothing')
  })
})

test('without a prompt it says so', () => {
  expect(textOf(firstAnswer(DATE))).toContain('no prompt')
})

test('a date that nobody told is not made up', () => {
  expect(textOf(firstAnswer('what day is it?'))).toBe('I was not told the date.')
})

test('a tool that is not offered is not called', () => {
  for (const prompt of ['remember that x', 'replace a with b in a.ts', 'run ls', '删除 a.txt']) {
    const answer = firstAnswer(prompt, [], ['Read'])
    expect(callsOf(answer)).toEqual([])
    expect(textOf(answer)).toMatch(/is not offered|没有提供/)
  }
})

test('it has a name of its own', () => {
  expect(OFFLINE_MODEL_NAME).toBe('loci-offline')
})
