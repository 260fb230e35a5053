/**
 * Whether a file name is one that this package makes for itself: a lock file, or a file in the making that a crash left
 * behind. Whoever lists or copies a directory passes these by. Pure.
 */
export function isScratchName(name: string): boolean {
  return /^\..*\.(?:lock\.\d+|tmp)$/.test(name)
}
