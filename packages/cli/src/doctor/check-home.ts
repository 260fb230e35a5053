import { dirname, join } from 'node:path'
import { errorMessage, files, isAbsent, orAbsent } from '@loci/disk'
import { loadCheckpoints } from '@loci/file-history'
import { shellWord } from './checkup.ts'
import type { Checkup } from './checkup.ts'

/** Whose the config home is, and whether it can be written. */
export interface HomeReport {
  dir: string
  kind: 'ours' | 'vacant' | 'foreign'
  writable: boolean
}

/** Looks at the config home itself and at the folders in it that commands write into. */
export async function checkHome(checkup: Checkup): Promise<HomeReport> {
  const { dir, kind } = checkup.context.home
  const report = { dir, kind, writable: true }
  if (kind === 'foreign') {
    const advice = `loci sessions import ${shellWord(dir)} copies its sessions into a home of your own`
    checkup.hint({
      kind: 'foreign-home',
      path: dir,
      message: 'Loci did not make it, and only reads it without --write',
      advice,
    })
  }
  if (kind === 'ours') await checkMark(checkup, join(dir, 'loci.json'))
  for (const path of [dir, ...['projects', 'file-history', 'memory'].map((name) => join(dir, name))]) {
    const isFolder = (await files.stat(path).catch(() => undefined))?.isDirectory() === true
    const reason = isFolder ? await files.checkWritable(path).then(() => undefined, errorOf) : undefined
    if (reason === undefined || isAbsent(reason)) continue
    report.writable = false
    if (kind === 'foreign') continue
    checkup.hint({
      kind: 'not-writable',
      path,
      message: errorMessage(reason),
      advice: `make it yours: chown and chmod u+rwx ${shellWord(path)}`,
    })
  }
  const stats = await orAbsent(files.stat(dir))
  if (stats !== undefined && (stats.mode & 0o022n) !== 0n) {
    const message = 'Other users of this machine can change what is in it'
    checkup.hint({ kind: 'writable-by-others', path: dir, message, advice: `chmod go-w ${shellWord(dir)}` })
  }
  return report
}

/** Whether other users of this machine may come as far as into a directory. */
export async function isOpenToOthers(directory: string): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    const stats = await files.stat(path).catch(() => undefined)
    if (stats === undefined || (stats.mode & 0o011n) === 0n) return false
    if (dirname(path) === path) return true
  }
}

/** What is in the home beside sessions, histories and memory; and what is wrong with checkpoints that are kept there. */
export async function checkRest(checkup: Checkup): Promise<void> {
  const { dir } = checkup.context.home
  for (const entry of (await checkup.attempt(dir, () => files.readdir(dir))) ?? []) {
    const { name } = entry
    const path = join(dir, name)
    if (['projects', 'file-history', 'memory'].includes(name) && entry.isDirectory()) continue
    const index = /^(.+)\.backups$/.exec(name)?.[1]
    const isBackups = entry.isDirectory() && index !== undefined
    if (isBackups) {
      const file = join(dir, index)
      const loaded = await checkup.attempt(file, () => loadCheckpoints(file))
      const adviceOn = (): string => 'checkpoints whose backups are there can be rewound to'
      checkup.add(loaded?.damage ?? [], { place: file, adviceOn })
    }
    if (entry.isDirectory()) await checkup.measure(path, () => (isBackups ? 'backups' : 'other'))
    else await checkup.measureFile(name === 'MEMORY.md' ? 'memories' : 'other', path)
  }
}

async function checkMark(checkup: Checkup, path: string): Promise<void> {
  const what = { kind: 'bad-mark', advice: 'write {"formatVersion":1} into it' }
  await checkup.attempt(
    path,
    async () => {
      const stats = await files.stat(path)
      const text = stats.isFile() ? (await files.readFile(path)).toString('utf8') : ''
      const value: unknown = JSON.parse(text)
      if (typeof value !== 'object' || value === null) throw new TypeError('It is no JSON object')
    },
    what,
  )
}

function errorOf(error: unknown): unknown {
  return error
}
