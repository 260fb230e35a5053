import { spawn } from 'node:child_process'
import { once } from 'node:events'

const BIN = new URL('../dist/bin/loci.js', import.meta.url).pathname

/** What a process printed and how it ended. */
export interface Run {
  /** `null`: it was killed. */
  code: number | null
  out: string
  err: string
}

/** A process of the CLI that runs. */
export interface Running {
  /** Types a line. */
  type(line: string): void
  /** Waits until it has printed a text so many times (default: once); rejects if it ends before. */
  said(text: string, times?: number): Promise<void>
  /** Ends it by SIGKILL, if it has not ended. */
  kill(): Promise<Run>
  /** Ends its standard input, with a last text, and waits for its end. */
  end(input?: string): Promise<Run>
}

/** Starts the built CLI in a process of its own, with no environment but what is given. */
export function startLoci(options: {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Files for `node --import`, from this folder. */
  preload: readonly string[]
  /** Default: the bin as it is published. */
  bin?: string | undefined
}): Running {
  const { argv, cwd, env, preload, bin = BIN } = options
  const imports = preload.flatMap((file) => ['--import', new URL(file, import.meta.url).href])
  const child = spawn(process.execPath, [...imports, bin, ...argv], { cwd, env })
  let out = ''
  let err = ''
  let tell = (): void => undefined
  const changed = (): Promise<void> => new Promise((resolve) => (tell = resolve))
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    tell()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
    tell()
  })
  // A process that is gone takes no more input; its end is what tests look at.
  child.stdin.on('error', () => undefined)
  let isOver = false
  const over = once(child, 'close').then(([code]): Run => {
    isOver = true
    tell()
    return { code: typeof code === 'number' ? code : null, out, err }
  })
  return {
    type: (line) => void child.stdin.write(`${line}\n`),
    async said(text, times = 1) {
      while (out.split(text).length <= times && err.split(text).length <= times) {
        if (isOver) throw new Error(`ended without saying ${JSON.stringify(text)}:\n${out}\n${err}`)
        await changed()
      }
    },
    kill() {
      child.kill('SIGKILL')
      return over
    },
    end(input = '') {
      child.stdin.end(input)
      return over
    },
  }
}
