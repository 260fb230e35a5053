import { cpSync, mkdirSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { resolveProjectDir } from '../loci.mjs'

/** A made-up project with its own folder in the one configuration that both readers see. */
export async function makeProject(home, name) {
  const root = join(home, 'work', name)
  mkdirSync(root, { recursive: true })
  const projectsDir = join(home, 'config', 'projects')
  return { root, projectsDir, projectDir: await resolveProjectDir({ projectsDir, root, create: true }) }
}

/** Copies recorded transcripts of a project into another; a file's time becomes that of its last entry. */
export function copySessions(from, projectDir) {
  cpSync(from, projectDir, { recursive: true })
  for (const id of sessionIds(projectDir)) {
    const path = join(projectDir, `${id}.jsonl`)
    const times = [...readFileSync(path, 'utf8').matchAll(/"timestamp":"([^"]+)"/g)].map(([, time]) =>
      Date.parse(time),
    )
    const last = Math.max(...times) / 1000
    utimesSync(path, last, last)
  }
}

export function sessionIds(projectDir) {
  return readdirSync(projectDir)
    .flatMap((name) => (name.endsWith('.jsonl') ? [name.slice(0, -6)] : []))
    .toSorted()
}
