// What is measured: the built package, as a user gets it. This folder is outside the workspace, hence by path.
export * from '../packages/session-jsonl/dist/index.js'
