#!/usr/bin/env node
import { homedir } from 'node:os'
import { openLineInput } from './agent/line-input.ts'
import { runCli } from './run-cli.ts'

/** Aborted when a conversation is to end in good order; `undefined`: nothing listens. */
let interruption: AbortController | undefined
let isClosed = false

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`loci … | head`) is no failure, and no reason to leave a turn half done.
  isClosed ||= error.code === 'EPIPE'
  if (isClosed && interruption !== undefined) return
  if (isClosed) process.exit(0)
  process.stderr.write(`loci: cannot write to standard output: ${error.code}\n`)
  process.exit(1)
})

// The first signal ends a conversation in good order, and with it the command that it runs; a second one does not wait.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.on(signal, () => {
    if (interruption === undefined || interruption.signal.aborted) process.exit(code)
    interruption.abort()
  })
}

process.exitCode = await runCli({
  argv: process.argv.slice(2),
  env: { HOME: homedir(), ...process.env },
  cwd: () => process.cwd(),
  async readInput() {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks).toString('utf8')
  },
  print: (text) => void (isClosed || process.stdout.write(text)),
  warn: (text) => void process.stderr.write(text),
  ...(process.stderr.isTTY ? { showProgress: (line) => void process.stderr.write(`${line}\n`) } : {}),
  openLines: () =>
    openLineInput({
      input: process.stdin,
      output: process.stdout,
      isInteractive: process.stdin.isTTY && process.stdout.isTTY,
    }),
  isPiped: !process.stdin.isTTY,
  listenForInterrupt() {
    interruption = new AbortController()
    return interruption.signal
  },
  groups: {
    kill: (pid) => void signalGroup(pid, 'SIGKILL'),
    isRunning: (pid) => signalGroup(pid, 0),
  },
})

/** Whether there was a process to take the signal. */
function signalGroup(pid: number, signal: 'SIGKILL' | 0): boolean {
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}
