import { memorySessionStore } from '@loci/session-jsonl'
import { testSessionStore } from '@loci/session-jsonl/testing'
import { test } from 'vitest'

testSessionStore({ test, createStore: () => memorySessionStore() })
