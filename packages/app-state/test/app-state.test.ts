import * as appState from '@loci/app-state'
import { type AppState, createStore, getDefaultAppState, subscribeTo } from '@loci/app-state'
import { describe, expect, test } from 'vitest'

const FIELDS = {
  permissionMode: 'default',
  permissionDenials: [],
  approvedTools: [],
  mcpClients: [],
  mcpClientStatus: {},
  tasks: {},
  isCompacting: false,
  statusLineText: null,
  mainLoopModel: null,
  companionReaction: null,
  companionPetAt: null,
  sessionId: null,
  cwd: null,
  totalUsage: {
    inputTokens: 0,
    outputTokens: 0,
    cacheCreationInputTokens: 0,
    cacheReadInputTokens: 0,
    costUsd: 0,
  },
} satisfies AppState

const task = (status: AppState['tasks'][string]['status']): AppState['tasks'][string] => ({
  type: 'agent',
  description: 'look around',
  status,
  startedAtMs: 1,
  endedAtMs: null,
})

describe('getDefaultAppState', () => {
  test('nothing is approved, connected or spent, and there is no session', () => {
    expect(getDefaultAppState()).toEqual(FIELDS)
  })

  test('an override replaces the whole field and leaves the others', () => {
    const totalUsage = { ...FIELDS.totalUsage, inputTokens: 5 }
    expect(getDefaultAppState({ cwd: '/work', totalUsage })).toEqual({ ...FIELDS, cwd: '/work', totalUsage })
  })

  test('an override of undefined leaves the default: the state is always whole', () => {
    const overrides = JSON.parse('{"cwd":"/work"}')
    overrides.sessionId = undefined
    overrides.tasks = undefined
    expect(getDefaultAppState(overrides)).toStrictEqual({ ...FIELDS, cwd: '/work' })
  })

  test('an override of null or false counts', () => {
    expect(getDefaultAppState({ isCompacting: true }).isCompacting).toBe(true)
    expect(getDefaultAppState({ mainLoopModel: null, isCompacting: false })).toEqual(FIELDS)
  })

  test('two states share no object', () => {
    const [one, other] = [getDefaultAppState(), getDefaultAppState()]
    for (const [name, value] of Object.entries(one))
      if (typeof value === 'object' && value !== null) expect(value, name).not.toBe(Reflect.get(other, name))
  })
})

describe('selectors', () => {
  const full: AppState = {
    permissionMode: 'plan',
    permissionDenials: [{ toolName: 'Bash', toolUseId: 'tu_1', toolInput: { command: 'ls' } }],
    approvedTools: ['Read'],
    mcpClients: [{ name: 'git', tools: ['log'] }],
    mcpClientStatus: { git: 'connected' },
    tasks: { a: task('running'), b: task('completed'), c: task('running') },
    isCompacting: true,
    statusLineText: 'main',
    mainLoopModel: 'some-model',
    companionReaction: 'purrs',
    companionPetAt: 1234,
    sessionId: 's1',
    cwd: '/work',
    totalUsage: {
      inputTokens: 1,
      outputTokens: 20,
      cacheCreationInputTokens: 300,
      cacheReadInputTokens: 4000,
      costUsd: 0.5,
    },
  }

  test.each(Object.keys(FIELDS))('there is one for %s and it gives the field itself', (name) => {
    const selector: unknown = Reflect.get(appState, `select${name[0]?.toUpperCase()}${name.slice(1)}`)
    expect(typeof selector === 'function' && selector(full)).toBe(Reflect.get(full, name))
  })

  test('all tokens are counted, cached ones too', () => {
    expect(appState.selectTotalTokens(full)).toBe(4321)
  })

  test('the running tasks are found', () => {
    expect(appState.selectRunningTaskIds(full)).toEqual(['a', 'c'])
    expect(appState.selectRunningTaskIds(getDefaultAppState())).toEqual([])
  })

  test('the running tasks are the same array for as long as the tasks are the same, of several states too', () => {
    const first = appState.selectRunningTaskIds(full)
    const other = { ...full, tasks: { z: task('running') } }
    expect(appState.selectRunningTaskIds(other)).toEqual(['z'])
    expect(appState.selectRunningTaskIds({ ...full, cwd: '/elsewhere' })).toBe(first)
  })

  test('so that one who subscribes to them hears of nothing else', () => {
    const store = createStore(full)
    const heard: (readonly string[])[] = []
    subscribeTo(store, appState.selectRunningTaskIds, (ids) => void heard.push(ids))
    store.setState((previous) => ({ ...previous, cwd: '/elsewhere' }))
    store.setState((previous) => ({ ...previous, tasks: { ...previous.tasks, a: task('failed') } }))
    expect(heard).toEqual([['c']])
  })
})
