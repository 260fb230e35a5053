import { expect, test } from 'vitest'
import { GuardedCommand } from '../src/command-line/start-command.ts'

/** A command, and the signals that were passed on to it. */
function guarded(hasTerminal: boolean, ...words: string[]): { command: GuardedCommand; passed: unknown[] } {
  const passed: unknown[] = []
  const world: ConstructorParameters<typeof GuardedCommand>[1] = {
    hasTerminal,
    kill(pid, signal) {
      passed.push([Math.sign(pid), signal])
      try {
        return process.kill(pid, signal)
      } catch {
        return false
      }
    },
  }
  return { command: new GuardedCommand(words, world), passed }
}

test('in a terminal the first Ctrl-C is not passed on, since the command got it as well; a second one is', async () => {
  const { command, passed } = guarded(true, 'sleep', '1000')
  const ended = command.run()
  command.interrupt('SIGINT')
  expect(passed).toEqual([])
  command.interrupt('SIGINT')
  expect(passed).toEqual([[1, 'SIGINT']])
  expect(await ended).toEqual({ exitCode: 130, failure: 'the command was ended by SIGINT' })
})

test('what else comes in a terminal is passed on at once', async () => {
  const { command, passed } = guarded(true, 'sleep', '1000')
  const ended = command.run()
  command.interrupt('SIGTERM')
  expect(passed).toEqual([[1, 'SIGTERM']])
  expect(await ended).toMatchObject({ exitCode: 143 })
})

test('without a terminal a signal goes to the whole group, which has ended when the command has', async () => {
  const { command, passed } = guarded(false, 'sleep', '1000')
  const ended = command.run()
  command.interrupt('SIGINT')
  expect(passed).toEqual([[-1, 'SIGINT']])
  expect(await ended).toMatchObject({ exitCode: 130 })
  expect(passed.at(-1)).toEqual([-1, 'SIGKILL'])
})

test('a signal before the start keeps the command from being started', async () => {
  const { command, passed } = guarded(false, 'no-such-command')
  command.interrupt('SIGHUP')
  expect(await command.run()).toEqual({ exitCode: 129, failure: 'SIGHUP came before it was started' })
  expect(passed).toEqual([])
})
