// What is measured of the file history, apart from loci.mjs: who measures something else need not load it.
export * from '../packages/file-history/dist/index.js'
