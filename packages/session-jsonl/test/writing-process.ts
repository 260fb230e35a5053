import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const SCRIPT = join(import.meta.dirname, 'write-session.mjs')

/** What `write-session.mjs` is to do. */
export interface Work {
  projectDir: string
  sessionId: string
  mode?: 'create' | 'open' | 'fork' | 'titles'
  rounds?: number
  burst?: number
  records?: number
  sizeBytes?: number
  durability?: 'os' | 'fsync'
  moveTo?: string
  forkTo?: string
  titles?: number
  isAwaited?: boolean
  dieAt?: number
}

/** What became of it. */
export interface Outcome {
  /** What was acknowledged, in order. */
  said: string[]
  failed: string
  /** `null` after a kill. */
  code: number | null
  pid: number | undefined
}

/** Runs a process that writes; kills it once it has acknowledged so much, or as `strace` is told to. */
export async function writing(
  work: Work,
  how: { killAfter?: number; strace?: readonly string[] } = {},
): Promise<Outcome> {
  const { killAfter, strace } = how
  const command = [...(strace ? ['strace', ...strace] : []), process.execPath, SCRIPT, JSON.stringify(work)]
  const [program = '', ...args] = command
  // One thread for the file work, since strace counts the calls of each thread by itself.
  const env = { ...process.env, ...(strace ? { UV_THREADPOOL_SIZE: '1' } : {}) }
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const said: string[] = []
  let failed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (failed += text))
  const closed = once(child, 'close') as Promise<[number | null]>
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    if (said.length === killAfter) child.kill('SIGKILL')
  }
  const [code] = await closed
  return { said, failed, code, pid: child.pid }
}

/** Whether system calls can be made to kill here: `strace` is there and may trace. */
export function canStrace(): boolean {
  try {
    execFileSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'inject=getpid:error=EIO', 'true'], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}
