import { openMemdir } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let work: Tree
let memdir: Memdir
beforeAll(async () => {
  work = await tree()
  memdir = await openMemdir({ dir: work.root })
  const add = (name: string, description: string, body: string): Promise<unknown> =>
    memdir.save({ name, description, body, type: 'project' })
  await add('Deploy', 'how we deploy to staging', 'Run make deploy. The staging cluster is in Dublin.')
  await add(
    'Release notes',
    'where they are',
    `${'Long text about nothing. '.repeat(40)}deploy deploy deploy deploy deploy deploy deploy`,
  )
  await add('Café', 'lunch', 'The ＣＡＦＥ́ on the corner')
  await add('数据库迁移', '用 prisma 迁移', '不要手写 SQL，数据库迁移用 prisma migrate。')
})
afterAll(() => work.remove())

const found = async (query: string): Promise<string[]> =>
  (await memdir.search(query)).map(({ memory }) => memory.name)

test('a word in the name beats the same word many times in a body', async () => {
  expect(await found('deploy')).toEqual(['Deploy', 'Release notes'])
})

test('who holds more of the words comes first', async () => {
  expect(await found('deploy notes')).toEqual(['Release notes', 'Deploy'])
  expect(await found('dublin deploy')).toEqual(['Deploy', 'Release notes'])
})

test('case, width and composition do not matter, nor blanks around', async () => {
  expect(await found('  DUBLIN ')).toEqual(['Deploy'])
  expect(await found('cafe\u0301')).toEqual(['Café'])
  expect(await found('ｄｕｂｌｉｎ')).toEqual(['Deploy'])
})

test('text without blanks between words is found by its parts', async () => {
  expect(await found('迁移')).toEqual(['数据库迁移'])
  expect(await found('手写')).toEqual(['数据库迁移'])
})

test('what is nowhere is not found, and nothing finds nothing', async () => {
  expect(await found('kubernetes')).toEqual([])
  expect(await found('')).toEqual([])
  expect(await found(' \n')).toEqual([])
})

test('characters with a meaning elsewhere are just characters', async () => {
  expect(await found('.*')).toEqual([])
  expect(await found('(staging')).toEqual(['Deploy'])
  expect(await found('[d-f]eploy+')).toEqual(['Deploy', 'Release notes'])
  expect(await found('\\')).toEqual([])
})

test('the snippet is one line around the first word found', async () => {
  const [hit, long] = await memdir.search('deploy')
  expect(hit?.snippet).toBe('Run make deploy. The staging cluster is in Dublin.')
  expect(long?.snippet).toMatch(/^….*deploy/)
  expect(long?.snippet.length).toBeLessThanOrEqual(162)
  expect(hit?.score).toBeGreaterThan(long?.score ?? Infinity)
  expect((await memdir.search('lunch'))[0]?.snippet).toBe('lunch')
})
