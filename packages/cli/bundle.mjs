// Puts `loci` and all that it needs into a few files, `dist/bin`: resolving and reading hundreds of modules takes longer
// than most commands. What one command needs alone stays a file of its own, loaded when it is asked for.
//
// `node bundle.mjs DIRECTORY NAME=FILE`: into another directory, with a file beside it that shares its modules.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'

const [directory = join(import.meta.dirname, 'dist', 'bin'), ...more] = process.argv.slice(2)
rmSync(directory, { recursive: true, force: true })
const input = Object.fromEntries(more.map((one) => one.split('=')))
const bundle = await rolldown({
  input: { loci: join(import.meta.dirname, 'dist', 'bin.js'), ...input },
  platform: 'node',
})
const { output } = await bundle.write({
  dir: directory,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
})
const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
writeFileSync(join(directory, 'LICENSES.txt'), licensesOf(modules))

/** The licences of what others wrote: their terms go with their code. */
function licensesOf(ids) {
  const folders = new Set(ids.filter((id) => id.includes('/node_modules/')).map((id) => packageOf(id)))
  const texts = [...folders].map((folder) => {
    const { name, version, license } = manifestIn(folder)
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
    const terms = file === undefined ? license : readFileSync(join(folder, file), 'utf8').trim()
    if (terms === undefined)
      throw new Error(`${name} does not say its licence, which has to go with its code`)
    return `${name} ${version}\n\n${terms}\n`
  })
  return texts.toSorted().join(`\n${'-'.repeat(72)}\n\n`)
}

/** The folder of the package that a module is part of: the nearest that says its name and version. */
function packageOf(id) {
  let folder = dirname(id)
  while (manifestIn(folder).version === undefined) folder = dirname(folder)
  return folder
}

function manifestIn(folder) {
  const path = join(folder, 'package.json')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}
