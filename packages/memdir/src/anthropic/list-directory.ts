import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { isHiddenName } from './tool-path.ts'

const DEPTH = 2

/** What is in a directory of the memory folder, two levels deep, a line each: size, tab, path. Links are left out. */
export async function listDirectory(dir: string, path: string): Promise<string> {
  const stats = await orAbsent(files.lstat(dir))
  const lines = [`${formatSize(Number(stats?.size ?? 0))}\t${path}`]
  await list(dir, path.replace(/\/+$/, ''), 1, lines)
  return lines.join('\n')
}

async function list(dir: string, path: string, depth: number, lines: string[]): Promise<void> {
  for (const { name } of (await orAbsent(files.readdir(dir))) ?? []) {
    if (isHiddenName(name)) continue
    const stats = await orAbsent(files.lstat(join(dir, name)))
    const isDirectory = stats?.isDirectory() === true
    if (stats === undefined || (!isDirectory && !stats.isFile())) continue
    lines.push(`${formatSize(Number(stats.size))}\t${path}/${name}${isDirectory ? '/' : ''}`)
    if (isDirectory && depth < DEPTH) await list(join(dir, name), `${path}/${name}`, depth + 1, lines)
  }
}

function formatSize(sizeBytes: number): string {
  const units = ['B', 'K', 'M', 'G']
  let size = sizeBytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${units[unit]}`
}
