import { closeSync, openSync, readdirSync, readFileSync, readSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compareRuns } from '../compare.mjs'
import { writeMemories } from '../data/memories.mjs'
import { runRounds } from '../rounds.mjs'

const COUNTS = [200, 5000]
const GOALS = { 200: { grayMatter: 2 }, 5000: { grayMatter: 2.5, yaml: 4, openReadClose: 2 } }
const INDEX_TIMES = 200
const QUERY = 'stagign cluster'

/**
 * What the topics of a folder say of themselves, of 200 and of 5,000; a search over all of them, bodies too, with a
 * typing error; and the part of an index of 600 lines that is passed on, 200 times.
 */
export async function* measure(bench, { only = COUNTS }) {
  const dir = join(bench.home, 'memory')
  for (const count of only.map(Number)) {
    bench.onProgress(`memdir ${count}: making the data`)
    const made = writeMemories(dir, count)
    const run = (names, verify) =>
      runRounds(
        bench,
        names.map((name) => ({ name, workload: 'memdir', args: { dir } })),
        verify,
      )
    try {
      const of = count.toLocaleString('en')
      const heads = await run(['loci', 'grayMatter', 'yaml', 'openReadClose'], (checked) =>
        verifyHeads(made, checked),
      )
      const goals = GOALS[count] ?? {}
      yield* compareRuns(`memdir heads of ${of}`, heads, [
        { peer: 'grayMatter', sense: 'times faster', goal: goals.grayMatter },
        { peer: 'yaml', sense: 'times faster', goal: goals.yaml },
        { peer: 'openReadClose', sense: 'times as much', goal: goals.openReadClose },
        { peer: 'grayMatter', measure: 'peakRssMb', sense: 'times as much' },
      ])
      const search = await run(['search', 'readAndFind'], ({ search: found }) => {
        if (found === 0) throw new Error(`memdir search of ${of}: nothing was found`)
      })
      yield* compareRuns(`memdir search of ${of}`, search, [
        { us: 'search', peer: 'readAndFind', sense: 'times as much' },
      ])
      if (count !== COUNTS[0]) continue
      const index = await run(['index', 'readSplitSlice'], ({ index: ours, readSplitSlice }) => {
        if (ours !== readSplitSlice) throw new Error('memdir index: we pass on another part')
      })
      yield* compareRuns('memdir index of 600 lines', index, [
        { us: 'index', peer: 'readSplitSlice', sense: 'times faster', goal: 5 },
      ])
    } finally {
      rmSync(dir, { recursive: true })
    }
  }
}

function verifyHeads(made, checked) {
  const expected = JSON.stringify(made)
  for (const name of ['loci', 'grayMatter', 'yaml'])
    if (checked[name] !== expected)
      throw new Error(`memdir heads: ${name} read something else than was written`)
}

const asText = (heads) =>
  JSON.stringify(heads.map(({ file, name, description, type }) => ({ file, name, description, type })))
const topicsOf = (dir) => readdirSync(dir).filter((name) => name !== 'MEMORY.md')

export const subjects = {
  loci: async ({ dir }) => {
    const { scanHeads } = await import('../memdir.mjs')
    return { run: async () => (await scanHeads(dir)).heads, check: asText }
  },

  grayMatter: async ({ dir }) => {
    const { default: matter } = await import('gray-matter')
    return {
      run: () =>
        topicsOf(dir).map((file) => {
          // With options it keeps nothing between calls.
          const { data } = matter(readFileSync(join(dir, file), 'utf8'), {})
          return { file, ...data }
        }),
      check: asText,
    }
  },

  yaml: async ({ dir }) => {
    const { parse } = await import('yaml')
    return {
      run: () =>
        topicsOf(dir).map((file) => {
          const text = readFileSync(join(dir, file), 'utf8')
          return { file, ...parse(text.slice(4, text.indexOf('\n---\n', 4))) }
        }),
      check: asText,
    }
  },

  openReadClose: ({ dir }) => {
    const buffer = Buffer.allocUnsafeSlow(4096)
    return {
      run: () => {
        for (const file of topicsOf(dir)) {
          const descriptor = openSync(join(dir, file), 'r')
          readSync(descriptor, buffer, 0, buffer.length, 0)
          closeSync(descriptor)
        }
      },
      check: () => undefined,
    }
  },

  search: async ({ dir }) => {
    const { openMemdir } = await import('../memdir.mjs')
    const memdir = await openMemdir({ dir })
    return { run: () => memdir.search(QUERY), check: (hits) => hits.length }
  },

  readAndFind: ({ dir }) => ({
    run: () =>
      topicsOf(dir).filter((file) => {
        const text = readFileSync(join(dir, file), 'utf8').toLowerCase()
        return QUERY.split(' ').some((word) => text.includes(word))
      }),
    check: () => undefined,
  }),

  index: async ({ dir }) => {
    const { loadMemory } = await import('../memdir.mjs')
    const file = join(dir, 'MEMORY.md')
    return {
      run: async () => {
        let text
        for (let time = 0; time < INDEX_TIMES; time += 1) text = await loadMemory(file)
        return text
      },
      check: (text) => text.slice(0, text.indexOf('\n\n> ')),
    }
  },

  readSplitSlice: ({ dir }) => {
    const file = join(dir, 'MEMORY.md')
    return {
      run: async () => {
        let text
        for (let time = 0; time < INDEX_TIMES; time += 1) {
          const lines = (await readFile(file, 'utf8')).split('\n').slice(0, 200)
          while (Buffer.byteLength(lines.join('\n')) > 25_000) lines.pop()
          text = lines.join('\n')
        }
        return text
      },
      check: (text) => text,
    }
  },
}
