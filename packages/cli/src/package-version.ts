import { createRequire } from 'node:module'

/** The version of this package, as its manifest says it. */
export function packageVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@loci/cli/package.json')
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : ''
}
