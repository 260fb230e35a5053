import { spawn } from 'node:child_process'
import { delimiter, isAbsolute, join } from 'node:path'
import { files } from '@loci/disk'
import { isInside } from './file-target.ts'

/** Bytes of names that one run is given; the system takes a little more. */
const MAX_NAMES_BYTES = 100_000

/**
 * Of `keys`, files below `directory`, those that may have a line that fits; all where ripgrep cannot say. It only saves
 * work: what it names is searched again.
 */
export async function mayFit(
  keys: readonly string[],
  search: { program: string; directory: string; pattern: string; ignoreCase: boolean; signal: AbortSignal },
): Promise<Set<string>> {
  const found = new Set<string>()
  for (const batch of batches(keys)) {
    const names = await run(batch, search)
    for (const key of names ?? batch) found.add(key)
  }
  return found
}

function batches(keys: readonly string[]): string[][] {
  const all: string[][] = []
  let left = 0
  for (const key of keys) {
    const bytes = Buffer.byteLength(key) + 16
    if (all.length === 0 || bytes > left) {
      all.push([])
      left = MAX_NAMES_BYTES
    }
    all.at(-1)?.push(key)
    left -= bytes
  }
  return all
}

/** `undefined`: it does not understand the pattern, or could not read everything. */
function run(
  keys: readonly string[],
  { program, directory, pattern, ignoreCase, signal }: Parameters<typeof mayFit>[1],
): Promise<string[] | undefined> {
  const words = [
    '--no-config',
    '--files-with-matches',
    '--null',
    // Every file as it is: what counts as binary is decided here.
    '--text',
    '--encoding=none',
    ...(ignoreCase ? ['--ignore-case'] : []),
    `--regexp=${pattern}`,
    '--',
    ...keys.map((key) => `./${key}`),
  ]
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    try {
      const child = spawn(program, words, {
        cwd: directory,
        env: {},
        stdio: ['ignore', 'pipe', 'ignore'],
        signal,
      })
      child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
      child.once('error', () => resolve(undefined))
      child.once('close', (exitCode) => {
        if (exitCode !== 0 && exitCode !== 1) return resolve(undefined)
        const names = Buffer.concat(chunks).toString('utf8').split('\0')
        resolve(names.filter((name) => name !== '').map((name) => name.replace(/^\.\//, '')))
      })
    } catch {
      // More words than the system takes, or none that it takes.
      resolve(undefined)
    }
  })
}

/**
 * The first `rg` on the `PATH`. One that the project brings is none: to search must not run what somebody checked in.
 */
export async function findRipgrep(path: string | undefined, root: string): Promise<string | undefined> {
  for (const folder of (path ?? '').split(delimiter)) {
    if (!isAbsolute(folder)) continue
    const real = await files.realpath(join(folder, 'rg')).catch(() => undefined)
    if (real === undefined || isInside(root, real) || isInside(root, folder)) continue
    const stats = await files.stat(real).catch(() => undefined)
    if (stats?.isFile() === true && (Number(stats.mode) & 0o111) !== 0) return real
  }
  return undefined
}
