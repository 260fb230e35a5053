import {
  type AppState,
  type AppStateEffects,
  createStore,
  type DeepReadonly,
  getDefaultAppState,
  selectCwd,
  type Store,
  type StoreOptions,
  subscribeTo,
} from '@loci/app-state'
import { expect, expectTypeOf, test } from 'vitest'

test('AppState is read-only at every depth', () => {
  expectTypeOf<AppState['approvedTools']>().toEqualTypeOf<readonly string[]>()
  expectTypeOf<AppState['mcpClients'][number]['tools']>().toEqualTypeOf<readonly string[]>()
  const write = (state: AppState): void => {
    // @ts-expect-error a field
    state.permissionMode = 'plan'
    // @ts-expect-error an array
    state.permissionDenials.push({ toolName: '', toolUseId: '', toolInput: null })
    // @ts-expect-error an item of an array
    state.permissionDenials[0] = { toolName: '', toolUseId: '', toolInput: null }
    // @ts-expect-error a field of an item
    state.permissionDenials[0].toolName = 'Bash'
    // @ts-expect-error an array in an item
    state.mcpClients[0]?.tools.push('log')
    // @ts-expect-error a record
    state.mcpClientStatus['git'] = 'failed'
    // @ts-expect-error a field of an object in a record
    state.tasks['t'].status = 'failed'
    // @ts-expect-error a field of an object
    state.totalUsage.outputTokens = 1
    // @ts-expect-error a record
    delete state.tasks['t']
  }
  expectTypeOf(write).toBeFunction()
})

test('AppState has the fields that were asked for, and a default state has them all', () => {
  expectTypeOf<keyof AppState>().toEqualTypeOf<
    | 'permissionMode'
    | 'permissionDenials'
    | 'approvedTools'
    | 'mcpClients'
    | 'mcpClientStatus'
    | 'tasks'
    | 'isCompacting'
    | 'statusLineText'
    | 'mainLoopModel'
    | 'companionReaction'
    | 'companionPetAt'
    | 'sessionId'
    | 'cwd'
    | 'totalUsage'
  >()
  expectTypeOf(getDefaultAppState).returns.toEqualTypeOf<AppState>()
  // @ts-expect-error no such field
  getDefaultAppState({ cdw: '/work' })
  // @ts-expect-error no such mode
  getDefaultAppState({ permissionMode: 'yolo' })
})

test('DeepReadonly goes through objects, arrays, tuples, maps and sets and leaves the rest', () => {
  expectTypeOf<DeepReadonly<{ a: { b: number[] } }>>().toEqualTypeOf<{
    readonly a: { readonly b: readonly number[] }
  }>()
  expectTypeOf<DeepReadonly<[{ a: 1 }, string?]>>().toEqualTypeOf<readonly [{ readonly a: 1 }, string?]>()
  expectTypeOf<DeepReadonly<Map<string, { a: 1 }>>>().toEqualTypeOf<ReadonlyMap<string, { readonly a: 1 }>>()
  expectTypeOf<DeepReadonly<Set<{ a: 1 }>>>().toEqualTypeOf<ReadonlySet<{ readonly a: 1 }>>()
  expectTypeOf<DeepReadonly<(a: string[]) => void>>().toEqualTypeOf<(a: string[]) => void>()
  expectTypeOf<DeepReadonly<string | null>>().toEqualTypeOf<string | null>()
  expectTypeOf<DeepReadonly<unknown>>().toEqualTypeOf<unknown>()
  expectTypeOf<DeepReadonly<{ a?: unknown }>>().toEqualTypeOf<{ readonly a?: unknown }>()
  expectTypeOf<DeepReadonly<AppState>>().toEqualTypeOf<AppState>()
})

// The port of @loci/file-history, by shape: neither package imports the other.
interface HistoryState {
  readonly snapshots: readonly { messageId: string }[]
  readonly trackedFiles: ReadonlySet<string>
}
interface HistoryCell {
  getState(): HistoryState
  setState(updater: (previous: HistoryState) => HistoryState): void
}

test('a store of the right state is a HistoryCell, and of another state is none', () => {
  const state: HistoryState = { snapshots: [], trackedFiles: new Set() }
  const cell: HistoryCell = createStore(state)
  expectTypeOf(cell).toEqualTypeOf<HistoryCell>()
  // @ts-expect-error another state
  const none: HistoryCell = createStore({ snapshots: [] })
  expectTypeOf(none).toEqualTypeOf<HistoryCell>()
  expectTypeOf<Store<number>>().toExtend<{
    getState(): number
    setState(updater: (previous: number) => number): void
  }>()
})

test('the state’s type comes from the initial state, also beside options', () => {
  const options: StoreOptions<number> = {}
  expectTypeOf(createStore(0)).toEqualTypeOf<Store<number>>()
  expectTypeOf(createStore(0, options)).toEqualTypeOf<Store<number>>()
  expectTypeOf(createStore(0, { onListenerError: undefined })).toEqualTypeOf<Store<number>>()
  expectTypeOf(createStore<string | null>(null)).toEqualTypeOf<Store<string | null>>()
  createStore({ n: 0 }, { onChange: ({ state, previous }) => expectTypeOf(state).toEqualTypeOf(previous) })
  // @ts-expect-error an updater returns a state, not a part of it
  createStore({ n: 0, m: 0 }).setState(() => ({ n: 1 }))
})

test('a listener of a slice gets the selector’s type; an effect the field’s', () => {
  subscribeTo(createStore(getDefaultAppState()), selectCwd, (slice, previous) => {
    expectTypeOf(slice).toEqualTypeOf<string | null>()
    expectTypeOf(previous).toEqualTypeOf<string | null>()
  })
  expectTypeOf<NonNullable<AppStateEffects['isCompacting']>>().parameter(0).toEqualTypeOf<boolean>()
  expectTypeOf<NonNullable<AppStateEffects['tasks']>>().parameter(1).toEqualTypeOf<AppState['tasks']>()
})

test('an override may be undefined, also with exactOptionalPropertyTypes', () => {
  const cwd: string | undefined = undefined
  expect(getDefaultAppState({ cwd }).cwd).toBeNull()
})
