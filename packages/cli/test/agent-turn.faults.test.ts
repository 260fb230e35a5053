import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import type { AnswerBlock } from '@loci/cli/testing'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import type { FaultKind } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Agent } from '../src/agent/open-agent.ts'
import { reportError } from '../src/report-error.ts'
import { prompt, resume, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

/** The whole turn with every errno takes minutes; without it a turn without a command and a memory, on a full disk. */
const LONG = process.env['LOCI_LONG'] === '1'
const FAULTS: readonly FaultKind[] = LONG ? ['ENOSPC', 'EIO', 'short-write'] : ['ENOSPC']

const use = (name: string, input: unknown): AnswerBlock => ({ type: 'tool_use', name, input })
const CALLS: readonly AnswerBlock[] = [
  use('Read', { file_path: 'large.txt' }),
  use('Read', { file_path: 'a.txt' }),
  use('Write', { file_path: 'a.txt', content: 'new\n' }),
  ...(LONG
    ? [
        use('Bash', { command: 'printf "%040000d" 0; echo c > c.txt' }),
        use('SaveMemory', { name: 'n', description: 'd', type: 'project', body: 'b', scope: 'project' }),
      ]
    : []),
]

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': { text: 'old\n', mode: 0o755 } })
})
afterEach(() => world.close())

/** Ids of the lines that were told to be in the transcript. */
const acknowledged = (): string[] =>
  world.events.flatMap((event) => (event.type === 'written' ? event.entries.map(({ uuid }) => uuid) : []))

test('R8: whatever file operation of a turn fails, it is said in a line, what was acknowledged is there, and it goes on', async () => {
  let session: Agent['session'] | undefined
  let openFailure = 0
  const tripped = await faultLoop({
    faults: FAULTS,
    async run() {
      session = undefined
      await rm(world.work.path('home'), { recursive: true, force: true })
      // Ours already: what a turn does is tried, not how a home is made.
      await mkdir(world.work.path('home'))
      await writeFile(world.work.path('home/loci.json'), '{"formatVersion":1}\n')
      await rm(world.root, { recursive: true })
      await mkdir(world.root)
      await writeFile(world.work.path('project/a.txt'), 'old\n')
      await writeFile(world.work.path('project/large.txt'), '0'.repeat(40_000))
      await chmod(world.work.path('project/a.txt'), 0o755)
      world.events.length = 0
      world.requests.length = 0
      world.script.splice(0, Infinity, {
        content: [{ type: 'text', text: 'I begin.' }, ...CALLS],
      })
      const agent = await world.open()
      session = agent.session
      let failure: unknown
      try {
        const { error } = await prompt(agent, 'go')
        // The model is well: nothing is to be blamed on it.
        expect(error).toBeUndefined()
      } catch (error) {
        failure = error
      }
      await agent.close().catch((error: unknown) => (failure ??= error))
      if (failure !== undefined) throw failure
    },
    async verify(error) {
      if (error !== undefined) {
        const { line, exitCode } = reportError(error, 'onCommandLine')
        expect([line, isLociError(error)]).toEqual([
          expect.stringMatching(/^loci: [^\n]+ \[[A-Z_]+\]$/),
          true,
        ])
        expect(exitCode).toBe(1)
      }
      expect(world.requests.filter(({ status }) => status !== 200)).toEqual([])
      // A file that was being replaced is as it was, or as it should be.
      expect(['old\n', 'new\n']).toContain(await world.work.read('project/a.txt'))
      expect((await stat(world.work.path('project/a.txt'))).mode & 0o777).toBe(0o755)
      const results = world.events.flatMap((event) => (event.type === 'tool-result' ? [event] : []))
      for (const { name, isError } of results) {
        if (name === 'Write' && !isError) expect(await world.work.read('project/a.txt')).toBe('new\n')
      }
      const told = acknowledged()
      world.script.length = 0
      const isThere = session !== undefined && existsSync(session.path)
      if (!isThere) {
        openFailure += 1
        expect(told).toEqual([])
      }
      const again = await world.open(session && isThere ? resume(session, world.root) : undefined)
      const chain = await again.session.chain()
      expect(chain.map(({ uuid }) => uuid)).toEqual(expect.arrayContaining(told))
      for (const { toolUseResult } of chain) {
        if (
          typeof toolUseResult !== 'object' ||
          toolUseResult === null ||
          !('persistedOutputPath' in toolUseResult)
        )
          continue
        const aside = await readFile(String(toolUseResult.persistedOutputPath), 'utf8')
        // What undo does not cover is said after it.
        expect(aside.replace(/^0{40000}/, 'all').split('\n')[0]).toBe('all')
      }
      expect((await prompt(again, 'next')).text).toBe('ok')
      expect(world.requests.at(-1)?.status).toBe(200)
      await again.close()
    },
  })
  expect(tripped).toBeGreaterThan(100)
  expect(openFailure).toBeGreaterThan(0)
}, 900_000)
