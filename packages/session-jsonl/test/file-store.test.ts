import { appendFile, mkdir, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import {
  fileSessionStore,
  listSessions,
  openSession,
  renameSession,
  tagSession,
  verifySession,
} from '@loci/session-jsonl'
import type { SessionStore, SessionStoreEntry } from '@loci/session-jsonl'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { testSessionStore } from '@loci/session-jsonl/testing'
import { describe, expect, test } from 'vitest'
import { jsonl, LONG, SID, straight } from './lines.ts'

testSessionStore({
  test,
  createStore: async () => {
    const made = await tree()
    const projectsDir = made.path('projects')
    return {
      store: fileSessionStore({ projectsDir }),
      reopen: () => fileSessionStore({ projectsDir }),
      cutNextAppend,
      close: () => made.remove(),
    }
  },
  supports: { wholeBatches: false },
})

/** The next write to a transcript takes some of its bytes, the one after it finds the disk full. */
function cutNextAppend(): void {
  let writes = 0
  setFaultHook((operation, path) => {
    if (operation !== 'write' || !path.endsWith('.jsonl')) return undefined
    writes += 1
    if (writes === 1) return { shortWriteBytes: 1_500 }
    setFaultHook(undefined)
    return Object.assign(new Error('full'), { code: 'ENOSPC' })
  })
}

const KEY = { projectKey: '-home-me-app', sessionId: SID }

async function room(): Promise<{
  made: Tree
  projectsDir: string
  store: Required<SessionStore>
  file: string
}> {
  const made = await tree()
  const projectsDir = made.path('projects')
  const store = fileSessionStore({ projectsDir, waitMs: 0 })
  return { made, projectsDir, store, file: `${projectsDir}/${KEY.projectKey}/${SID}.jsonl` }
}

describe('the files', () => {
  test('are laid out as transcripts are: what is stored is listed, opened and verified, and the other way round', async () => {
    const { made, projectsDir, store, file } = await room()
    await store.append(KEY, entriesOf(straight(3)))
    await store.append({ ...KEY, subpath: 'subagents/agent-1' }, entriesOf(straight(1)))
    expect(await listSessions({ projectsDir })).toMatchObject([
      { sessionId: SID, path: file, damaged: false },
    ])
    expect(await verifySession(file)).toEqual([])
    const projectDir = dirname(file)
    const session = await openSession({ projectDir, sessionId: SID })
    const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
    await session.close()
    const held = (await store.load(KEY)) ?? []
    expect(held.map((one) => one.uuid)).toEqual(['m1', 'm2', 'm3', uuid])
    // What another program wrote is known by its uuid as well.
    await store.append(KEY, held)
    expect(await store.load(KEY)).toEqual(held)
    const modes = Object.entries(await made.snapshot()).map(([path, found]) => [
      path.replace('projects/', ''),
      'mode' in found ? found.mode : 0,
    ])
    expect(modes.filter(([path]) => String(path).endsWith('.jsonl'))).toEqual([
      [`-home-me-app/${SID}.jsonl`, 0o600],
      [`-home-me-app/${SID}/subagents/agent-1.jsonl`, 0o600],
    ])
    await made.remove()
  })

  test('reading makes nothing, and of what is absent there is nothing', async () => {
    const { made, store } = await room()
    expect(await store.load(KEY)).toBe(null)
    expect(await store.listSessions('-p')).toEqual([])
    expect(await store.listSessionSummaries('-p')).toEqual([])
    expect(await store.listSubkeys(KEY)).toEqual([])
    await store.delete(KEY)
    await store.append(KEY, [])
    expect(await made.snapshot()).toEqual({})
    await made.remove()
  })

  test('a session that is open for writing is refused, and not changed', async () => {
    const { made, store, file } = await room()
    await store.append(KEY, entriesOf(straight(2)))
    const session = await openSession({ projectDir: dirname(file), sessionId: SID })
    for (const call of [
      () => store.append(KEY, entriesOf(straight(3))),
      () => store.append({ ...KEY, subpath: 'subagents/agent-1' }, entriesOf(straight(3))),
      () => store.delete(KEY),
    ])
      await expect(call()).rejects.toMatchObject({
        code: 'SESSION_LOCKED',
        details: { sessionId: SID, pid: process.pid },
      })
    await session.close()
    expect(await store.load(KEY)).toHaveLength(2)
    await made.remove()
  })

  test('a file that was deleted and written anew by others is not taken for the old one', async () => {
    const { made, store, file } = await room()
    const old = entriesOf(straight(5))
    for (let n = 0; n < 2; n += 1) await store.append(KEY, old)
    // The same inode, as a new file may get it, and longer than the old one.
    await writeFile(
      file,
      jsonl(...straight(6).map((line) => ({ ...line, uuid: `new ${String(line['uuid'])}` }))),
    )
    await store.append(KEY, old)
    expect(await store.load(KEY)).toHaveLength(11)
    expect((await store.listSessionSummaries(KEY.projectKey)).length).toBe(1)
    await made.remove()
  })

  test('damage stays where it is, is left out, and holds up nothing', async () => {
    const { made, store, file } = await room()
    await store.append(KEY, entriesOf(straight(2)))
    await appendFile(file, '{"type":"user","uuid":"torn"')
    await store.append(KEY, [{ type: 'user', uuid: 'torn', text: 'whole' }])
    expect((await store.load(KEY))?.map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'torn'])
    expect((await verifySession(file))[0]).toMatchObject({ kind: 'torn-line', line: 3 })
    await made.remove()
  })

  test('summaries follow what others append, and the same tag and title as a list shows', async () => {
    const { made, projectsDir, store, file } = await room()
    const address = { projectDir: dirname(file), sessionId: SID }
    await store.append(KEY, entriesOf(straight(2)))
    await tagSession({ ...address, tag: 'blue' })
    await renameSession({ ...address, title: 'First title' })
    expect(await store.listSessionSummaries(KEY.projectKey)).toMatchObject([
      { sessionId: SID, data: { customTitle: 'First title', tag: 'blue' } },
    ])
    await tagSession({ ...address, tag: null })
    await renameSession({ ...address, title: 'Second title' })
    const [summary] = await store.listSessionSummaries(KEY.projectKey)
    const [info] = await listSessions({ projectsDir })
    expect(summary?.data).toMatchObject({ customTitle: 'Second title', firstPrompt: info?.firstPrompt })
    expect(summary?.data).not.toHaveProperty('tag')
    expect(summary?.mtime).toBe(Math.floor((await stat(file)).mtimeMs))
    await made.remove()
  })

  test('what is no transcript of a key is not listed', async () => {
    const { made, store, file } = await room()
    await store.append(KEY, entriesOf(straight(1)))
    const folder = dirname(file)
    await mkdir(`${folder}/folder.jsonl`)
    await symlink(file, `${folder}/link.jsonl`)
    for (const name of ['.hidden.jsonl', 'empty.jsonl', 'notes.txt'])
      await writeFile(`${folder}/${name}`, name.startsWith('empty') ? '' : '{}\n')
    await mkdir(`${folder}/${SID}`)
    await symlink(folder, `${folder}/${SID}/subagents`)
    expect((await store.listSessions(KEY.projectKey)).map(({ sessionId }) => sessionId)).toEqual([SID])
    expect(await store.listSubkeys(KEY)).toEqual([])
    await made.remove()
  })
})

describe('a batch that was cut', () => {
  const mode = { type: 'mode', mode: 'a' }
  const entry = (uuid: string) => ({ type: 'user', uuid, text: 'x'.repeat(40) })

  test.each([
    ['with uuids only', [entry('a'), entry('b'), entry('c')]],
    ['with records without uuid', [mode, entry('a'), mode, mode, entry('b'), mode]],
    ['that begins with what is there', [entry('before'), mode, entry('a'), mode]],
    ['that begins with what is there twice', [mode, mode, entry('a')]],
  ])('anywhere, %s, is whole after the same call again, nothing twice', async (_what, batch) => {
    const before = [entry('before'), { type: 'mode', mode: 'b' }]
    const added = batch.filter((one) => !('uuid' in one && one.uuid === 'before'))
    const written = jsonl(...added)
    for (const size of cutsOf(written)) {
      const { made, store, file } = await room()
      await store.append(KEY, before)
      const cut = written.slice(0, size)
      await appendFile(file, cut)
      await fileSessionStore({ projectsDir: made.path('projects') }).append(KEY, batch)
      // Cut right behind records without uuid alone, nothing tells them from earlier ones.
      const isUntold = cut.endsWith('\n') && !cut.includes('uuid')
      if (!isUntold) expect(await store.load(KEY), `cut after ${size} bytes`).toEqual([...before, ...added])
      await made.remove()
    }
  })

  test('records without uuid that are meant twice are kept twice', async () => {
    const { made, store } = await room()
    for (const batch of [[mode], [mode], [mode, mode], [mode]]) await store.append(KEY, batch)
    await store.append(KEY, [mode, entry('a')])
    expect(await store.load(KEY)).toEqual([...Array.from({ length: 6 }, () => mode), entry('a')])
    await made.remove()
  })
})

describe('R17: links and what is in the way', () => {
  test.each([
    ['the project', 'projects/-home-me-app', 'elsewhere', KEY],
    ['the transcript', `projects/-home-me-app/${SID}.jsonl`, 'elsewhere/file', KEY],
    ['a dangling transcript', `projects/-home-me-app/${SID}.jsonl`, 'nowhere', KEY],
    ['the side directory', `projects/-home-me-app/${SID}`, 'elsewhere', { ...KEY, subpath: 'a/b' }],
    ['a folder of the subpath', `projects/-home-me-app/${SID}/a`, 'elsewhere', { ...KEY, subpath: 'a/b' }],
  ])(
    '%s is a link: refused, and nothing is read or written where it leads',
    async (_what, link, target, key) => {
      const made = await tree({
        'elsewhere/file': 'theirs\n',
        [`elsewhere/${SID}.jsonl`]: '{"type":"user"}\n',
      })
      await mkdir(dirname(made.path(link)), { recursive: true })
      await symlink(made.path(target), made.path(link))
      const before = await made.snapshot()
      const store = fileSessionStore({ projectsDir: made.path('projects') })
      for (const call of [
        () => store.append(key, [{ type: 'user' }]),
        () => store.load(key),
        () => store.delete(key),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'PATH_LINK' })
      expect(await store.listSubkeys(key).catch((error: { code: string }) => error.code)).toEqual(
        link.endsWith('app') || link.endsWith('jsonl') ? 'PATH_LINK' : [],
      )
      expect(await made.snapshot()).toEqual(before)
      await made.remove()
    },
  )

  test('a link to the directory of the store itself is followed; a file or folder in the way is named', async () => {
    const made = await tree({
      'real/': '',
      [`real/p/${SID}`]: 'a file',
      'real/q': 'a file',
      [`real/r/${SID}.jsonl/`]: '',
    })
    await symlink(made.path('real'), made.path('link'))
    const store = fileSessionStore({ projectsDir: made.path('link') })
    await store.append({ projectKey: 'p', sessionId: SID }, [{ type: 'user' }])
    expect(await store.load({ projectKey: 'p', sessionId: SID })).toEqual([{ type: 'user' }])
    for (const key of [
      { projectKey: 'p', sessionId: SID, subpath: 'a' },
      { projectKey: 'q', sessionId: SID },
    ])
      await expect(store.append(key, [{ type: 'user' }])).rejects.toMatchObject({ code: 'PATH_INVALID' })
    await expect(store.append({ projectKey: 'r', sessionId: SID }, [{ type: 'user' }])).rejects.toMatchObject(
      {
        code: 'DISK_IO',
      },
    )
    await made.remove()
  })

  test('a key that names no file of its own is refused with ENTRY_INVALID and makes none', async () => {
    const { made, store } = await room()
    const names = [
      '',
      '.',
      '..',
      '../x',
      '/x',
      'a\0',
      '.x',
      'x'.repeat(300),
      'a\\b',
      'é',
      'x.jsonl',
      'a//b',
      'a/',
      'a/../b',
    ]
    for (const name of names) {
      for (const key of [
        { ...KEY, sessionId: name },
        { ...KEY, subpath: name },
        { ...KEY, projectKey: name },
      ]) {
        if (key.projectKey === 'x.jsonl') continue
        for (const call of [
          () => store.append(key, [{ type: 'user' }]),
          () => store.load(key),
          () => store.delete(key),
        ])
          await expect(call(), JSON.stringify(key)).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
      }
    }
    await expect(store.listSessions('..')).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
    await expect(store.append(KEY, [{ type: '' }])).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
    await expect(store.append(KEY, [{ type: 'x', toJSON: () => 'y' }])).rejects.toMatchObject({
      code: 'ENTRY_INVALID',
    })
    expect(await made.snapshot()).toEqual({})
    await made.remove()
  })
})

function entriesOf(lines: readonly Record<string, unknown>[]): SessionStoreEntry[] {
  return lines.map((line) => ({ type: 'user', ...line }))
}

/** Places in a text of lines: about every end of a line, and within each. */
function cutsOf(text: string): number[] {
  const all = Array.from({ length: text.length + 1 }, (_, size) => size)
  const ends = all.filter((size) => text[size - 1] === '\n')
  return LONG ? all : [0, ...ends.flatMap((end) => [end - 15, end - 2, end - 1, end])]
}
