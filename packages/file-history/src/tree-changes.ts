import type { Base } from './base-index.ts'
import { parentsOf } from './ignore-rules.ts'
import type { Walk, WalkedFile } from './walk-tree.ts'

/** What differs between two looks at a tree, by key. */
export interface TreeChanges {
  /** Regular files of which the state before is known, now there or gone. */
  covered: string[]
  /** The others: ignored, over a limit, no regular files, or not to be seen on one of the sides. */
  uncovered: Set<string>
}

/** What a command changed. `isChanged`: whether a file that both looks saw differs. */
export async function findChanges(
  base: Base,
  now: Walk,
  isChanged: (before: WalkedFile, after: WalkedFile) => Promise<boolean>,
): Promise<TreeChanges> {
  const covered: string[] = []
  // What could not be seen before or after may have been changed, or be gone.
  const uncovered = new Set<string>(
    [...now.unreadable, ...base.unreadable].filter(
      (key) => now.unreadable.has(key) !== base.unreadable.has(key),
    ),
  )
  for (const key of new Set([...base.files.keys(), ...now.files.keys()])) {
    const before = base.files.get(key)
    const after = now.files.get(key)
    const blind = before === undefined ? base : now
    // That a file was not seen says that it was absent only where everything was seen.
    const isGuess = (before === undefined || after === undefined) && isHidden(key, blind)
    // An ignored directory that was seen as a whole is named instead of what is in it.
    const isInWhole = (before === undefined || after === undefined) && isBelowWhole(key, blind)
    if (isGuess) uncovered.add(key)
    else if (isInWhole && !base.copied.has(key)) continue
    else if (before === undefined || after === undefined || (await isChanged(before, after))) {
      const isCovered = before === undefined ? isCreated(after) : base.copied.has(key)
      if (isCovered && (after === undefined || after.kind === 'file')) covered.push(key)
      else uncovered.add(key)
    }
  }
  // What only got another name is still the only copy: to take it away as a new file would lose it.
  const lost = new Set<string>()
  for (const key of uncovered) {
    const before = base.files.get(key)
    if (before && !now.files.has(key)) lost.add(inodeOf(before))
  }
  const isOnlyCopy = (key: string): boolean => {
    const after = now.files.get(key)
    return after !== undefined && !base.files.has(key) && lost.has(inodeOf(after))
  }
  for (const key of covered) if (isOnlyCopy(key)) uncovered.add(key)
  return { covered: covered.filter((key) => !isOnlyCopy(key)), uncovered }
}

function inodeOf({ stamp }: WalkedFile): string {
  return stamp.split(':', 2).join(':')
}

/** Whether the base tells what the file was: that it has a copy, or that it certainly was not there. */
export function isKnownBefore(base: Base, key: string): boolean {
  if (base.copied.has(key)) return true
  const isWalked = !key.startsWith('/') && !key.split('/').includes('.git')
  return isWalked && !base.files.has(key) && !isHidden(key, base) && !isBelowWhole(key, base)
}

function isCreated(after: WalkedFile | undefined): boolean {
  return after?.kind === 'file' && !after.isIgnored
}

/** Whether `key` is, or lies below, something that could not be looked at. */
function isHidden(key: string, { unreadable }: Walk): boolean {
  return ['', ...parentsOf(key), key].some((one) => unreadable.has(one))
}

function isBelowWhole(key: string, { files }: Walk): boolean {
  return parentsOf(key).some((parent) => files.get(parent)?.kind === 'directory')
}
