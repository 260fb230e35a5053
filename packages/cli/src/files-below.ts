import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'

/** Every file below a directory, links as they are; absolute paths, each directory's in order. */
export async function filesBelow(directory: string): Promise<string[]> {
  const entries = (await orAbsent(files.readdir(directory))) ?? []
  const found = entries.map(async (entry) => {
    const path = join(directory, entry.name)
    return entry.isDirectory() ? filesBelow(path) : [path]
  })
  return (await Promise.all(found)).flat()
}
