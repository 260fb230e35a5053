import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { todoLines, withTodos } from '../src/agent/tools/todo-write.ts'
import type { Todo } from '../src/agent/tools/todo-write.ts'
import { decide } from '../src/agent/permissions.ts'
import { NO_RULES, toolRoom } from './agent-tools-room.ts'

const shell = { type: 'shell', description: 'x', status: 'running', startedAtMs: 1, endedAtMs: null } as const

test('a list is noted as tasks, and replaces the one before', async () => {
  const { use, tasks } = await toolRoom({}, { now: () => new Date(5) })
  const todos = [
    { content: 'read', status: 'completed', activeForm: 'Reading' },
    { content: 'write', status: 'in_progress' },
    { content: 'test', status: 'pending' },
  ]
  expect((await use('TodoWrite', { todos })).text).toBe('Noted: 3 steps, 1 done.')
  expect(tasks()).toEqual({
    'todo-1': { type: 'todo', description: 'read', status: 'completed', startedAtMs: 5, endedAtMs: 5 },
    'todo-2': { type: 'todo', description: 'write', status: 'running', startedAtMs: 5, endedAtMs: null },
    'todo-3': { type: 'todo', description: 'test', status: 'pending', startedAtMs: null, endedAtMs: null },
  })
  expect(todoLines(tasks())).toEqual(['[x] read', '[>] write', '[ ] test'])
  expect((await use('TodoWrite', { todos: [{ content: 'write', status: 'completed' }] })).text).toBe(
    'Noted: 1 step, 1 done.',
  )
  expect(Object.keys(tasks())).toEqual(['todo-1'])
  await use('TodoWrite', { todos: [] })
  expect(tasks()).toEqual({})
})

test('plan mode lets it note', async () => {
  const { prepare, root, home } = await toolRoom()
  const { access } = await prepare('TodoWrite', { todos: [] })
  const rules = { root, asideDir: home, memoryDirs: [], configDir: home, ...NO_RULES }
  expect(decide('TodoWrite', access, { mode: 'plan', ...rules }).kind).toBe('allow')
})

test('whatever lists follow each other: the last one is there, what began goes on, other tasks stay', () => {
  const todo = fc.record({
    content: fc.constantFrom('a', 'b', 'c', 'd'),
    status: fc.constantFrom('pending', 'in_progress', 'completed'),
  })
  const list = fc.uniqueArray(todo, { selector: ({ content }) => content })
  fc.assert(
    fc.property(fc.array(list, { maxLength: 6 }), (lists: Todo[][]) => {
      let tasks: ReturnType<typeof withTodos> = { 'bash-1': shell }
      for (const [index, todos] of lists.entries()) {
        const before = Object.values(tasks)
        tasks = withTodos(tasks, todos, index)
        expect(tasks['bash-1']).toBe(shell)
        const now = Object.values(tasks).slice(1)
        expect(now.map(({ description }) => description)).toEqual(todos.map(({ content }) => content))
        for (const one of now) {
          const was = before.find(({ description }) => description === one.description)
          if (one.status === 'pending') expect([one.startedAtMs, one.endedAtMs]).toEqual([null, null])
          else expect(one.startedAtMs).toBe(was?.startedAtMs ?? index)
          expect(one.endedAtMs !== null).toBe(one.status === 'completed')
        }
      }
    }),
  )
})
