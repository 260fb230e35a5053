import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

const ENTRY = fileURLToPath(new URL('../src/index.ts', import.meta.url))

/** What a user's bundler makes of one line that takes names out of the main entry. */
async function bundle(line: string): Promise<{ code: string; imports: string[] }> {
  const build = await rolldown({
    input: 'line',
    external: [/^react/],
    plugins: [
      {
        name: 'one-line',
        resolveId: (id) => (id === 'line' ? '\0line' : undefined),
        load: (id) => (id === '\0line' ? line : undefined),
      },
    ],
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  await build.close()
  expect(output).toHaveLength(1)
  return { code: output[0].code, imports: output[0].imports }
}

test('createStore is at most 600 bytes, minified and gzipped, and nothing comes with it', async () => {
  const { code, imports } = await bundle(`export { createStore } from ${JSON.stringify(ENTRY)}`)
  expect(gzipSync(code).length).toBeLessThanOrEqual(600)
  expect(imports).toEqual([])
  expect(code).not.toContain('permissionMode')
})

test('the whole main entry imports nothing, React neither', async () => {
  const { imports } = await bundle(`export * from ${JSON.stringify(ENTRY)}`)
  expect(imports).toEqual([])
})
