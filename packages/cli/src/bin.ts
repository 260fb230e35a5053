#!/usr/bin/env node
import { homedir } from 'node:os'
import { openLineInput } from './agent/line-input.ts'
import { runCli } from './run-cli.ts'

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`loci … | head`) is no failure. Anything else lost the answer.
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`loci: cannot write to standard output: ${error.code}\n`)
  process.exit(1)
})

// The first Ctrl-C ends in good order what listens for it; a second one does not wait for that.
let interruption: AbortController | undefined
process.on('SIGINT', () => {
  if (interruption === undefined || interruption.signal.aborted) process.exit(130)
  interruption.abort()
})

process.exitCode = await runCli({
  argv: process.argv.slice(2),
  env: { HOME: homedir(), ...process.env },
  cwd: () => process.cwd(),
  async readInput() {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks).toString('utf8')
  },
  print: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
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
  killGroup(pid) {
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  },
})
