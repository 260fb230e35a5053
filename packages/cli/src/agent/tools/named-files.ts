import { dirname, join, relative, resolve } from 'node:path'
import { fileErrno, files } from '@loci/disk'
import { isInside } from './file-target.ts'

/** More paths of one memory are not looked for. */
const MAX_PATHS = 20
const MAX_PATH_UNITS = 300
/** How far above the project its repository is looked for. */
const MAX_FOLDERS_ABOVE = 20
/** A block of code shows paths of examples and of output. */
const CODE_BLOCK = /^ {0,3}(?<fence>`{3,}|~{3,})[^\n]*\n[^]*?(?:^ {0,3}\k<fence>[`~]*[ \t\r]*$|$(?![^]))/gmu
/** In text blanks end a path, in backticks all stands together. */
const CHUNK = /`[^`\n]+`|[^\s`]+/gu
const AROUND = /^[("'[{*_<]+|[)"'\]}*_>.,;:!?…]+$/gu
/** `:12`, `:12:3`, `:12-20`, `#L12`, `#L12-L20` behind a path. */
const PLACE = /(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$/u
const SEGMENT = /^[\p{L}\p{N}\p{M}_@+.-]+$/u
const FILE_NAME = /\.[A-Za-z][A-Za-z0-9]{0,9}$/u

/**
 * The files that a memory names by a path with a folder and an extension, as written there. What could be something
 * else is left out: addresses, patterns, variables, packages, branches, folders. Pure.
 */
export function namedFiles(body: string): string[] {
  const found = new Set<string>()
  for (const [chunk] of body.replace(CODE_BLOCK, '\n').matchAll(CHUNK)) {
    const text = chunk.startsWith('`') ? chunk.slice(1, -1) : chunk.replace(AROUND, '')
    const path = text.replace(PLACE, '').replace(/^(?:\.\/)+/, '')
    if (isFilePath(path)) found.add(path)
    if (found.size === MAX_PATHS) break
  }
  return [...found]
}

function isFilePath(path: string): boolean {
  if (path.length > MAX_PATH_UNITS) return false
  const isAbsolute = path.startsWith('/')
  const segments = (isAbsolute ? path.slice(1) : path).split('/')
  const [first = ''] = segments
  // `example.com/page.html`, `@scope/package/file.js`
  const isElsewhere = !isAbsolute && (/[^.]\./u.test(first) || first.startsWith('@'))
  return (
    segments.length > 1 &&
    !isElsewhere &&
    segments.every((segment) => SEGMENT.test(segment) && !/^\.+$/u.test(segment)) &&
    FILE_NAME.test(segments.at(-1) ?? '')
  )
}

/**
 * Those of the files named in a memory that are not there now, neither below the project nor below a folder above it
 * that belongs to the same repository. Absolute paths count only inside the project. Looks at names alone, at no more
 * than 20 paths; what cannot be looked at counts as there.
 */
export async function missingFiles(root: string, body: string): Promise<string[]> {
  const named = namedFiles(body)
  if (named.length === 0) return []
  const folders = await foldersOf(root)
  const missing: string[] = []
  for (const path of named) {
    const isAbsolute = path.startsWith('/')
    if (isAbsolute && !isInside(root, resolve(path))) continue
    const places = isAbsolute ? [path] : folders.map((folder) => join(folder, path))
    if (!(await isSomewhere(places))) missing.push(isAbsolute ? relative(root, path) : path)
  }
  return missing
}

/** The project and the folders above it, up to its repository; the project alone where there is none. */
async function foldersOf(root: string): Promise<string[]> {
  const folders: string[] = []
  for (let folder = root; folders.length < MAX_FOLDERS_ABOVE; folder = dirname(folder)) {
    folders.push(folder)
    if (await isSomewhere([join(folder, '.git')])) return folders
    if (dirname(folder) === folder) break
  }
  return [root]
}

async function isSomewhere(places: readonly string[]): Promise<boolean> {
  for (const place of places) {
    try {
      await files.lstat(place)
      return true
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(fileErrno(error) ?? '')) return true
    }
  }
  return false
}
