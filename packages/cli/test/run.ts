import { runCli } from '@loci/cli'

/** What one run of `loci` printed and how it ended. */
export interface Run {
  code: number
  out: string
  err: string
  /** The printed JSON. */
  json: () => unknown
}

/** Runs `loci` in this process: no environment but what is given, and never a real home. */
export async function loci(
  place: { home: string; cwd: string; env?: Record<string, string>; input?: string },
  ...argv: string[]
): Promise<Run> {
  let out = ''
  let err = ''
  const code = await runCli({
    argv,
    env: { LOCI_CONFIG_DIR: place.home, ...place.env },
    cwd: () => place.cwd,
    readInput: async () => place.input ?? '',
    print: (text) => void (out += text),
    warn: (text) => void (err += text),
  })
  return { code, out, err, json: (): unknown => JSON.parse(out) }
}
