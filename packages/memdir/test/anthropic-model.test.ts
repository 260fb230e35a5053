import { openMemdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import type { MemoryToolHandlers } from '@loci/memdir/anthropic'
import { isLociError } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { directoryModel } from './directory-model.ts'
import { times } from './thorough.ts'

type Call = {
  [K in keyof MemoryToolHandlers]: [K, Parameters<MemoryToolHandlers[K]>[0]]
}[keyof MemoryToolHandlers]

const path = fc.constantFrom(
  ...['a.md', 'b.md', 'd/a.md', 'd/b c.md', 'd/e/a.md', 'f/e/b.md', 'd', 'd/e', 'f', 'g/h', '(x).md', ''].map(
    (file) => `/memories/${file}`,
  ),
)
const head = '---\nname: one\ndescription: two\n---\n'
const text = fc.constantFrom(
  'one',
  'one\ntwo',
  'two one\n',
  '# three\n\nfour one\n',
  `${head}one\n`,
  `${head}\nfour\n\n`,
  '[x](b.md)',
  '- one\r\ntwo\r\n',
)
const word = fc.constantFrom('one', 'two', 'three', 'four', 'e', 'one\ntwo')
const call: fc.Arbitrary<Call> = fc.oneof(
  fc.record({ path }).map((input): Call => ['view', input]),
  fc.record({ path, file_text: text }).map((input): Call => ['create', input]),
  fc.record({ path, file_text: text }).map((input): Call => ['create', input]),
  fc.record({ path, old_str: word, new_str: word }).map((input): Call => ['str_replace', input]),
  fc
    .record({
      path,
      insert_line: fc.integer({ min: -1, max: 6 }),
      insert_text: fc.constantFrom('# one', '# new\n'),
    })
    .map((input): Call => ['insert', input]),
  fc.record({ path }).map((input): Call => ['delete', input]),
  fc.record({ old_path: path, new_path: path }).map((input): Call => ['rename', input]),
)

async function run(handlers: MemoryToolHandlers, [name, input]: Call): Promise<string | undefined> {
  try {
    // Each call has the input of its command.
    return await (handlers[name] as (input: unknown) => Promise<string>)(input)
  } catch (error) {
    if (isLociError(error)) return undefined
    throw error
  }
}

test('random commands do what they would do to a plain directory, and the index follows every one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 25 }), async (calls) => {
      const work = await tree()
      try {
        const memdir = await openMemdir({ dir: work.path('memory') })
        const handlers = memoryToolHandlers(memdir)
        const model = directoryModel()
        for (const one of calls) {
          const expected = model.run(one)
          const answer = await run(handlers, one)
          expect(answer !== undefined, JSON.stringify(one)).toBe(expected)
          const snapshot = await work.snapshot()
          const topics = Object.entries(snapshot).flatMap(([name, file]) =>
            /\/\.|MEMORY\.md$/.test(name) || !('text' in file)
              ? []
              : [[name.slice('memory/'.length), file.text] as const],
          )
          expect(Object.fromEntries(topics)).toEqual(Object.fromEntries(model.files))
          const { entries } = await memdir.index()
          expect(entries.map(({ file }) => file).toSorted()).toEqual([...model.files.keys()].toSorted())
        }
        const kinds = new Set((await memdir.verify()).map(({ kind }) => kind))
        kinds.delete('no-front-matter')
        expect([...kinds]).toEqual([])
      } finally {
        await work.remove()
      }
    }),
    { numRuns: times(40, 200) },
  )
})
