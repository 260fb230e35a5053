import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scanForSecrets } from '@loci/memdir'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** What tests of other packages plant, as they write it. */
const PLANTED = ['http://user:hush@', 'postgres://ana:q7Rk2vXw@']

test('R16: no file of this repository holds a secret, whatever it is about', () => {
  const names = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const found: string[] = []
  let read = 0
  for (const name of names.split('\0').filter((line) => line !== '')) {
    const path = join(ROOT, name)
    if (!existsSync(path)) continue
    read += 1
    const text = PLANTED.reduce(
      (rest, planted) => rest.replaceAll(planted, ''),
      `${name}\n${readFileSync(path, 'utf8')}`,
    )
    for (const { rule, start } of scanForSecrets(text)) {
      found.push(`${name}:${text.slice(0, start).split('\n').length - 1} ${rule}`)
    }
  }
  expect(read).toBeGreaterThan(300)
  expect(found).toEqual([])
})
