import { writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'bad\uFFFD': 'valid' })
})
afterEach(() => work.dispose())

test('a name that is no UTF-8 is named if its file changed, also beside a file whose valid name reads the same', async () => {
  const odd = Buffer.concat([Buffer.from(`${work.root}/bad`), Buffer.from([0xff])])
  writeFileSync(odd, 'odd')
  const history = await work.open()
  await history.makeSnapshot('m1')
  const { changed, untracked } = await history.trackCommand('c', async () =>
    writeFileSync(odd, 'odd, changed'),
  )
  expect(changed).toEqual([])
  expect(untracked).toEqual([work.path('bad\uFFFD')])
  await history.close()
})
