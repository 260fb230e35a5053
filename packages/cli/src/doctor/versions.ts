import { execFile } from 'node:child_process'
import { version as nodeVersion } from 'node:process'
import { packageVersion } from '../package-version.ts'

/** `null` where a program is not there. */
export interface Versions {
  loci: string
  node: string
  git: string | null
  rg: string | null
}

export async function findVersions(env: Readonly<Record<string, string | undefined>>): Promise<Versions> {
  const [git, rg] = await Promise.all([versionOf('git', env), versionOf('rg', env)])
  return { loci: packageVersion(), node: nodeVersion.replace(/^v/, ''), git, rg }
}

function versionOf(
  program: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], { env: { ...env } }, (error, output) => {
      resolve(error === null ? (/\d+(?:\.\d+)+/.exec(output)?.[0] ?? null) : null)
    })
  })
}
