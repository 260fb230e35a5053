import { rm } from 'node:fs/promises'
import { createSession, forkSession, openSession, verifySession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { appendForeign, often, project, SID } from './lines.ts'

// Random histories of append, branch, rewind, reopen, crash and fork, against a model in memory.

type Step =
  | { do: 'append' }
  | { do: 'branch'; at: number }
  | { do: 'move'; at: number }
  | { do: 'empty' }
  | { do: 'record'; type: 'tag' | 'last-prompt'; at: number }
  | { do: 'reopen' }
  | { do: 'tear' }
  | { do: 'fork'; at: number }

const at = fc.nat({ max: 20 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('branch' as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('empty' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('record' as const),
      type: fc.constantFrom('tag' as const, 'last-prompt' as const),
      at,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('tear' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('fork' as const), at }) },
)

class Model {
  readonly parents = new Map<string, string | null>()
  tip: string | null = null
  tags = 0
  torn = 0

  pick(index: number): string | undefined {
    return [...this.parents.keys()][index % Math.max(1, this.parents.size)]
  }
  chain(tip: string | null): string[] {
    const path: string[] = []
    for (let uuid = tip; uuid !== null; uuid = this.parents.get(uuid) ?? null) path.unshift(uuid)
    return path
  }
  ends(): string[] {
    const followed = new Set(this.parents.values())
    return [...this.parents.keys()].filter((uuid) => !followed.has(uuid)).toReversed()
  }
}

async function expectSame(session: Session, model: Model): Promise<void> {
  expect(session.tip).toBe(model.tip)
  expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(model.chain(model.tip))
  expect((await session.tips()).map(({ uuid, depth, current }) => [uuid, depth, current])).toEqual(
    model.ends().map((uuid) => [uuid, model.chain(uuid).length, uuid === model.tip]),
  )
  expect(await session.records('tag')).toHaveLength(model.tags)
  expect((await session.damage()).map(({ kind }) => kind)).toEqual(
    Array.from({ length: model.torn }, () => 'torn-line'),
  )
}

test('a session is what its model is, after any history', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const made = await project(undefined)
      const options = { projectDir: made.projectDir, sessionId: SID }
      const model = new Model()
      let session = await createSession(options)
      let isThere = false
      const append = async (parentUuid?: string | null): Promise<void> => {
        const uuid = `u${model.parents.size}`
        const type = model.parents.size % 2 === 0 ? 'user' : 'assistant'
        const parent = parentUuid === undefined ? model.tip : parentUuid
        const message = { role: type, content: `said ${uuid}` }
        await session.append({ type, uuid, message, ...(parentUuid === undefined ? {} : { parentUuid }) })
        model.parents.set(uuid, parent)
        model.tip = uuid
        isThere = true
      }
      try {
        for (const action of steps) {
          const uuid = 'at' in action ? model.pick(action.at) : undefined
          if (action.do === 'append') await append()
          else if (action.do === 'branch') await append(uuid ?? null)
          else if (action.do === 'move' && uuid !== undefined) {
            await session.moveTip(uuid)
            model.tip = uuid
          } else if (action.do === 'empty') {
            await session.moveTip(null)
            model.tip = null
          } else if (action.do === 'record') {
            if (action.type === 'tag') model.tags += 1
            const draft =
              action.type === 'tag'
                ? { type: 'tag', tag: 'x' }
                : { type: 'last-prompt', lastPrompt: 'x', leafUuid: uuid ?? null }
            await session.record(draft)
            isThere = true
          } else if (action.do === 'reopen' && isThere) {
            await session.close()
            session = await openSession(options)
          } else if (action.do === 'tear' && isThere) {
            await session.close()
            await appendForeign(made.file, '{"type":"user","uuid":"lost","parentU')
            model.torn += 1
            session = await openSession(options)
          } else if (action.do === 'fork' && uuid !== undefined) {
            const fork = await forkSession({ ...options, upTo: uuid })
            const read = await openSession({ ...options, sessionId: fork.sessionId, mode: 'read' })
            expect((await read.chain()).map((entry) => entry.uuid)).toEqual(model.chain(uuid))
            expect(await read.conversation()).toEqual(await session.conversation({ tip: uuid }))
            expect(await read.records('tag')).toHaveLength(model.tags)
            expect(await verifySession(fork.path)).toEqual([])
            await read.close()
            await rm(fork.path)
          }
        }
        await expectSame(session, model)
        if (isThere) {
          await session.close()
          session = await openSession({ ...options, mode: 'read' })
          await expectSame(session, model)
        }
      } finally {
        await session.close()
        await made.remove()
      }
    }),
    { numRuns: often(60, 20) },
  )
})
