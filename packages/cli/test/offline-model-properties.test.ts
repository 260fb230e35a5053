import { execFileSync } from 'node:child_process'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { answerOffline } from '../src/offline-model/offline-model.ts'
import { ALL_TOOLS, Dialogue, callsOf, firstAnswer, requestOf, textOf } from './offline-model-room.ts'
import type { Answer } from './offline-model-room.ts'

const WORDS = [
  'remember',
  'that',
  'create',
  'a.txt',
  'with',
  'replace',
  'in',
  'append',
  'to',
  'delete',
  'read',
  'run',
  'ls',
  'what',
  'is',
  '?',
  'then',
  ';',
  '\n',
  '\n\n',
  '"',
  "'",
  '`',
  '```',
  '“',
  '”',
  '「',
  '」',
  '\\',
  '\\n',
  'file',
  'please',
  '记住',
  '创建',
  '内容为',
  '把',
  '中的',
  '替换成',
  '在',
  '末尾追加',
  '删除',
  '读取',
  '运行',
  '什么',
  '然后',
  '，再',
  '，',
  '。',
  '\uE000',
  '\uE0000\uE001',
  '\uE001',
  '<context ',
  '😀',
  '',
  'all',
  'everywhere',
]
const prompts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .array(fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 5 })), { maxLength: 40 })
    .map((words) => words.join(' ')),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((words) => words.join('')),
)
const results: fc.Arbitrary<Answer> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'binary' }).map((error) => ({ error })),
  fc.constantFrom('No memory fits.', '(the file is empty)', '(no output)', 'a.md (project, user): b'),
  fc.constant({ error: 'ENOENT: no such file' }),
)

test('any prompt comes to an end within 12 answers, none of them empty, whatever the tools say', () => {
  fc.assert(
    fc.property(prompts, fc.infiniteStream(results), (prompt, stream) => {
      const talk = new Dialogue((): Answer => stream.next().value ?? '')
      const said = talk.say(prompt)
      expect(said.trim()).not.toBe('')
      expect(said).not.toMatch(/\p{Cs}/u)
      for (const { name } of talk.calls) expect(ALL_TOOLS).toContain(name)
    }),
    { numRuns: 2000 },
  )
})

test('the same request has the same answer, and is left as it was', () => {
  fc.assert(
    fc.property(prompts, (prompt) => {
      const request = requestOf([{ role: 'user', content: prompt === '' ? 'x' : prompt }])
      const before = JSON.stringify(request)
      expect(answerOffline(request)).toEqual(answerOffline(request))
      expect(JSON.stringify(request)).toBe(before)
    }),
  )
})

test('a request with any name of a tool in its messages is answered', () => {
  fc.assert(
    fc.property(
      prompts,
      fc.array(fc.tuple(fc.string(), fc.jsonValue(), fc.option(results))),
      (prompt, calls) => {
        const messages = calls.flatMap(([name, input, result], n) => [
          { role: 'assistant' as const, content: [{ type: 'tool_use' as const, id: `t${n}`, name, input }] },
          {
            role: 'user' as const,
            content:
              result === null
                ? []
                : [
                    {
                      type: 'tool_result' as const,
                      tool_use_id: `t${n}`,
                      content: typeof result === 'string' ? result : result.error,
                    },
                  ],
          },
        ])
        const answer = answerOffline(requestOf([{ role: 'user', content: prompt }, ...messages]))
        expect(answer.content.length).toBeGreaterThan(0)
      },
    ),
  )
})

/** A name as someone would quote it. */
const quoted = (name: string): string => `"${name.replace(/[\\"]/g, String.raw`\$&`)}"`

test('what is quoted reaches the tool as it is', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => !/\n\s*\n/.test(value))
  fc.assert(
    fc.property(text, text, (file, content) => {
      expect(callsOf(firstAnswer(`create ${quoted(file)} with ${quoted(content)}`))).toEqual([
        {
          name: 'Write',
          input: { file_path: file, content: content.endsWith('\n') ? content : `${content}\n` },
        },
      ])
    }),
  )
})

test('rm is told exactly the name, whatever is in it', () => {
  const name = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 30 })
    .filter((value) => !value.includes('\0'))
  const hostile = fc.constantFrom(
    "'; echo x; '",
    '$(id)',
    '`id`',
    '-rf',
    "a\\'b",
    '*',
    '~',
    'a b',
    "''",
    '!!',
    '\\',
  )
  fc.assert(
    fc.property(fc.oneof(name, hostile), (file) => {
      const [call] = callsOf(firstAnswer(`delete ${quoted(file)}`))
      const command = String(call?.input['command'])
      expect(command.startsWith('rm -- ')).toBe(true)
      // A shell's own reading of the word, without the program.
      const word = command.slice('rm -- '.length)
      expect(word.replaceAll(String.raw`'\''`, '').slice(1, -1)).not.toContain("'")
      expect(word.slice(1, -1).replaceAll(String.raw`'\''`, "'")).toBe(file)
    }),
  )
})

test('a shell reads that word as one argument', () => {
  for (const file of ["'; echo x; '", '$(id)', '`id`', '-rf', "a\\'b", '*', '~', 'a\nb', "''", '!!']) {
    const command = String(callsOf(firstAnswer(`delete ${quoted(file)}`))[0]?.input['command'])
    const printed = execFileSync('bash', ['-c', command.replace('rm --', "printf '%s|'")], {
      encoding: 'utf8',
    })
    expect(printed).toBe(`${file}|`)
  }
})

test('long prompts are answered in a moment, whatever they are made of', () => {
  for (const word of [
    '"',
    "'",
    '“',
    '`',
    ' ',
    '\n',
    'then ',
    ' with in ',
    'a ',
    '把 中 ',
    'replace a with b in ',
    ';x',
    '\\',
  ])
    expect(textOf(firstAnswer(`replace ${word.repeat(5000)}`))).not.toBe('')
})
