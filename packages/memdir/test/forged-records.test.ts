import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openMemdir } from '@loci/memdir'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')
const DRAFT = { name: 'New', description: 'new words', type: 'user', body: 'New.' } as const

let work: Tree
beforeEach(async () => {
  work = await tree()
})
afterEach(() => work.remove())
const write = (name: string, text: string): Promise<void> => writeFile(work.path(name), text)
const read = (name: string): Promise<string> => readFile(work.path(name), 'utf8')

describe('R15 a record of a change that somebody else wrote takes nothing away that is nowhere else', () => {
  const A = sha('A')
  const B = sha('B')
  const SIDE = sha('{}')
  const P = '---\nname: P\ndescription: about p\ntype: user\n---\n\nP.\n'
  const OTHER = JSON.stringify({
    draft: { name: 'P', description: 'about p', type: 'user', body: 'Other.' },
    proposedAt: 'x',
  })
  const WORDS = JSON.stringify({
    file: 'b.md',
    removedAt: 'x',
    lines: ['- [B](b.md) — own words'],
    text: 'B',
  })
  const LATER = { path: 'MEMORY.md', before: null, after: A, lines: { before: [], after: [] } }
  test.for([
    [
      'a topic, as a move to a file of other words',
      [
        { path: 'b.md', before: null, after: B },
        { path: 'a.md', before: A, after: null },
      ],
    ],
    [
      'the same topic twice',
      [
        { path: 'b.md', before: null, after: B },
        { path: 'b.md', before: B, after: null },
      ],
    ],
    [
      'two copies, each for the other',
      [
        { path: 'b.md', before: null, after: B },
        { path: 'b2.md', before: null, after: B },
        { path: 'b.md', before: B, after: null },
        { path: 'b2.md', before: B, after: null },
      ],
    ],
    [
      'a trash entry, as one that was restored',
      [
        { path: 'b.md', before: null, after: B },
        { path: '.trash/t.json', before: SIDE, after: null },
      ],
    ],
    [
      'a trash entry, as one of a change that was not begun',
      [
        { path: '.trash/t.json', before: null, after: SIDE },
        { path: 'a.md', before: A, after: B },
      ],
    ],
    [
      'a trash entry, as one of a change of nothing',
      [{ path: '.trash/t.json', before: null, after: SIDE }, LATER],
    ],
    [
      'a proposal of other words for a topic of that name',
      [
        { path: 'p.md', before: null, after: sha(P) },
        { path: '.proposed/o.json', before: sha(OTHER), after: null },
      ],
    ],
    [
      'a trash entry with the words of a line',
      [
        { path: 'b.md', before: null, after: B },
        { path: '.trash/w.json', before: sha(WORDS), after: null },
      ],
    ],
    [
      'a proposal',
      [
        { path: 'b.md', before: null, after: B },
        { path: '.proposed/p.json', before: SIDE, after: null },
      ],
    ],
  ] as const)('%s', async ([, steps]) => {
    const files = {
      'a.md': 'A',
      'b.md': 'B',
      'b2.md': 'B',
      '.trash/t.json': '{}',
      '.trash/w.json': WORDS,
      'p.md': P,
      '.proposed/o.json': OTHER,
      '.proposed/p.json': '{}',
    }
    await work.remove()
    work = await tree(files)
    await write('.index', JSON.stringify({ startedAt: 'x', file: 'b.md', steps }))
    const memdir = await openMemdir({ dir: work.root })
    await memdir.repair()
    await write('.index', JSON.stringify({ startedAt: 'x', steps }))
    await memdir.save(DRAFT)
    for (const [name, text] of Object.entries(files)) expect(await read(name)).toBe(text)
  })
})
