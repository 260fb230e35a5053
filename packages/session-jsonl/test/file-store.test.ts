import { fileSessionStore } from '@loci/session-jsonl'
import { setFaultHook, tree } from '@loci/disk/testing'
import { testSessionStore } from '@loci/session-jsonl/testing'
import { test } from 'vitest'

testSessionStore({
  test,
  createStore: async () => {
    const made = await tree()
    const projectsDir = made.path('projects')
    return {
      store: fileSessionStore({ projectsDir }),
      reopen: () => fileSessionStore({ projectsDir }),
      cutNextAppend,
      close: () => made.remove(),
    }
  },
  supports: { wholeBatches: false },
})

/** The next write to a transcript takes some of its bytes, the one after it finds the disk full. */
function cutNextAppend(): void {
  let writes = 0
  setFaultHook((operation, path) => {
    if (operation !== 'write' || !path.endsWith('.jsonl')) return undefined
    writes += 1
    if (writes === 1) return { shortWriteBytes: 1_500 }
    setFaultHook(undefined)
    return Object.assign(new Error('full'), { code: 'ENOSPC' })
  })
}
