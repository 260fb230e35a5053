import { join } from 'node:path'
import { lookAt } from './compare.ts'
import type { Look } from './compare.ts'
import { inParallel } from './in-parallel.ts'
import { matchMoves } from './renames.ts'
import type { Move, MovedSide } from './renames.ts'
import type { Walk, WalkedFile } from './walk-tree.ts'

/** The moves among the files that a command changed. `pathBefore`: where the bytes are that a file had before. */
export async function findCommandMoves(
  changed: readonly string[],
  parts: { root: string; base: Walk; now: Walk; pathBefore: (key: string) => string },
): Promise<Move[]> {
  const { root, base, now, pathBefore } = parts
  const went = changed.filter((key) => !now.files.has(key))
  const came = changed.filter((key) => !base.files.has(key))
  if (went.length === 0 || came.length === 0) return []
  return matchMoves(
    await lookAtSides(base, went, pathBefore),
    await lookAtSides(now, came, (key) => join(root, key)),
  )
}

async function lookAtSides(
  walk: Walk,
  keys: readonly string[],
  pathOf: (key: string) => string,
): Promise<MovedSide[]> {
  const sides = await inParallel(keys, async (key) => sideOf(walk.files.get(key), await lookAt(pathOf(key))))
  return sides.filter((side) => side !== undefined)
}

/** A file that a walk has seen, with what the look at it, or at its copy, says of its bytes. */
function sideOf(walked: WalkedFile | undefined, look: Look): MovedSide | undefined {
  if (walked === undefined || look.kind !== 'file') return undefined
  const inode = walked.stamp.split(':', 2).join(':')
  return { key: walked.key, inode, state: look.state }
}
