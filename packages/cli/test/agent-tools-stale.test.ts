import { readFile, rm, writeFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { toolRoom } from './agent-tools-room.ts'

afterEach(() => setFaultHook(undefined))

const edit = { file_path: 'a', old_string: 'one', new_string: 'two' }

describe('a file that changed since the model read it', () => {
  test.for([
    ['Edit', edit],
    ['Write', { file_path: 'a', content: 'two' }],
  ] as const)('%s leaves it alone, until it is read again', async ([name, input]) => {
    const { use, root } = await toolRoom({ 'project/a': 'one' })
    await use('Read', { file_path: 'a', limit: 1 })
    await writeFile(`${root}/a`, 'one, and more of somebody else')
    const { text, isError } = await use(name, input)
    expect(text).toContain('was changed since you read it; read it again')
    expect(isError).toBe(true)
    expect(await readFile(`${root}/a`, 'utf8')).toBe('one, and more of somebody else')
    await use('Read', { file_path: 'a' })
    expect((await use(name, input)).isError).toBe(false)
  })

  test('what a command of its own changed is to be read again, too', async () => {
    const { use } = await toolRoom({ 'project/a': 'one' })
    await use('Read', { file_path: 'a' })
    await use('Bash', { command: 'echo one one >a' })
    expect((await use('Edit', edit)).isError).toBe(true)
  })

  test('what it wrote or edited itself it knows', async () => {
    const { use, root } = await toolRoom({ 'project/a': 'one' })
    await use('Read', { file_path: 'a' })
    expect((await use('Edit', edit)).isError).toBe(false)
    expect((await use('Edit', { ...edit, old_string: 'two', new_string: 'one' })).isError).toBe(false)
    expect((await use('Write', { file_path: 'a', content: 'one' })).isError).toBe(false)
    await writeFile(`${root}/a`, 'one more')
    expect((await use('Edit', edit)).isError).toBe(true)
  })

  test('one that it has not read is edited where the text is exactly right', async () => {
    const { use } = await toolRoom({ 'project/a': 'one' })
    expect((await use('Edit', edit)).isError).toBe(false)
  })

  test('one that is gone can be made anew', async () => {
    const { use, root } = await toolRoom({ 'project/a': 'one' })
    await use('Read', { file_path: 'a' })
    await rm(`${root}/a`)
    expect((await use('Write', { file_path: 'a', content: 'two' })).text).toBe('Created a.')
    expect((await use('Edit', { ...edit, old_string: 'two', new_string: 'x' })).isError).toBe(false)
  })

  test('a write after which nobody could look is known to be done, and hinders nothing', async () => {
    const { use, root } = await toolRoom({ 'project/a': 'one' })
    await use('Read', { file_path: 'a' })
    let isWritten = false
    setFaultHook((operation, path) => {
      if (operation === 'rename' && path === `${root}/a`) isWritten = true
      return isWritten && operation === 'realpath' && path === `${root}/a`
        ? Object.assign(new Error('no'), { code: 'EIO' })
        : undefined
    })
    const { text } = await use('Edit', edit)
    setFaultHook(undefined)
    expect(isWritten).toBe(true)
    expect(text).toMatch(/^(?:Changed a in 1 place\.|Edit failed: a was written, )/)
    expect((await use('Edit', { ...edit, old_string: 'two', new_string: 'x' })).isError).toBe(false)
  })
})
