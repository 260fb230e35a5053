import { runCli } from '@loci/cli'

// The four systems at work, for looking at. For now the demo is the tour.
process.exitCode = await runCli({
  argv: ['tour', ...process.argv.slice(2)],
  env: process.env,
  cwd: () => process.cwd(),
  readInput: async () => '',
  print: (text) => void process.stdout.write(text),
  warn: (text) => void process.stderr.write(text),
})
