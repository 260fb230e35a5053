#!/usr/bin/env node
import { runCli } from './run-cli.ts'

// A reader that has seen enough (`loci … | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})
process.once('SIGINT', () => process.exit(130))

process.exitCode = await runCli({
  argv: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  async readInput() {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks).toString('utf8')
  },
  print: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
})
