import { explainAutoMemory, loadMemoryPrompt, memoryDirs, openMemdir } from '@loci/memdir'
import type {
  Damage,
  ForkedAgent,
  Memdir,
  Memory,
  MemoryDraft,
  MemoryExtractor,
  MemoryType,
  PullResult,
  PushResult,
  TeamEntry,
  TeamListing,
  TeamMemory,
  TeamPutResult,
  TeamRemote,
  TurnSummary,
} from '@loci/memdir'
import { expect, expectTypeOf, test } from 'vitest'

test('the types of the contract', () => {
  expectTypeOf<MemoryType>().toEqualTypeOf<'user' | 'feedback' | 'project' | 'reference'>()
  expectTypeOf<Memory>().toExtend<MemoryDraft>()
  expectTypeOf<Memory['file']>().toEqualTypeOf<string>()
  expectTypeOf(openMemdir).returns.toEqualTypeOf<Promise<Memdir>>()
  expectTypeOf(memoryDirs).returns.toExtend<{
    user: string
    project: string
    team: string
    userFile: string
  }>()
  expectTypeOf(explainAutoMemory).returns.toEqualTypeOf<{ enabled: boolean; rule: string }>()
  expectTypeOf<Awaited<ReturnType<typeof loadMemoryPrompt>>>().toExtend<{
    system: string
    context: string
    loaded: { file: string; lines: number; bytes: number; truncated: boolean }[]
  } | null>()
  expectTypeOf<Memdir['list']>().returns.toEqualTypeOf<Promise<{ memories: Memory[]; damage: Damage[] }>>()
  expectTypeOf<Memdir['verify']>().returns.toEqualTypeOf<Promise<Damage[]>>()
  expectTypeOf<TurnSummary>().toEqualTypeOf<{
    newMessages: number
    endedWithoutToolCalls: boolean
    wroteMemory: boolean
  }>()
  expectTypeOf<ReturnType<MemoryExtractor['onTurnEnd']>>().toEqualTypeOf<'started' | 'queued' | 'skipped'>()
  expectTypeOf<ReturnType<ForkedAgent['run']>>().toEqualTypeOf<Promise<{ saved: string[]; usage: unknown }>>()
  expectTypeOf<ReturnType<TeamRemote['put']>>().toEqualTypeOf<Promise<TeamPutResult[]>>()
  expectTypeOf<Awaited<ReturnType<TeamRemote['list']>>>().toEqualTypeOf<{
    entries: TeamListing[]
    revision: number
  }>()
  expectTypeOf<TeamListing['hash']>().toEqualTypeOf<string | null>()
  expectTypeOf<TeamEntry['hash']>().toEqualTypeOf<string>()
  expectTypeOf<Awaited<ReturnType<TeamMemory['sync']>>>().toEqualTypeOf<{
    pull: PullResult
    push: PushResult
  }>()
})

test('what must not compile', () => {
  // Never called: only the compiler looks at it.
  const misuse = async (memdir: Memdir, memory: Memory): Promise<void> => {
    // @ts-expect-error a type of its own invention
    await memdir.save({ name: 'a', description: 'b', type: 'note', body: 'c' })
    // @ts-expect-error no body
    await memdir.save({ name: 'a', description: 'b', type: 'user' })
    // @ts-expect-error removing needs the revision
    await memdir.remove(memory.file)
    // @ts-expect-error nobody says whether memory is on
    await loadMemoryPrompt({ dirs: memoryDirs({ home: '/h', projectDir: '/p' }) })
    // @ts-expect-error the gate looks at an environment that it is given
    explainAutoMemory({ settings: {} })
    // @ts-expect-error the folder is not the handle's to move
    memdir.dir = '/elsewhere'
    // @ts-expect-error a memory may have no hook
    memory.hook.trim()
  }
  expect(misuse).toBeTypeOf('function')
})
