import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openSession, sessionInfo, verifySession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
import { writeLargeSession } from './large-file.ts'
import { jsonl, project, SID, straight, user } from './lines.ts'

const SCRIPT = join(import.meta.dirname, 'large-session.mjs')

describe('S13: files that are larger than memory or than a string', () => {
  test('S13: 18 MB are listed, loaded, gone on with and forked in a process that has 64 MB', async () => {
    const made = await project(undefined)
    await writeLargeSession(made.file, 60, 300_000)
    const args = ['--max-old-space-size=64', SCRIPT, made.root, made.projectDir, SID]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const seen: unknown = JSON.parse(stdout)
    expect(seen).toEqual({
      firstPrompt: 'prompt 0',
      tips: 1,
      length: 185,
      sent: 125,
      forked: 185,
      isLast: true,
      damage: [],
    })
    await made.remove()
  })

  test('S13: one line of 9 MB is a line as any other', async () => {
    const said = 'x'.repeat(9_000_000)
    const made = await project(jsonl(...straight(2), user('m3', 'm2', said)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    expect((await session.conversation())[2]).toEqual({ role: 'user', content: said })
    await session.close()
    expect(await sessionInfo(made.file)).toMatchObject({ firstPrompt: 'say m1', damaged: false })
    await made.remove()
  })

  test('S13: missing, damaged and unreadable are told apart', async () => {
    const made = await project(undefined, { [`p/${SID}.jsonl/`]: '' })
    const nobody = { projectDir: made.projectDir, sessionId: '77777777-2222-4333-8444-555555555555' }
    await expect(openSession({ ...nobody, mode: 'read' })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    await expect(verifySession(made.file)).rejects.toMatchObject({ code: 'DISK_IO' })
    const torn = await project('{"torn')
    expect(await verifySession(torn.file)).toMatchObject([{ kind: 'torn-line' }])
    await made.remove()
    await torn.remove()
  })
})
