import { spawnSync } from 'node:child_process'
import { createMessagesApi } from '@loci/cli/testing'
import type { SeenRequest } from '@loci/cli/testing'
import { expect, test } from 'vitest'
import { toolsFor } from '../src/agent/tools/tools.ts'

const tools = toolsFor({ hasMemory: true })

/** As they begin each request. */
function bytesOf(list: typeof tools): string {
  return JSON.stringify(
    list.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
  )
}

test('the tools, their inputs, and which of them must be given', () => {
  const shapes = tools.map(({ name, inputSchema }) => [
    name,
    Object.keys(Object(inputSchema['properties'])).join(' '),
    String(inputSchema['required']),
  ])
  expect(shapes).toEqual([
    ['Read', 'file_path offset limit', 'file_path'],
    ['Write', 'file_path content', 'file_path,content'],
    ['Edit', 'file_path old_string new_string replace_all', 'file_path,old_string,new_string'],
    ['Glob', 'pattern path', 'pattern'],
    ['Grep', 'pattern path glob output_mode -i -n -A -B -C head_limit', 'pattern'],
    ['Bash', 'command timeout description run_in_background', 'command'],
    ['BashOutput', 'bash_id', 'bash_id'],
    ['KillShell', 'shell_id', 'shell_id'],
    ['TodoWrite', 'todos', 'todos'],
    ['SaveMemory', 'name description type body scope file revision', 'name,description,type,body,scope'],
    ['SearchMemory', 'query', 'query'],
  ])
})

test('without memory there are no tools for it, and the others are the same bytes', () => {
  const without = toolsFor({ hasMemory: false })
  expect(without.map(({ name }) => name)).toEqual(tools.slice(0, -2).map(({ name }) => name))
  expect(bytesOf(tools).startsWith(bytesOf(without).slice(0, -1))).toBe(true)
})

test('the schemas say what they take and nothing more', () => {
  for (const { inputSchema } of tools) {
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(inputSchema).not.toHaveProperty('$schema')
    expect(JSON.stringify(inputSchema)).not.toContain('$schema')
  }
})

test('each description says what the result looks like', () => {
  for (const { name, description } of tools) expect(description, name).toMatch(/ Returns? /)
})

test('another process, in another place and language, makes the same bytes', () => {
  const module = new URL('../dist/agent/tools/tools.js', import.meta.url).href
  const code = `
    const { toolsFor } = await import(${JSON.stringify(module)})
    process.stdout.write(JSON.stringify(toolsFor({ hasMemory: true }).map(({ name, description, inputSchema }) =>
      ({ name, description, input_schema: inputSchema }))))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: '/',
    env: { LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8', TZ: 'Asia/Tokyo' },
    encoding: 'utf8',
  })
  expect(stdout).toBe(bytesOf(tools))
})

test('the strict Messages API accepts them', async () => {
  const requests: SeenRequest[] = []
  const api = createMessagesApi({
    answer: () => ({ content: [{ type: 'text', text: 'ok' }] }),
    onRequest: (seen) => void requests.push(seen),
  })
  await api.fetch('http://stand-in.invalid/v1/messages', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'test', 'anthropic-version': '2023-06-01' },
    body: `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":${bytesOf(tools)}}`,
  })
  expect(requests.map(({ status, error }) => [status, error])).toEqual([[200, undefined]])
})
