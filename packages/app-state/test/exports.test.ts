import * as main from '@loci/app-state'
import * as react from '@loci/app-state/react'
import { expect, test } from 'vitest'

test('the public names of @loci/app-state', () => {
  expect(Object.keys(main).toSorted()).toEqual([
    'createStore',
    'getDefaultAppState',
    'onChangeAppState',
    'selectApprovedTools',
    'selectCompanionPetAt',
    'selectCompanionReaction',
    'selectCwd',
    'selectIsCompacting',
    'selectMainLoopModel',
    'selectMcpClientStatus',
    'selectMcpClients',
    'selectPermissionDenials',
    'selectPermissionMode',
    'selectRunningTaskIds',
    'selectSessionId',
    'selectStatusLineText',
    'selectTasks',
    'selectTotalTokens',
    'selectTotalUsage',
    'subscribeTo',
  ])
})

test('the public names of @loci/app-state/react', () => {
  expect(Object.keys(react).toSorted()).toEqual(['StoreProvider', 'useAppState', 'useAppStore'])
})
