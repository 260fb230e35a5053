import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { CommandLineWorld } from '../src/command-line/command-context.ts'
import { runCommandLine } from '../src/command-line/run-command-line.ts'

export const BIN: string = fileURLToPath(new URL('../dist/bin.js', import.meta.url))

/** What one run of `file-history` printed and how it ended. */
export interface Run {
  code: number
  out: string
  err: string
}

/** Runs `file-history` in this process, where it runs no command: `run` would write to our standard output. */
export function fileHistory(cwd: string, ...argv: string[]): Promise<Run> {
  return fileHistoryIn({ cwd: () => cwd }, ...argv)
}

/** The same where some of the world around it is not as usual. */
export async function fileHistoryIn(world: Partial<CommandLineWorld>, ...argv: string[]): Promise<Run> {
  let out = ''
  let err = ''
  const code = await runCommandLine({
    argv,
    cwd: () => '/',
    version: () => '0.0.0',
    print: (text) => void (out += text),
    warn: (text) => void (err += text),
    isScreen: false,
    hasTerminal: false,
    onSignal: () => undefined,
    kill: () => false,
    ...world,
  })
  return { code, out, err }
}

/** A process of `file-history`. */
export interface Started {
  child: ChildProcess
  /** Resolves once it has printed something to standard output. */
  printed: Promise<unknown>
  ended: Promise<Run>
}

export function start(cwd: string, ...argv: string[]): Started {
  const child = spawn(process.execPath, [BIN, ...argv], { cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', (text) => (out += String(text)))
  child.stderr.on('data', (text) => (err += String(text)))
  const ended = once(child, 'close').then(([code]): Run => ({ code: Number(code), out, err }))
  const printed = Promise.race([once(child.stdout, 'data'), ended.then(failPrinted)])
  // Where it prints nothing nobody waits for it.
  printed.catch(() => undefined)
  return { child, printed, ended }
}

function failPrinted({ code, err }: Run): never {
  throw new Error(`it ended with ${code} before it printed: ${err}`)
}

/** Runs the built `file-history` as a process of its own, with nothing to read. */
export function spawned(cwd: string, ...argv: string[]): Promise<Run> {
  const { child, ended } = start(cwd, ...argv)
  child.stdin?.end()
  return ended
}
