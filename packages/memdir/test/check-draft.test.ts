import { openMemdir, saveMemory } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let memdir: Memdir
beforeEach(async () => {
  work = await tree()
  memdir = await openMemdir({ dir: work.path('memory') })
})
afterEach(() => work.remove())

const draft: MemoryDraft = { name: 'N', description: 'd', type: 'user', body: 'B' }
const CODE = '```ts\nconst a = 1\n```'

describe('what is not worth saving is refused with the reason, and writes nothing', () => {
  test.each([
    ['an empty body', { body: '' }, /body is empty/],
    ['a blank body', { body: ' \n\t\r\n' }, /body is empty/],
    ['a blank name', { name: '\n' }, /needs a name/],
    ['a block of code', { body: CODE }, /nothing but a block of code/],
    ['blocks of code', { body: `\n${CODE}\n\n  ~~~~\n~~~\n~~~~~ \n` }, /nothing but a block of code/],
    ['a block of code with CRLF', { body: CODE.replaceAll('\n', '\r\n') }, /nothing but a block of code/],
    ['a block that is not closed', { body: '````\n```\nx' }, /nothing but a block of code/],
    ['a long body', { body: 'x'.repeat(65_536) }, /has 65538 bytes, over the limit of 65536/],
    ['long fields together', { body: '記'.repeat(11_000), hook: '憶'.repeat(11_000) }, /over the limit/],
  ])('%s', async (_, change, reason) => {
    for (const review of [false, true]) {
      const handle = await openMemdir({ dir: work.path('memory'), review })
      await expect(handle.save({ ...draft, ...change })).rejects.toMatchObject({
        code: 'MEMORY_INVALID',
        message: expect.stringMatching(reason),
      })
    }
    expect(await work.snapshot()).toEqual({})
  })

  test.each([
    ['words before a block of code', `Run this:\n${CODE}`],
    ['words after it', `${CODE}\nthat is how.`],
    ['words between two', `${CODE}\nor\n${CODE}`],
    ['code in a line', '```x```'],
    ['words after a block that looks like its end', `${CODE}js\n`.replace('\n```js', '\n```\njs')],
    ['a body as long as may be', 'x'.repeat(65_534)],
    ['words that are indented', '    Tabs.'],
  ])('but not %s', async (_, body) => {
    expect((await memdir.save({ ...draft, body })).memory.body).toBe(body)
  })

  test('a description may be empty', async () => {
    expect((await memdir.save({ ...draft, description: '' })).memory.description).toBe('')
  })
})

describe('M14: what looks like a secret is saved with a warning that says where and by which rule', () => {
  const SECRET = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`

  test.each([
    ['name', { name: `key ${SECRET}`, file: 'x.md' }, /^The name /],
    ['description', { description: `a: ${SECRET}` }, /^The description /],
    ['hook', { hook: SECRET }, /^The hook /],
    ['file name', { file: `${SECRET}.md` }, /^The file name /],
    ['body', { body: `one\r\ntwo\n\`\`\`\n${SECRET}\n\`\`\`\n` }, /^Line 4 of the body /],
  ])('in the %s', async (_, change, where) => {
    for (const review of [true, false]) {
      const handle = await openMemdir({ dir: work.path('memory'), review })
      const { warnings } = await handle.save({ ...draft, ...change })
      expect(warnings).toHaveLength(1)
      expect(warnings?.[0]).toMatch(where)
      expect(warnings?.[0]).toMatch(/looks like a secret \([a-z-]+\)/)
      expect(warnings?.[0]).not.toContain(SECRET.slice(4, 12))
    }
  })

  test('at the door of a plain memory file too', async () => {
    const said = await saveMemory(`one\n${SECRET}`, { file: work.path('MEMORY.md') })
    expect(said).toMatch(/^Saved 2 lines.* Line 2 of what was saved looks like a secret \([a-z-]+\)/)
    expect(said).not.toContain(SECRET.slice(4, 12))
  })

  test('and nothing is said of hashes, ids and words', async () => {
    const body = `See ${'0123456789abcdef'.repeat(2)}01234567, 6ba7b810-9dad-41d1-80b4-00c04fd430c8, password policy.`
    expect(await memdir.save({ ...draft, body })).not.toHaveProperty('warnings')
    expect(await saveMemory(body, { file: work.path('MEMORY.md') })).toMatch(/bytes\)\.$/)
  })
})
