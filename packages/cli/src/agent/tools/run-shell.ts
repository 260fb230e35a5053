import { spawn } from 'node:child_process'

/** How a command ended. */
export interface ShellResult {
  /** Standard output and standard error as they came, together. */
  output: string
  /** Bytes beyond what is kept of the output. */
  droppedBytes: number
  exitCode: number | null
  /** Why it was ended before it was done. */
  ended: 'timeout' | 'interrupted' | null
}

/** Bytes of output that are kept of one command. */
const MAX_OUTPUT_BYTES = 8 << 20
/** How long output is waited for after the shell is gone, when something that it started holds on to it. */
const LINGER_MS = 200

/**
 * Runs a command in a shell, without standard input, in a process group of its own. At the end of `timeoutMs` or at
 * `signal` the whole group is ended. What the command leaves running in the background goes on.
 */
export function runShell(options: {
  command: string
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  timeoutMs: number
  signal: AbortSignal
  killGroup: (pid: number) => void
}): Promise<ShellResult> {
  const { command, cwd, env, timeoutMs, signal, killGroup } = options
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', command], {
      cwd,
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const chunks: Buffer[] = []
    let keptBytes = 0
    let droppedBytes = 0
    let ended: ShellResult['ended'] = null
    const take = (chunk: Buffer): void => {
      const kept = chunk.subarray(0, Math.max(0, MAX_OUTPUT_BYTES - keptBytes))
      keptBytes += kept.length
      droppedBytes += chunk.length - kept.length
      if (kept.length > 0) chunks.push(kept)
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    const stop = (why: 'timeout' | 'interrupted'): void => {
      ended ??= why
      if (child.pid !== undefined) killGroup(child.pid)
    }
    const timer = setTimeout(() => stop('timeout'), timeoutMs)
    const onAbort = (): void => stop('interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    let lingering: NodeJS.Timeout | undefined
    const settle = (): void => {
      clearTimeout(timer)
      clearTimeout(lingering)
      signal.removeEventListener('abort', onAbort)
    }
    child.once('error', (error) => {
      settle()
      reject(error)
    })
    child.once('exit', () => {
      lingering = setTimeout(() => {
        child.stdout.destroy()
        child.stderr.destroy()
      }, LINGER_MS)
    })
    child.once('close', (exitCode) => {
      settle()
      resolve({ output: Buffer.concat(chunks).toString('utf8'), droppedBytes, exitCode, ended })
    })
  })
}
