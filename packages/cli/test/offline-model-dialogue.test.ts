import { describe, expect, test } from 'vitest'
import { createMessagesApi } from '../src/messages-api/messages-api.ts'
import { answerOffline } from '../src/offline-model/offline-model.ts'
import { ALL_TOOLS, Dialogue, contextOf, fileTools, requestOf } from './offline-model-room.ts'

const over = (files: Record<string, string>): { files: Map<string, string>; talk: Dialogue } => {
  const map = new Map(Object.entries(files))
  return { files: map, talk: new Dialogue(fileTools(map)) }
}
const names = (talk: Dialogue): string[] => talk.calls.map(({ name }) => name)

describe('several steps', () => {
  test('are done one after another, and each is told', () => {
    const { files, talk } = over({ 'b.txt': 'old and old\n', 'c.txt': '' })
    const said = talk.say(
      'create a.txt with hello, then replace all old with new in b.txt; append "x" to a.txt\ndelete c.txt and then run echo hi',
    )
    expect(names(talk)).toEqual(['Write', 'Read', 'Edit', 'Read', 'Write', 'Bash', 'Bash'])
    expect(Object.fromEntries(files)).toEqual({ 'a.txt': 'hello\nx\n', 'b.txt': 'new and new\n' })
    for (const file of ['a.txt', 'b.txt', 'c.txt']) expect(said).toContain(file)
  })

  test.each([
    ['replace one with two in a.txt', 'two\n', false],
    ['replace "one" in a.txt with "two" everywhere', 'two two\n', true],
    ['replace all one with two in a.txt', 'two two\n', true],
    ['replace every occurrence of one with two in a.txt.', 'two two\n', true],
    ['change the word "one" to "two" in a.txt everywhere', 'two two\n', true],
    ['in a.txt replace all "one" by "two"', 'two two\n', true],
    ['把 a.txt 中的 one 全部替换为 two', 'two two\n', true],
    ['在 a.txt 里把所有「one」改成「two」', 'two two\n', true],
  ])('replace one place or all: %s', (prompt, after, isEverywhere) => {
    const { files, talk } = over({ 'a.txt': isEverywhere ? 'one one\n' : 'one\n' })
    talk.say(prompt)
    expect(files.get('a.txt')).toBe(after)
    expect(talk.calls.at(-1)?.input['replace_all']).toBe(isEverywhere ? true : undefined)
  })

  test.each([
    'append "two" to a.txt',
    'add a line saying "two" to a.txt',
    'append to a.txt: two',
    '在 a.txt 的末尾添加一行「two」',
    '把 two 追加到 a.txt 末尾',
  ])('append a line: %s', (prompt) => {
    const { files, talk } = over({ 'a.txt': 'one\n' })
    talk.say(prompt)
    expect(files.get('a.txt')).toBe('one\ntwo\n')
  })

  test('work in Chinese', () => {
    const { files, talk } = over({ 'b.txt': '甲\n' })
    const said = talk.say(
      '创建 a.txt 内容为「一」，然后把 b.txt 中的「甲」替换成「乙」，再在 a.txt 末尾追加「二」；读取 a.txt',
    )
    expect(Object.fromEntries(files)).toEqual({ 'a.txt': '一\n二\n', 'b.txt': '乙\n' })
    expect(said).toContain('已写入 a.txt')
    expect(said).toContain('一\n二')
  })

  test('are not hidden by apostrophes', () => {
    const { talk } = over({ 'a.txt': 'x\n' })
    talk.say("remember that it doesn't wait then read a.txt then remember the users' names")
    expect(names(talk)).toEqual(['SaveMemory', 'Read', 'SaveMemory'])
  })

  test('stop at an error, which is quoted, and what is left is named', () => {
    const { files, talk } = over({ 'c.txt': 'kept' })
    const said = talk.say('create a.txt with x, then replace old with new in b.txt, then delete c.txt')
    expect(names(talk)).toEqual(['Write', 'Read'])
    expect(files.has('c.txt')).toBe(true)
    expect(said).toContain('I have written a.txt')
    expect(said).toContain('does not exist')
    expect(said).toMatch(/Not done:\n- delete c\.txt/)
  })

  test('a failed command says its first line and its exit code', () => {
    const { talk } = over({})
    expect(talk.say('delete a.txt')).toContain(
      "cannot remove 'a.txt': No such file or directory [exit code 1]",
    )
  })

  test('more than eleven calls are not begun', () => {
    const { talk } = over({})
    const said = talk.say(Array.from({ length: 12 }, (_, n) => `delete ${n}.txt`).join('; '))
    expect(talk.calls).toEqual([])
    expect(said).toContain('I have done nothing')
  })
})

describe('appending', () => {
  test.each([
    ['a file with a last line break', 'one\n', 'one\ntwo\n'],
    ['a file without one', 'one', 'one\ntwo\n'],
    ['a file with CRLF', 'one\r\n', 'one\r\ntwo\r\n'],
    ['an empty file', '', 'two\n'],
  ])('%s', (_, before, after) => {
    const { files, talk } = over({ 'a.txt': before })
    talk.say('append two to a.txt')
    expect(files.get('a.txt')).toBe(after)
  })

  test('makes a file that is not there', () => {
    const { files, talk } = over({})
    talk.say('append two to a.txt')
    expect(files.get('a.txt')).toBe('two\n')
  })

  test.each([
    'one\n[cut: lines 1 to 2000 of 9000; offset 2001 goes on]',
    '<persisted-output>\nThe output has 1 byte\n…',
  ])('changes nothing when it does not see the whole file: %j', (result) => {
    const talk = new Dialogue(() => result)
    expect(talk.say('append two to a.txt')).toContain('too long')
    expect(names(talk)).toEqual(['Read'])
  })

  test('changes nothing when the file cannot be read', () => {
    const talk = new Dialogue(() => ({ error: 'a.txt is no UTF-8 text; use Bash for it' }))
    expect(talk.say('append two to a.txt')).toContain('no UTF-8 text')
    expect(names(talk)).toEqual(['Read'])
  })
})

describe('questions', () => {
  test('find what was said and saved earlier in the conversation, the newest first', () => {
    const { talk } = over({})
    talk.say('remember that the port is 80')
    talk.say('remember that the port is 90')
    const said = talk.say('what is the port?')
    expect(said.indexOf('90')).toBeGreaterThan(-1)
    expect(said.indexOf('90')).toBeLessThan(said.indexOf('80'))
  })

  test('find a line of a file that was read, also in the same turn', () => {
    const { talk } = over({ 'app.conf': 'color = red\nlistenPort = 8080\n' })
    expect(talk.say('read app.conf then what is the color?')).toContain('In app.conf: color = red')
  })

  test('nothing is found in what failed', () => {
    const talk = new Dialogue(({ name }) =>
      name === 'SearchMemory' ? 'No memory fits.' : { error: 'color: red' },
    )
    talk.say('read app.conf')
    expect(talk.say('what is the color?')).toContain('I find nothing about that')
  })

  test('search memory once, and answer from its body', () => {
    const result =
      'project_db.md (project, project): where data is\nrevision abc\nThe database runs on host pegasus.\n\nSecond part.'
    const talk = new Dialogue(() => result)
    const said = talk.say('which host does the database run on?')
    expect(names(talk)).toEqual(['SearchMemory'])
    expect(said).toContain('host pegasus')
    expect(said).toContain('Second part.')
    expect(said).toContain('project_db.md')
    expect(said).not.toContain('revision')
  })

  test('a line of the index that was cut is looked up whole', () => {
    const index = contextOf('memory', '- [hosts](project_hosts.md) — the hosts are a, b, c and…')
    const talk = new Dialogue(() => 'project_hosts.md (project, project): the hosts are a, b, c and d', {
      contexts: [index],
    })
    expect(talk.say('which are the hosts?')).toContain('a, b, c and d')
    expect(names(talk)).toEqual(['SearchMemory'])
  })

  test('when nothing fits it says so, and how to tell it', () => {
    const { talk } = over({})
    const said = talk.say('what is the colour of the bike shed?')
    expect(said).toContain('I find nothing about that in what I was given.')
    expect(said).toContain('remember that')
    expect(names(talk)).toEqual(['SearchMemory'])
  })

  test('what later notes take out of the index is not told any more', () => {
    const contexts = [
      contextOf(
        'memory',
        '- [port](project_port.md) — the port is 80\n- [city](project_city.md) — the city is Oslo',
      ),
      contextOf(
        'memory',
        'The memory has changed since.\nNew in the index:\n- [port](project_port.md) — the port is 90\nNo longer in the index:\n- [port](project_port.md) — the port is 80\n- [city](project_city.md) — the city is Oslo',
      ),
    ]
    const talk = new Dialogue(() => 'No memory fits.', { contexts })
    expect(talk.say('what is the port?')).toBe('From memory (project_port.md): the port is 90')
    expect(talk.say('what is the city?')).toContain('I find nothing')
  })

  test('an emptied memory is empty', () => {
    const contexts = [
      contextOf('memory', '- [port](p.md) — the port is 80'),
      contextOf('memory', 'The memory is empty now.'),
    ]
    expect(new Dialogue(() => '', { contexts }).say('what do you remember?')).toContain('nothing yet')
  })

  test('of its own name a user can be told', () => {
    const { talk } = over({})
    talk.say('remember that I am Bob')
    expect(talk.say('who am I?')).toContain('I am Bob')
  })
})

test('a text that is shown cannot close its own fence, and says how much of it is shown', () => {
  const { talk } = over({ 'a.md': `\`\`\`\`\n${'line\n'.repeat(100)}` })
  const said = talk.say('read a.md')
  expect(said).toContain('60 of 101 lines')
  expect(said).toMatch(/\n`{5}\n````\n/)
})

test('a text is never cut in the middle of a character', () => {
  const { talk } = over({ 'a.txt': `${'a'.repeat(3999)}😀😀` })
  expect(talk.say('read a.txt')).not.toMatch(/\p{Cs}/u)
})

test('each new prompt starts anew: the calls of the one before are not taken for its own', () => {
  const { talk } = over({ 'a.txt': 'x\n' })
  talk.say('read a.txt')
  talk.say('read a.txt')
  expect(names(talk)).toEqual(['Read', 'Read'])
})

test('a turn that was interrupted goes on where it stood, with a call that has no result taken for failed', () => {
  const said = answerOffline(
    requestOf([
      { role: 'user', content: 'delete a.txt then delete b.txt' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'rm' } }],
      },
    ]),
  )
  expect(said.content).toHaveLength(1)
  expect(said.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('it gave no result') })
})

test('every request of a dialogue, and every answer to it, passes the Messages API', async () => {
  const { files, talk } = over({ 'b.txt': 'old\n' })
  talk.say('create a.txt with hello, then replace old with new in b.txt')
  talk.say('what is in b.txt?')
  expect(files.get('b.txt')).toBe('new\n')
  const api = createMessagesApi({ answer: answerOffline })
  for (const [index, { role }] of talk.messages.entries()) {
    if (role !== 'user') continue
    const response = await api.fetch('http://offline.invalid/v1/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(requestOf(talk.messages.slice(0, index + 1), ALL_TOOLS)),
    })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('message_stop')])
  }
})
