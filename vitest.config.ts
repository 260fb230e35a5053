import { defineConfig } from 'vitest/config'
import { ClosingLine } from './scripts/closing-line.ts'

export default defineConfig({
  ssr: { resolve: { conditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    include: ['packages/*/test/**/*.test.{ts,tsx}', 'apps/*/test/**/*.test.ts'],
    exclude: ['**/node_modules/**', ...(process.env['LOCI_LONG'] === '1' ? [] : ['**/*.long.test.ts'])],
    reporters: [process.env['CI'] ? 'dot' : 'default', new ClosingLine()],
    // The long runs make more rounds of the same tests.
    testTimeout: process.env['LOCI_LONG'] === '1' ? 300_000 : 30_000,
    // Loading the same modules anew for each file took a third of the time. So a test puts back what it changes in them.
    isolate: false,
    // Much of a test's time is waiting for child processes and the disk.
    maxWorkers: '100%',
  },
})
