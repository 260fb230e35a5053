import { readdirSync, readFileSync, statSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { linkBackups, verifyFileHistory } from '@loci/file-history'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

const SIDES = ['history', 'fork', 'third'] as const
const side = fc.constantFrom(...SIDES)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('turn' as const), side, text: fc.constantFrom('x', 'y', 'z') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('gc' as const), side }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('fork' as const), side, to: side }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), side }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rewind' as const), side }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Bytes, modes and inodes of a folder: what the work of another session must not change. */
function contentOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = `${entry.parentPath}/${entry.name}`
    if (!entry.isFile()) continue
    const { ino, mode } = statSync(path)
    found[path] = `${ino} ${mode} ${readFileSync(path, 'base64')}`
  }
  return found
}

const isThere = (work: Project, name: string): boolean => readdirSync(work.beside('.')).includes(name)

async function take(work: Project, next: Step, number: number): Promise<void> {
  const dir = work.beside(next.side)
  if (next.kind === 'delete') return fs.rm(dir, { recursive: true, force: true })
  if (next.kind === 'fork') {
    if (next.side !== next.to) await linkBackups({ fromDir: dir, toDir: work.beside(next.to) })
    return
  }
  const history = await work.open({ dir, maxSnapshots: 2 })
  if (next.kind === 'turn') {
    await history.makeSnapshot(`m${number}`)
    await edit(work, history, `f${number % 2}`, next.text)
  } else if (next.kind === 'gc') {
    await history.gc()
    expect((await history.gc({ dryRun: true })).removed).toEqual([])
    const named = new Set(
      history
        .snapshots()
        .flatMap(({ trackedFileBackups }) =>
          Object.values(trackedFileBackups).map(({ backupFileName }) => backupFileName),
        ),
    )
    const kept = isThere(work, next.side) ? readdirSync(dir).filter((name) => name.includes('@v')) : []
    expect(kept.filter((name) => !named.has(name))).toEqual([])
  } else {
    const [first] = history.snapshots()
    if (first) await history.rewind(first.messageId, { onConflict: 'overwrite' })
  }
  await history.close()
}

test('eviction, gc, forks, adoption and deletion in any order: what is named is there, and no session changes another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 10 }), async (steps) => {
      const work = await project({ f0: 'a', f1: 'b' })
      try {
        for (const [number, next] of steps.entries()) {
          const target = next.kind === 'fork' ? next.to : next.side
          const others = SIDES.filter((name) => name !== target && isThere(work, name))
          const before = others.map((name) => contentOf(work.beside(name)))
          await take(work, next, number)
          expect(others.map((name) => contentOf(work.beside(name)))).toEqual(before)
          for (const name of SIDES) {
            const place = { dir: work.beside(name), root: work.root, maxSnapshots: 2 }
            expect(
              await verifyFileHistory(place),
              `${name} after ${JSON.stringify(steps.slice(0, number + 1))}`,
            ).toEqual([])
          }
        }
      } finally {
        await work.dispose()
      }
    }),
    { numRuns: process.env['LOCI_LONG'] === '1' ? 400 : 40 },
  )
}, 600_000)
