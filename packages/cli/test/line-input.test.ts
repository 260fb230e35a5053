import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { openLineInput } from '../src/agent/line-input.ts'
import type { LineInput } from '../src/agent/line-input.ts'

const open = (isInteractive: boolean): { input: PassThrough; shown: () => string; lines: LineInput } => {
  const input = new PassThrough()
  const output = new PassThrough({ encoding: 'utf8' })
  let shown = ''
  output.on('data', (text: string) => void (shown += text))
  return { input, shown: () => shown, lines: openLineInput({ input, output, isInteractive }) }
}

test('lines come in order, read before or after they are there, and then the end', async () => {
  const { input, lines, shown } = open(false)
  const first = lines.readLine('> ')
  input.write('one\ntw')
  input.end('o\nthree')
  expect([await first, await lines.readLine('> '), await lines.readLine('> ')]).toEqual([
    'one',
    'two',
    'three',
  ])
  expect(await lines.readLine('> ')).toBeNull()
  expect(shown()).toBe('')
})

test('what was typed before a question is no answer to it, and stays for later', async () => {
  const { input, lines, shown } = open(true)
  const begun = lines.readLine('> ')
  input.write('first\ntyped ahead\n')
  expect(await begun).toBe('first')
  const answer = lines.ask('allow? ')
  input.write('yes\n')
  expect(await answer).toBe('yes')
  expect(await lines.readLine('> ')).toBe('typed ahead')
  expect(shown()).toContain('allow? ')
  lines.close()
})

test('Ctrl-C interrupts what listens; where nothing does it ends the input, and says so', async () => {
  const { input, lines } = open(true)
  let interruptions = 0
  const stop = lines.onInterrupt(() => (interruptions += 1))
  const line = lines.readLine('> ')
  input.write('\u0003')
  input.write('still here\n')
  expect(await line).toBe('still here')
  expect({ interruptions, ended: lines.wasInterrupted }).toEqual({ interruptions: 1, ended: false })
  stop()
  const next = lines.readLine('> ')
  input.write('\u0003')
  expect(await next).toBeNull()
  expect({ interruptions, ended: lines.wasInterrupted }).toEqual({ interruptions: 1, ended: true })
  lines.close()
})

test('Ctrl-C at a question takes it back, and leaves what was typed before', async () => {
  const { input, lines } = open(true)
  let interruptions = 0
  lines.onInterrupt(() => (interruptions += 1))
  const answer = lines.ask('allow? ')
  input.write('\u0003')
  expect(await answer).toBeNull()
  expect({ interruptions, ended: lines.wasInterrupted }).toEqual({ interruptions: 1, ended: false })
  const next = lines.readLine('> ')
  input.write('go on\n')
  expect(await next).toBe('go on')
  lines.close()
})

test('a question at the end of input has no answer', async () => {
  const { input, lines } = open(false)
  input.end()
  expect(await lines.readLine('> ')).toBeNull()
  expect(await lines.ask('allow? ')).toBeNull()
})
