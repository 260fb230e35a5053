// `pnpm --filter cli start`: the built `loci`, in the directory that pnpm was started in. Where nobody can type and
// nothing was asked, it shows the tour.
const nobodyThere = !(process.stdin.isTTY && process.stdout.isTTY)
if (process.argv.length === 2 && nobodyThere) process.argv.push('tour')
if (process.env.INIT_CWD) process.chdir(process.env.INIT_CWD)
await import('./dist/bin/loci.js')
