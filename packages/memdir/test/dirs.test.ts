import { homedir } from 'node:os'
import { join } from 'node:path'
import { memoryDirs } from '@loci/memdir'
import { describe, expect, test } from 'vitest'

const HOME = '/home/ann/.loci'
const place = { home: HOME, projectDir: `${HOME}/projects/-work-app` }
const env = { HOME: '/home/ann' }

test('by default memory lies below the config home', () => {
  expect(memoryDirs(place)).toEqual({
    user: `${HOME}/memory`,
    project: `${HOME}/projects/-work-app/memory`,
    team: `${HOME}/projects/-work-app/memory/team`,
    userFile: `${HOME}/MEMORY.md`,
  })
})

test('CLAUDE_CODE_REMOTE_MEMORY_DIR moves the project and its team, not the user', () => {
  const remote = { CLAUDE_CODE_REMOTE_MEMORY_DIR: '/r' }
  expect(memoryDirs({ ...place, env: remote })).toEqual({
    user: `${HOME}/memory`,
    project: '/r/projects/-work-app/memory',
    team: '/r/projects/-work-app/memory/team',
    userFile: `${HOME}/MEMORY.md`,
  })
})

test('the setting autoMemoryDirectory beats the environment', () => {
  const dirs = memoryDirs({
    ...place,
    env: { ...env, CLAUDE_CODE_REMOTE_MEMORY_DIR: '/r' },
    settings: { autoMemoryDirectory: '/mem' },
  })
  expect(dirs).toMatchObject({ project: '/mem', team: '/mem/team', user: `${HOME}/memory` })
})

describe('autoMemoryDirectory is taken, normalised', () => {
  test.each([
    ['/mem', '/mem'],
    ['/srv', '/srv'],
    ['/mem/', '/mem'],
    ['/a//b/./c/../d', '/a/b/d'],
    ['~/x', '/home/ann/x'],
    ['~/x/', '/home/ann/x'],
    ['~//x/../y', '/home/ann/y'],
  ])('%j', (value, project) => {
    const dirs = memoryDirs({ ...place, env, settings: { autoMemoryDirectory: value } })
    expect(dirs).toEqual({
      user: `${HOME}/memory`,
      project,
      team: `${project}/team`,
      userFile: `${HOME}/MEMORY.md`,
    })
  })

  test('where the environment names no home, that of the system counts', () => {
    const { project } = memoryDirs({ ...place, settings: { autoMemoryDirectory: '~/x' } })
    expect(project).toBe(join(homedir(), 'x'))
  })
})

describe('M11: a value that is refused says why, and the default is used', () => {
  test.each([
    ['', 'empty'],
    ['mem', 'relative'],
    ['./mem', 'relative'],
    ['../mem', 'relative'],
    ['/', 'root'],
    ['//', 'root'],
    ['/a/..', 'root'],
    ['~', 'home directory'],
    ['~/', 'home directory'],
    ['~/.', 'home directory'],
    ['~/../x', 'home directory'],
    ['~/x/../../ann2', 'home directory'],
    ['~bob', 'relative'],
    ['~bob/x', 'relative'],
    ['\\\\server\\share', 'network'],
    ['/a\0b', 'NUL'],
    [' /a', 'relative'],
  ])('%j', (value, why) => {
    const dirs = memoryDirs({ ...place, env, settings: { autoMemoryDirectory: value } })
    expect(dirs).toMatchObject({ project: `${HOME}/projects/-work-app/memory` })
    expect(dirs.warnings).toHaveLength(1)
    expect(dirs.warnings?.[0]).toContain(why)
    expect(dirs.warnings?.[0]).toContain(JSON.stringify(value))
  })

  test('a value that is no text', () => {
    // @ts-expect-error settings as a file may hold them
    const dirs = memoryDirs({ ...place, env, settings: { autoMemoryDirectory: 5 } })
    expect(dirs.warnings?.[0]).toContain('not text')
  })

  test('a refused setting leaves the environment to decide, and that is checked in the same way', () => {
    const settings = { autoMemoryDirectory: 'mem' }
    const remote = memoryDirs({ ...place, env: { CLAUDE_CODE_REMOTE_MEMORY_DIR: '/r' }, settings })
    expect(remote.project).toBe('/r/projects/-work-app/memory')
    const both = memoryDirs({ ...place, env: { CLAUDE_CODE_REMOTE_MEMORY_DIR: 'r' }, settings })
    expect(both.project).toBe(`${HOME}/projects/-work-app/memory`)
    expect(both.warnings?.map((line) => line.split(' ')[0])).toEqual([
      'Setting',
      'CLAUDE_CODE_REMOTE_MEMORY_DIR',
    ])
  })
})
