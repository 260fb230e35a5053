export { runCli } from './run-cli.ts'
export type { CliWorld } from './run-cli.ts'
