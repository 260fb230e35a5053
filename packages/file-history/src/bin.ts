#!/usr/bin/env node
import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { runCommandLine } from './command-line/run-command-line.ts'
import type { SignalName } from './command-line/command-context.ts'

/** Told of signals; `undefined`: nothing is under way that they could leave half done. */
let listener: ((signal: SignalName) => void) | undefined
let isClosed = false
const failure = { exitCode: 0 }

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`file-history diff | head`) is no failure.
  if (!isClosed && error.code !== 'EPIPE') {
    process.stderr.write(`file-history: cannot write to standard output: ${error.code}\n`)
    failure.exitCode = 125
    process.exitCode ||= 125
  }
  isClosed = true
})
process.stderr.on('error', () => undefined)

for (const [signal, exitCode] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => {
    if (listener === undefined) process.exit(exitCode)
    listener(signal)
  })
}

const exitCode = await runCommandLine({
  argv: process.argv.slice(2),
  cwd: () => process.cwd(),
  version,
  print: (text) => void (isClosed || process.stdout.write(text)),
  warn: (text) => void process.stderr.write(text),
  isScreen: isatty(1),
  // Not `process.stdin`: that would make a stream of what is the command's to read.
  hasTerminal: [0, 1, 2].some((descriptor) => isatty(descriptor)),
  onSignal(told) {
    listener = told
  },
  kill(pid, signal) {
    try {
      return process.kill(pid, signal)
    } catch {
      return false
    }
  },
})
process.exitCode = exitCode || failure.exitCode

function version(): string {
  const manifest: unknown = createRequire(import.meta.url)('../package.json')
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : ''
}
