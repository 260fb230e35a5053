import { lstatSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import type { FileHistory } from '@loci/file-history'
import { filesNow } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

const { lstat } = filesNow

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1' })
  history = await work.open()
  await history.makeSnapshot('m1')
})
afterEach(async () => {
  filesNow.lstat = lstat
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

test.each(['a.txt', 'linked.txt', 'new.txt'])(
  'a save of the same size within a tick of the clock, before %s is written over, is a conflict and stays',
  async (name) => {
    if (name === 'linked.txt') {
      await work.write(name, 'l1')
      await fs.link(work.path(name), work.path('other'))
    }
    await edit(work, history, name, 'a2')
    let isSaved = false
    setFaultHook((operation, path) => {
      // The journal is begun: all bytes are kept, and nothing is written yet.
      if (isSaved || operation !== 'write' || path !== work.inDir('edits.jsonl')) return undefined
      isSaved = true
      const former = lstatSync(work.path(name), { bigint: true })
      writeFileSync(work.path(name), 'me')
      // What a clock that ticks in milliseconds shows: the times are as they were.
      filesNow.lstat = (asked) => (asked === work.path(name) ? former : lstat(asked))
      return undefined
    })
    const result = await history.rewind('m1')
    expect(isSaved).toBe(true)
    expect(result.conflicts).toEqual([{ path: work.path(name), reason: expect.stringContaining('just now') }])
    expect(await work.read(name)).toBe('me')
  },
)
