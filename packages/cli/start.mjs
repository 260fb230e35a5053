// `pnpm --filter cli start`: the built `loci`. Where nobody can type and nothing was asked, it shows the tour.
const nobodyThere = !(process.stdin.isTTY && process.stdout.isTTY)
if (process.argv.length === 2 && nobodyThere) process.argv.push('tour')
await import('./dist/bin.js')
