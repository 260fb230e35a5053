import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { errorMessage } from '@loci/disk'

/** How a command ended. */
export interface ShellResult {
  /** Standard output and standard error in the order in which they were written. Bytes that are no UTF-8 are U+FFFD. */
  output: string
  /** Bytes beyond what is kept of the output. */
  droppedBytes: number
  exitCode: number | null
  /** The signal that ended it, such as `SIGTERM`. */
  killedBy: string | null
  /** Why it was ended before it was done. */
  ended: 'timeout' | 'interrupted' | null
  /** Whether something that it started goes on and holds on to its output. */
  isLeftRunning: boolean
}

/** The groups of processes that commands run in, by the number of the first process. */
export interface ProcessGroups {
  /** Ends all of a group; nothing happens if it is gone. */
  kill(pid: number): void
  /** Whether any process of a group is there. */
  isRunning(pid: number): boolean
}

/** A command to run, and what may end it. */
export interface ShellCommand {
  command: string
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  /** `undefined`: it may run as long as it likes. */
  timeoutMs: number | undefined
  signal: AbortSignal
  groups: ProcessGroups | undefined
  /** Output as it comes, decoded; never half a character. */
  onOutput?: (text: string) => void
  /** Called when it runs. */
  onStart?: () => void
  /** Whether output is kept for the result; default: true. */
  keepsOutput?: boolean
}

/** Bytes of output that are kept of one command. */
const MAX_OUTPUT_BYTES = 8 << 20
/** How long output is waited for after the shell is gone, when something that it started holds on to it. */
const LINGER_MS = 200

/** One stream for both outputs keeps their order; the shell in it sees the command as it was given. */
const START = 'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" 2>&1; else exec sh -c "$1" 2>&1; fi'

/**
 * Runs a command with bash, or sh where there is none, without standard input and terminal, in a process group of its
 * own. At the end of `timeoutMs` or at `signal` the whole group is ended. What the command leaves running in the
 * background goes on; its output is read on and not kept. Never rejects: a string says why it could not be started.
 */
export function runShell(options: ShellCommand): Promise<ShellResult | string> {
  const { signal, timeoutMs, groups, onStart } = options
  const child = start(options)
  if (typeof child === 'string') return Promise.resolve(child)
  return new Promise((resolve) => {
    const output = collect(child, options)
    if (onStart !== undefined) child.once('spawn', onStart)
    let ended: ShellResult['ended'] = null
    const stop = (why: 'timeout' | 'interrupted'): void => {
      ended ??= why
      if (groups === undefined) child.kill('SIGKILL')
      else if (child.pid !== undefined) groups.kill(child.pid)
    }
    const onAbort = (): void => stop('interrupted')
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop('timeout'), timeoutMs)
    signal.addEventListener('abort', onAbort, { once: true })
    /** Nothing of it is left to be ended: the number of the group may be another's soon. */
    const letGo = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    child.once('error', (error) => {
      letGo()
      resolve(errorMessage(error))
    })
    child.once('exit', (exitCode, killedBy) => {
      letGo()
      const finish = (isLeftRunning: boolean): void => {
        clearTimeout(lingering)
        child.off('close', onClose)
        // What has let go of the output may run on all the same.
        const isRunning = ended === null && child.pid !== undefined && groups?.isRunning(child.pid) === true
        resolve({ ...output.take(), exitCode, killedBy, ended, isLeftRunning: isLeftRunning || isRunning })
      }
      const onClose = (): void => finish(false)
      // When the time is up, once more round the loop: what the shell itself has written is read in any case.
      const lingering = setTimeout(() => setImmediate(finish, true), LINGER_MS)
      child.once('close', onClose)
    })
    if (signal.aborted) onAbort()
  })
}

function start({ command, cwd, env }: ShellCommand): ChildProcess | string {
  try {
    return spawn('sh', ['-c', START, 'sh', command], {
      cwd,
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
  } catch (error) {
    // A command that is longer than the system takes.
    return errorMessage(error)
  }
}

/** Reads both outputs of a process until they are taken, and after that to nowhere, without waiting for their end. */
function collect(
  child: ChildProcess,
  { onOutput, keepsOutput = true }: ShellCommand,
): { take: () => Pick<ShellResult, 'output' | 'droppedBytes'> } {
  const chunks: Buffer[] = []
  let keptBytes = 0
  let droppedBytes = 0
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const maxBytes = keepsOutput ? MAX_OUTPUT_BYTES : 0
  const keep = (chunk: Buffer): void => {
    const text = onOutput && decoder.decode(chunk, { stream: true })
    if (text !== undefined && text !== '') onOutput?.(text)
    const kept = chunk.subarray(0, Math.max(0, maxBytes - keptBytes))
    keptBytes += kept.length
    droppedBytes += chunk.length - kept.length
    if (kept.length > 0) chunks.push(kept)
  }
  // Without a descriptor left to make them of there are none.
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null && stream !== undefined)
  for (const stream of streams) stream.on('data', keep)
  return {
    take() {
      for (const stream of streams) {
        stream.off('data', keep)
        stream.resume()
        if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
      }
      // Where it was cut, half a character may be at the end.
      const output = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(chunks), {
        stream: droppedBytes > 0,
      })
      return { output, droppedBytes }
    },
  }
}
