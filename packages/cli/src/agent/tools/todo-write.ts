import type { AppState, TaskState } from '@loci/app-state'
import { z } from 'zod'
import { defineTool, done, wholeText } from './tool.ts'
import type { Tool } from './tool.ts'

const MAX_TODOS = 100

/** One step of a plan. */
export interface Todo {
  content: string
  status: 'pending' | 'in_progress' | 'completed'
  activeForm?: string | undefined
}

const todo: z.ZodType<Todo, Todo> = z.strictObject({
  content: wholeText().min(1).max(500).describe('What is to be done'),
  status: z.enum(['pending', 'in_progress', 'completed']),
  activeForm: wholeText().max(500).optional().describe('The same as something that is going on'),
})

export const todoWriteTool: Tool = defineTool({
  name: 'TodoWrite',
  description:
    'Notes the steps of a task of several, for the user to see. Give the whole list each time; it replaces the one before. One step is in_progress while you work. Returns how many steps there are, and are done.',
  schema: z.strictObject({ todos: z.array(todo).max(MAX_TODOS) }),
  async plan({ todos }, { updateTasks, now }) {
    const completed = todos.filter(({ status }) => status === 'completed').length
    const count = `${todos.length} ${todos.length === 1 ? 'step' : 'steps'}, ${completed} done`
    return {
      access: { kind: 'own' },
      summary: count,
      async run() {
        updateTasks((tasks) => withTodos(tasks, todos, now().getTime()))
        return done(`Noted: ${count}.`, { todos })
      },
    }
  },
})

const STATUS = { pending: 'pending', in_progress: 'running', completed: 'completed' } as const

/** Tasks with this plan in the place of an earlier one. A step that is named as before began when it began. Pure. */
export function withTodos(
  tasks: AppState['tasks'],
  todos: readonly Todo[],
  nowMs: number,
): AppState['tasks'] {
  const steps = Object.values(tasks).filter(isTodo)
  const others = Object.entries(tasks).filter(([, task]) => !isTodo(task))
  const mine = todos.map((one, index): [string, TaskState] => {
    const before = steps.find(({ description }) => description === one.content)
    const status = STATUS[one.status]
    return [
      `todo-${index + 1}`,
      {
        type: 'todo',
        description: one.content,
        status,
        startedAtMs: status === 'pending' ? null : (before?.startedAtMs ?? nowMs),
        endedAtMs: status === 'completed' ? (before?.endedAtMs ?? nowMs) : null,
      },
    ]
  })
  return Object.fromEntries([...others, ...mine])
}

const MARKS: Readonly<Record<TaskState['status'], string>> = {
  pending: '[ ]',
  running: '[>]',
  completed: '[x]',
  failed: '[!]',
  cancelled: '[-]',
}

/** The plan, a line a step. Pure. */
export function todoLines(tasks: AppState['tasks']): string[] {
  return Object.values(tasks)
    .filter(isTodo)
    .map(({ status, description }) => `${MARKS[status]} ${description}`)
}

function isTodo({ type }: AppState['tasks'][string]): boolean {
  return type === 'todo'
}
