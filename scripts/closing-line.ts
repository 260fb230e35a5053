import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** Prints `N passed, N failed, N skipped` alone on the last line of a test run. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      const before = counts.failed
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        counts[state === 'passed' || state === 'failed' ? state : 'skipped'] += 1
      }
      // A file that failed outside its tests (an import, a hook) counts as one failure.
      if (!module.ok() && counts.failed === before) counts.failed += 1
    }
    counts.failed += unhandledErrors.length
    process.once('exit', () => {
      process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    })
  }
}
