import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import type { TreeSnapshot } from '@loci/disk/testing'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { project } from './project.ts'
import type { Project } from './project.ts'

const NAMES = ['a', 'b', 'd/a', 'd/b', 'd/e/a', 'f/a']
const name = fc.constantFrom(...NAMES)
const folder = fc.constantFrom('d', 'd/e', 'f', 'g')
const text = fc.constantFrom('', 'x', 'y', 'longer\nthan\nothers\n')
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444)

/** What a command may do; what fails, because it makes no sense just then, is left undone. */
const action = fc.oneof(
  fc.record({ kind: fc.constant('write' as const), name, text, mode }),
  fc.record({ kind: fc.constant('remove' as const), name: fc.oneof(name, folder) }),
  fc.record({ kind: fc.constant('move' as const), name: fc.oneof(name, folder), to: fc.oneof(name, folder) }),
  fc.record({ kind: fc.constant('copy' as const), name, to: name }),
  fc.record({ kind: fc.constant('chmod' as const), name, mode }),
  fc.record({ kind: fc.constant('mkdir' as const), name: folder }),
)
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ by: fc.constant('command' as const), actions: fc.array(action) }) },
  { weight: 1, arbitrary: fc.record({ by: fc.constant('edit' as const), actions: fc.tuple(action) }) },
  { weight: 1, arbitrary: fc.record({ by: fc.constant('both' as const), actions: fc.array(action) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function act(work: Project, actions: readonly Action[]): Promise<void> {
  for (const one of actions) {
    const path = work.path(one.name)
    try {
      if (one.kind === 'write') {
        await fs.mkdir(dirname(path), { recursive: true })
        await fs.rm(path, { force: true })
        await work.write(one.name, one.text, one.mode)
      } else if (one.kind === 'remove') await fs.rm(path, { recursive: true })
      else if (one.kind === 'move') execFileSync('mv', [path, work.path(one.to)], { stdio: 'ignore' })
      else if (one.kind === 'copy') await fs.copyFile(path, work.path(one.to))
      else if (one.kind === 'chmod') await fs.chmod(path, one.mode)
      else await fs.mkdir(path, { recursive: true })
    } catch {
      // There is no such file, or something is in the way.
    }
  }
}

/** An edit by a tool within its rules: only of what is a file, or nothing. */
async function editAll(work: Project, history: FileHistory, actions: readonly Action[]): Promise<void> {
  for (const one of actions) {
    if (one.kind !== 'write') continue
    const isTracked = await history.trackEdit(one.name, 'edit').then(
      () => true,
      () => false,
    )
    if (!isTracked) continue
    await act(work, [one])
    await history.recordEdit(one.name, 'edit')
  }
}

async function run(work: Project, start: readonly Action[], steps: readonly Step[]): Promise<void> {
  await act(work, start)
  const history = await work.open()
  const trees = []
  for (const [number, { by, actions }] of steps.entries()) {
    trees.push(await work.files())
    await history.makeSnapshot(`m${number}`)
    const command = async (): Promise<void> => {
      await act(work, actions)
      if (by === 'both') await editAll(work, history, actions.toReversed())
    }
    if (by === 'edit') await editAll(work, history, actions)
    else {
      // Only where a directory has taken the place of a file, its end is not covered.
      const { untracked } = await history.trackCommand(`c${number}`, command)
      const stands = await Promise.all(untracked.map((path) => fs.lstat(path)))
      expect(stands.filter((stats) => !stats.isDirectory())).toEqual([])
    }
  }
  const after = await work.files()
  for (const [number, tree] of [...trees.entries()].toReversed()) {
    const plan = await history.planRewind(`m${number}`)
    expect(plan.conflicts).toEqual([])
    const result = await history.rewind(plan)
    // A directory in the place of a file is left alone, and named: what is in it may be anybody's.
    const { skipped } = result
    expect(skipped.filter(({ reason }) => !reason.includes('director'))).toEqual([])
    const rest = (files: TreeSnapshot): TreeSnapshot =>
      Object.fromEntries(
        Object.entries(files).filter(
          ([file]) => !skipped.some(({ path }) => `${work.path(file)}/`.startsWith(`${path}/`)),
        ),
      )
    expect(rest(await work.files())).toEqual(rest(tree))
    if (result.undoable) await history.undoRewind()
    expect(await work.files()).toEqual(after)
  }
  expect(await verifyFileHistory(work)).toEqual([])
  await history.close()
}

test('random trees and commands: a rewind has each tree before exactly, an undo the one after', async () => {
  const runs = process.env['LOCI_LONG'] === '1' ? 400 : 50
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 12 }),
      fc.array(step, { minLength: 1, maxLength: 3 }),
      async (start, steps) => {
        const work = await project()
        try {
          await run(work, start, steps)
        } finally {
          await work.dispose()
        }
      },
    ),
    { numRuns: runs },
  )
}, 600_000)
