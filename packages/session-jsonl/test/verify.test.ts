import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { verifySession } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import { expect, test } from 'vitest'
import { jsonl, project, SID, straight } from './lines.ts'
import { plantings } from './plantings.ts'

// Each kind of damage, planted: `planted-damage.test.ts`. Lines too long for memory: `reports-sizes.long.test.ts`.

const OBSERVED = join(import.meta.dirname, 'fixtures/observed')
const transcripts = readdirSync(OBSERVED, { recursive: true, encoding: 'utf8' })
  .filter((name) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(name.replaceAll('\\', '/')))
  .toSorted()

/** What a README of an observed tree says is wrong with it: of 110 turns only the prompts were kept. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'file-history-110-turns': Array.from({ length: 109 }, () => 'missing-parent'),
}

test.each(transcripts)('observed: %s is healthy, or is what its README says', async (name) => {
  const path = join(OBSERVED, name)
  const before = await readFile(path)
  const found = await verifySession(path)
  expect(found.map(({ kind }) => kind)).toEqual(EXPECTED[name.split('/')[0] ?? ''] ?? [])
  expect(await readFile(path)).toEqual(before)
})

test('there are observed transcripts', () => {
  expect(transcripts.length).toBeGreaterThan(10)
})

test('every kind of damage that the README of the package lists is planted somewhere', async () => {
  const readme = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')
  const [, listed = ''] = /Kinds of damage: (.*?)\n\n/s.exec(readme) ?? []
  const kinds = [...listed.matchAll(/`([a-z0-9-]+)`/g)].map(([, kind = '']) => kind)
  const spot = { id: 'x', before: straight(4), pick: 1 }
  const planted = Object.values(plantings).flatMap((make) => make(spot).flatMap(({ damage }) => damage))
  const elsewhere = ['line-too-long', 'archive-mark', 'foreign-writer']
  expect([...new Set([...planted.map(({ kind }) => kind), ...elsewhere])].toSorted()).toEqual(
    kinds.toSorted(),
  )
})

test.each(['', 'yes', '[]', '{}', '{"archived":1}', '{"archived":tr', '\0\0\0'])(
  'a mark of an archived session that says %j is damage, alone and beside other damage, and stays as it is',
  async (mark) => {
    for (const torn of ['', '{"torn']) {
      const made = await project(jsonl(...straight(2)) + torn, { [`p/${SID}/archived.json`]: mark })
      const path = made.path(`p/${SID}/archived.json`)
      const before = await made.snapshot()
      expect((await verifySession(made.file)).map(({ kind, path: where }) => [kind, where])).toEqual([
        ...(torn === '' ? [] : [['torn-line', made.file]]),
        ['archive-mark', path],
      ])
      expect(await made.snapshot()).toEqual(before)
      await made.remove()
    }
  },
)

test('a transcript whose name is no id of a session is verified as any other', async () => {
  const made = await tree({ 'a b/é/x.jsonl': `${jsonl(...straight(2))}{"torn` })
  expect(await verifySession(made.path('a b/é/x.jsonl'))).toMatchObject([{ kind: 'torn-line', line: 3 }])
  expect(Object.keys(await made.snapshot())).toEqual([join('a b/é', 'x.jsonl')])
  await made.remove()
})
