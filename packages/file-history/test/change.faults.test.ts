import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterEach, expect, test, vi } from 'vitest'
import { goOn } from './aged.ts'
import { failure, project } from './project.ts'
import type { Project } from './project.ts'

afterEach(() => {
  setFaultHook(undefined)
  vi.restoreAllMocks()
})

const isLong = process.env['LOCI_LONG'] === '1'

/** A history of which all is settled and known, closed, and one edit that keeps size and mtime. */
async function edited(): Promise<Project> {
  vi.restoreAllMocks()
  const work = await project({ 'a.txt': 'one', 'b.txt': 'two', 'd/c.txt': 'three' })
  const history = await work.open()
  for (const name of ['a.txt', 'b.txt', 'd/c.txt', 'none.txt']) await history.trackEdit(name, 'a')
  goOn(5)
  await history.makeSnapshot('m1')
  await history.close()
  await work.write('a.txt', 'ONE')
  return work
}

/** Makes the Nth operation from now on fail, once or all from it on; tells afterwards whether it came to that. */
function failAt(nth: number, isPersistent: boolean): () => boolean {
  let count = 0
  setFaultHook(() => {
    count += 1
    if (count < nth || (count > nth && !isPersistent)) return undefined
    return Object.assign(new Error('injected'), { code: 'EIO' })
  })
  return () => count >= nth
}

async function check(work: Project, history: FileHistory | undefined, isTaken: boolean): Promise<void> {
  await history?.close()
  const again = await work.open()
  const isUnseen = (await verifyFileHistory(work)).some(({ kind }) => kind === 'unseen-file')
  if (isTaken && !isUnseen) expect(await again.readFileAt('m2', 'a.txt')).toEqual(Buffer.from('ONE'))
  await again.makeSnapshot('m3')
  for (const [name, text] of Object.entries({ 'a.txt': 'ONE', 'b.txt': 'two', 'd/c.txt': 'three' })) {
    expect(await again.readFileAt('m3', name)).toEqual(Buffer.from(text))
  }
  expect(await again.readFileAt('m3', 'none.txt')).toBeNull()
  await again.close()
}

test.each([
  { isPersistent: false, when: 'once' },
  { isPersistent: true, when: 'and all after it' },
])(
  'with any file operation failing, $when, no snapshot takes a file that was edited for unchanged unsaid',
  async ({ isPersistent }) => {
    let tripped = 0
    // Every third, each time another one; the long run tries all.
    for (let nth = isPersistent ? 2 : 1, isTripped = true; isTripped; nth += isLong ? 1 : 3) {
      const work = await edited()
      const wasTripped = failAt(nth, isPersistent)
      let history: FileHistory | undefined
      let isTaken = false
      const error = await failure(
        (async () => {
          history = await work.open()
          await history.makeSnapshot('m2')
          isTaken = true
          await history.close()
        })(),
      )
      isTripped = wasTripped()
      setFaultHook(undefined)
      expect(error === undefined || isLociError(error), String(error)).toBe(true)
      await check(work, history, isTaken)
      await work.dispose()
      if (isTripped) tripped += 1
    }
    expect(tripped).toBeGreaterThan(12)
  },
  300_000,
)
