// Packs every package, checks the tarballs, installs each alone in an empty project outside the repository, and
// compiles and runs the code of its README there. With `--node 22` it runs on that Node instead of this one.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { node: { type: 'string' } } })
const repository = resolve('.')
const work = mkdtempSync(join(tmpdir(), 'loci-packages-'))
const packages = readdirSync('packages').map((name) => ({
  name,
  directory: join(repository, 'packages', name),
  manifest: JSON.parse(readFileSync(join('packages', name, 'package.json'), 'utf8')),
}))

try {
  const tarballs = pack()
  for (const [name, tarball] of tarballs) checkTarball(name, tarball)
  for (const one of packages) useAlone(one, tarballs)
  runReadme('the repository', join(repository, 'README.md'), project('all', [...tarballs.values()]))
  runExample('examples/ci', ['@loci/disk', '@loci/file-history'], tarballs)
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}

function pack() {
  const destination = join(work, 'tarballs')
  mkdirSync(destination)
  run('pnpm', ['-r', '--filter', './packages/*', 'pack', '--pack-destination', destination])
  return new Map(
    packages.map(({ manifest }) => {
      const file = `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`
      return [manifest.name, join(destination, file)]
    }),
  )
}

function checkTarball(name, tarball) {
  say(`${name}: publint, attw`)
  run(join(repository, 'node_modules/.bin/publint'), ['run', tarball, '--strict'])
  run(join(repository, 'node_modules/.bin/attw'), [tarball, '--profile', 'esm-only'])
}

/** Installs the package with its own dependencies of ours and nothing else of ours. */
function useAlone({ name, directory, manifest }, tarballs) {
  const needed = [
    manifest.name,
    ...Object.keys(manifest.dependencies ?? {}).filter((one) => tarballs.has(one)),
  ]
  const target = project(
    name,
    needed.map((one) => tarballs.get(one)),
  )
  const installed = readdirSync(join(target, 'node_modules/@loci'))
  const expected = needed.map((one) => one.slice('@loci/'.length))
  const odd = [...installed, ...expected].filter(
    (one) => !(installed.includes(one) && expected.includes(one)),
  )
  assertEqual(odd.join(' '), '', `${name} alone`)
  for (const entry of entriesOf(manifest)) {
    node(target, ['-e', `require(${JSON.stringify(entry)})`])
    node(target, ['--input-type=module', '-e', `await import(${JSON.stringify(entry)})`])
  }
  for (const bin of Object.keys(manifest.bin ?? {})) {
    const out = node(target, [join('node_modules', '.bin', bin), '--version'])
    assertEqual(out.trim(), manifest.version, `${bin} --version`)
  }
  runReadme(name, join(directory, 'README.md'), target)
}

/** The entries a user can import without installing a peer. */
function entriesOf(manifest) {
  return Object.keys(manifest.exports)
    .filter((entry) => entry !== './package.json' && entry !== './react')
    .map((entry) => manifest.name + entry.slice(1))
}

function project(name, tarballs) {
  const target = join(work, `project-${name}`)
  mkdirSync(target)
  writeFileSync(
    join(target, 'package.json'),
    JSON.stringify({ name: 'empty', private: true, type: 'module' }),
  )
  run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...tarballs], target)
  return target
}

/** Compiles and runs each `ts` block in a directory of its own, and all `sh` blocks of a README in one shell. */
function runReadme(name, readme, target) {
  const text = readFileSync(readme, 'utf8')
  const blocks = (language) =>
    [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1])
  const code = blocks('ts')
  const shell = readme.includes('packages') ? blocks('sh') : []
  say(
    `${name}: README, ${code.length} ts and ${shell.length} sh blocks on Node ${values.node ?? process.versions.node}`,
  )
  code.forEach((block, index) =>
    writeFileSync(join(target, `readme-${index + 1}.ts`), `${block}\nexport {}\n`),
  )
  if (code.length > 0) compile(target)
  for (const index of code.keys())
    node(target, [join(target, `readme-${index + 1}.js`)], emptyDirectory(target, index + 1))
  const script = shell.map((block) => block.replaceAll(/^\$ /gm, '')).join('\n')
  if (shell.length > 0) run('sh', ['-euc', script], emptyDirectory(target, 'sh'), environment(target))
}

/** Runs an example in a place of its own: it is given the packages that it needs, and checks itself. */
function runExample(example, needed, tarballs) {
  say(`${example}: on Node ${values.node ?? process.versions.node}`)
  const words = [join(repository, example, 'run.mjs'), ...needed.map((name) => tarballs.get(name))]
  if (values.node === undefined) run(process.execPath, words, work)
  else run('npx', ['-y', `node@${values.node}`, ...words], work)
}

function compile(target) {
  // Node's types come from the repository: a user of the packages has them or does without.
  cpSync(join(repository, 'node_modules/@types/node'), join(target, 'node_modules/@types/node'), {
    recursive: true,
    dereference: true,
  })
  const undici = join(repository, 'node_modules/.pnpm/node_modules/undici-types')
  if (existsSync(undici))
    cpSync(undici, join(target, 'node_modules/undici-types'), { recursive: true, dereference: true })
  const options = {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    types: ['node'],
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  }
  writeFileSync(
    join(target, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, include: ['readme-*.ts'] }),
  )
  run(join(repository, 'node_modules/.bin/tsc'), ['-p', target])
}

function emptyDirectory(target, name) {
  const directory = join(target, `run-${name}`)
  mkdirSync(directory)
  return directory
}

function environment(target) {
  return { ...process.env, HOME: target, PATH: `${join(target, 'node_modules/.bin')}:${process.env.PATH}` }
}

function node(target, args, cwd = target) {
  return values.node === undefined
    ? run(process.execPath, args, cwd, environment(target))
    : run('npx', ['-y', `node@${values.node}`, ...args], cwd, environment(target))
}

function run(command, args, cwd = repository, env = process.env) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (status === 0) return stdout
  const output = `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
  throw new Error(`${output}\n${[command, ...args].join(' ')}: exit code ${status}`)
}

function assertEqual(actual, expected, what) {
  if (actual === expected) return
  throw new Error(`${what}: ${actual} instead of ${expected}`)
}

function say(line) {
  process.stdout.write(`${line}\n`)
}
