// What is measured: the built packages, as a user gets them. This folder is outside the workspace, hence by path.
export * from '../packages/session-jsonl/dist/index.js'
export { resolveProjectDir } from '../packages/disk/dist/project.js'
