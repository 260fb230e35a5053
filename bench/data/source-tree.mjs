import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { logUniform, mulberry32 } from './random.mjs'

const DIRECTORIES = 97

/** The names of a tree of `count` files in up to 97 directories. */
export function namesOfTree(count) {
  return Array.from({ length: count }, (_, number) => `src/d${number % DIRECTORIES}/f${number}.ts`)
}

/** Writes them under `root`: 1 to 100 KB each, evenly spread on a logarithmic scale. */
export function writeTree(root, count) {
  const random = mulberry32(11)
  for (const [number, name] of namesOfTree(count).entries()) {
    const path = join(root, name)
    mkdirSync(dirname(path), { recursive: true })
    const sizeBytes = Math.round(logUniform(random, 1024, 100 * 1024))
    const line = `export const value${number} = ${Math.round(random() * 1e9)} // and what is said of it\n`
    writeFileSync(path, Buffer.alloc(sizeBytes, line))
  }
}

/** Appends a line to 1 % of the files, at least one: always the same ones. Returns their names. */
export function changeTree(root, count, text) {
  const random = mulberry32(5)
  const names = namesOfTree(count)
  const chosen = new Set()
  while (chosen.size < Math.max(1, count / 100)) chosen.add(names[Math.floor(random() * count)])
  for (const name of chosen) appendFileSync(join(root, name), `// ${text}\n`)
  return [...chosen]
}
