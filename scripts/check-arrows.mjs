// The arrows of docs/architecture.md: who may import whom. Reads package.json files and import statements.
import { readdirSync, readFileSync, existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'

const domain = ['@loci/disk']
const arrows = {
  'packages/disk': [],
  'packages/app-state': [],
  'packages/session-jsonl': domain,
  'packages/file-history': domain,
  'packages/memdir': domain,
  'packages/cli': [
    '@loci/disk',
    '@loci/app-state',
    '@loci/session-jsonl',
    '@loci/file-history',
    '@loci/memdir',
  ],
  'apps/demo': ['@loci/cli'],
}
/** Names that say nothing about what is in a file: a type lives with the function that owns it. */
const emptyNames = /^(utils?|helpers?|common|types?|constants?|misc|shared)\.tsx?$/
const problems = []

for (const folder of ['packages', 'apps']) {
  for (const name of readdirSync(folder)) {
    if (!(`${folder}/${name}` in arrows))
      problems.push(`${folder}/${name} is a room that has no arrows yet; draw them here`)
  }
}

for (const [room, allowed] of Object.entries(arrows)) {
  const manifest = JSON.parse(readFileSync(join(room, 'package.json'), 'utf8'))
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
  for (const name of Object.keys(declared)) {
    if (name.startsWith('@loci/') && !allowed.includes(name))
      problems.push(`${room} may not depend on ${name}`)
  }
  const graph = new Map()
  for (const file of sourceFiles(join(room, 'src'))) graph.set(file, checkFile(room, file, declared))
  for (const cycle of cyclesOf(graph)) problems.push(`import cycle: ${cycle.join(' -> ')}`)
}

function checkFile(room, file, declared) {
  if (emptyNames.test(basename(file)))
    problems.push(`${file}: a name that says nothing; name it for its main export`)
  const text = readFileSync(file, 'utf8')
  const values = []
  for (const [, statement, source] of text.matchAll(/^\s*(import|export)\b[^'"`;]*?from\s+'([^']+)'/gm)) {
    checkImport(room, file, source, declared)
    if (
      source.startsWith('.') &&
      !new RegExp(`${statement}\\s+type\\b[^'"]*'${source.replaceAll('.', '\\.')}'`).test(text)
    ) {
      values.push(resolve(dirname(file), source))
    }
  }
  for (const [, source] of text.matchAll(/(?:^\s*import\s+|\bimport\()'([^']+)'/gm))
    checkImport(room, file, source, declared)
  const hasBin = room === 'packages/cli' || room === 'packages/file-history'
  if (hasBin && basename(file) !== 'bin.ts' && /\bprocess\.[a-z]/.test(text)) {
    problems.push(`${file}: only bin.ts touches process`)
  }
  return values.map((path) => relative('.', path))
}

function checkImport(room, file, source, declared) {
  if (source.startsWith('.')) {
    const target = relative(join(room, 'src'), resolve(dirname(file), source))
    if (target.startsWith('..')) problems.push(`${file}: ${source} leaves the package; import it by name`)
    return
  }
  if (/^(node:)?fs(\/|$)/.test(source)) {
    if (room !== 'packages/disk') problems.push(`${file}: file work goes through @loci/disk, not ${source}`)
    return
  }
  if (source.startsWith('node:')) return
  const name = source.startsWith('@') ? source.split('/', 2).join('/') : source.split('/', 1)[0]
  if (!(name in declared) && name !== manifestName(room))
    problems.push(`${file}: ${name} is not in the package's dependencies`)
}

function manifestName(room) {
  return JSON.parse(readFileSync(join(room, 'package.json'), 'utf8')).name
}

function sourceFiles(directory) {
  if (!existsSync(directory)) return []
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return sourceFiles(path)
    return /\.tsx?$/.test(entry.name) ? [path] : []
  })
}

function cyclesOf(graph) {
  const cycles = []
  const done = new Set()
  const visit = (file, trail) => {
    if (trail.includes(file)) {
      cycles.push([...trail.slice(trail.indexOf(file)), file])
      return
    }
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return cycles
}

for (const problem of problems) process.stderr.write(`${problem}\n`)
process.stdout.write(problems.length === 0 ? 'arrows as in docs/architecture.md\n' : '')
process.exitCode = problems.length === 0 ? 0 : 1
