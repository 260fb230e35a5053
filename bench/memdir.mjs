// What is measured of memory. The heads of topic files have no name of their own outside: `repair` reads them.
export { loadMemory, openMemdir } from '../packages/memdir/dist/index.js'
export { scanHeads } from '../packages/memdir/dist/folder.js'
