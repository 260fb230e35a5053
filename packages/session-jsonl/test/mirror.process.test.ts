import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { tree } from '@loci/disk/testing'
import { expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, 'mirror-and-end.mjs')

test.each([
  ['a mirror whose store is dead does not keep the process alive', '1000000000', 'end', 'lag some\n'],
  ['a flush that waits for the store does', '3', 'flush', 'lag none\n'],
])('%s', async (_what, refusals, how, said) => {
  const made = await tree()
  const child = spawn(process.execPath, [SCRIPT, made.root, refusals, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const closed: unknown[] = await once(child, 'close')
  expect([printed, closed[0]]).toEqual([said, 0])
  await made.remove()
})
