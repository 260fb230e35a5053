import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { acquireLease, breakLease, isLociError } from '@loci/disk'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ log: 'x' })
})
afterEach(() => work.remove())

const locks = async (): Promise<string[]> =>
  (await readdir(work.root)).filter((name) => name.startsWith('.log.lock')).toSorted()

async function failure(action: Promise<unknown>): Promise<unknown> {
  return action.then(
    () => undefined,
    (error: unknown) => error,
  )
}

function holder(path: string, waitMs = 0): ChildProcess {
  return spawn(
    process.execPath,
    [new URL('./hold-lease.mjs', import.meta.url).pathname, path, String(waitMs)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
}

async function says(child: ChildProcess): Promise<string> {
  const [chunk] = await once(child.stdout ?? child, 'data')
  return String(chunk).trim()
}

test('one holder at a time, in this process too, and the refusal names it', async () => {
  const lease = await acquireLease(work.path('log'))
  const error = await failure(acquireLease(work.path('log')))
  expect(isLociError(error, 'LEASE_HELD')).toBe(true)
  expect(error).toMatchObject({ details: { pid: process.pid, decidable: true } })
  await lease.release()
  await (await acquireLease(work.path('log'))).release()
})

test('a lease on a file that does not exist yet, and on two files at once', async () => {
  const leases = await Promise.all([acquireLease(work.path('new')), acquireLease(work.path('log'))])
  await Promise.all(leases.map((lease) => lease.release()))
})

test('takeovers count upwards and leave one lock file', async () => {
  for (let n = 0; n < 5; n += 1) await (await acquireLease(work.path('log'))).release()
  expect(await locks()).toEqual(['.log.lock.5'])
})

test('releasing twice does not release what the next holder has', async () => {
  const first = await acquireLease(work.path('log'))
  await first.release()
  const second = await acquireLease(work.path('log'))
  await first.release()
  expect(isLociError(await failure(acquireLease(work.path('log'))), 'LEASE_HELD')).toBe(true)
  await second.release()
})

test('a lease whose directory was removed is released without an error', async () => {
  const lease = await acquireLease(work.path('log'))
  await work.remove()
  await lease.release()
})

test('worker threads of one process do not take it from each other', async () => {
  const lease = await acquireLease(work.path('log'))
  const worker = new Worker(new URL('./hold-lease.mjs', import.meta.url), {
    argv: [work.path('log')],
    execArgv: [],
    stdout: true,
  })
  const [answer] = await once(worker.stdout, 'data')
  expect(String(answer).trim()).toBe('LEASE_HELD')
  await lease.release()
})

test('of many that want it at once exactly one gets it', async () => {
  for (let round = 0; round < 10; round += 1) {
    const attempts = await Promise.allSettled(
      Array.from({ length: 12 }, () => acquireLease(work.path('log'))),
    )
    const won = attempts.filter((attempt) => attempt.status === 'fulfilled')
    expect(won).toHaveLength(1)
    await won[0]?.value.release()
  }
})

test('one that waits gets it when the holder releases', async () => {
  const first = await acquireLease(work.path('log'))
  const waiting = acquireLease(work.path('log'), { waitMs: 20_000 })
  await first.release()
  await (await waiting).release()
})

describe('other processes', () => {
  test('a live one is refused and named; killed, it is recognised at once, even before its parent has seen it end', async () => {
    const child = holder(work.path('log'))
    expect(await says(child)).toBe('held')
    const error = await failure(acquireLease(work.path('log')))
    expect(error).toMatchObject({ code: 'LEASE_HELD', details: { pid: child.pid, decidable: true } })
    expect(isLociError(await failure(breakLease(work.path('log'))), 'LEASE_HELD')).toBe(true)
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    await (await acquireLease(work.path('log'))).release()
  })

  test.runIf(process.platform === 'linux')(
    'one that has ended but whose parent has not noticed is dead',
    async () => {
      const script = new URL('./hold-lease.mjs', import.meta.url).pathname
      // The shell becomes `cat`, which never waits for the child it inherits.
      const shell = '"$1" "$2" "$3" <&3 & echo $!; exec cat >/dev/null'
      const parent = spawn('sh', ['-c', shell, 'sh', process.execPath, script, work.path('log')], {
        stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
      })
      let said = ''
      for await (const chunk of parent.stdout ?? []) {
        said += String(chunk)
        if (said.includes('held')) break
      }
      process.kill(Number(/\d+/.exec(said)?.[0]), 'SIGKILL')
      await (await acquireLease(work.path('log'), { waitMs: 10_000 })).release()
      expect(parent.exitCode).toBeNull()
      parent.stdin?.end()
      await once(parent, 'exit')
    },
  )

  test('of eight that wait for one that is killed exactly one wins, and each in turn', async () => {
    const first = holder(work.path('log'))
    expect(await says(first)).toBe('held')
    const waiting = Array.from({ length: 8 }, () => {
      const child = holder(work.path('log'), 25_000)
      return { child, answer: says(child) }
    })
    first.kill('SIGKILL')
    let rest = waiting
    while (rest.length > 0) {
      const { child: winner, answer } = await Promise.race(
        rest.map(async (one) => ({ ...one, answer: await one.answer })),
      )
      expect(answer).toBe('held')
      // While the winner holds it nobody else has it: this process is refused and told the winner's pid.
      const error = await failure(acquireLease(work.path('log')))
      expect(error).toMatchObject({ code: 'LEASE_HELD', details: { pid: winner.pid } })
      const exited = once(winner, 'exit')
      winner.kill('SIGKILL')
      await exited
      rest = rest.filter(({ child }) => child !== winner)
    }
  })
})

describe('lock files of others', () => {
  const record = {
    bootId: 'another boot',
    pidNamespace: 'pid:[1]',
    pid: 1,
    startTime: '1',
    host: 'elsewhere',
    since: '2026-01-01T00:00:00.000Z',
  }

  test('an owner that cannot be decided keeps its lease until it is broken by hand', async () => {
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
    await writeFile(work.path('.log.lock.3'), `${JSON.stringify({ ...record, bootId })}\n`)
    const error = await failure(acquireLease(work.path('log')))
    expect(error).toMatchObject({
      code: 'LEASE_HELD',
      details: { pid: 1, host: 'elsewhere', since: record.since, decidable: false },
    })
    expect(String(error)).toContain('break the lease by hand')
    await breakLease(work.path('log'))
    await (await acquireLease(work.path('log'))).release()
    expect(await locks()).toEqual(['.log.lock.4'])
  })

  test('a lock file that cannot be read is not robbed', async () => {
    await writeFile(work.path('.log.lock.1'), '{"pi')
    expect(await failure(acquireLease(work.path('log')))).toMatchObject({
      code: 'LEASE_HELD',
      details: { pid: null, decidable: false },
    })
  })

  test('one that a power cut left as zeros is nobody', async () => {
    await writeFile(work.path('.log.lock.1'), new Uint8Array(150))
    await (await acquireLease(work.path('log'))).release()
  })

  test('names that only look like lock files are left alone', async () => {
    await writeFile(work.path('.log.lock.07'), 'x')
    await writeFile(work.path('.log.lock.x'), 'x')
    await writeFile(work.path('.log2.lock.9'), 'x')
    await (await acquireLease(work.path('log'))).release()
    expect(await locks()).toEqual(['.log.lock.07', '.log.lock.1', '.log.lock.x'])
  })

  test('one created between the look and the taking wins: the slower process looks again', async () => {
    const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
    setFaultHook((operation, path) => {
      if (operation === 'link' && path === work.path('.log.lock.1')) {
        writeFileSync(work.path('.log.lock.2'), `${JSON.stringify({ ...record, bootId })}\n`)
      }
      return undefined
    })
    const error = await failure(acquireLease(work.path('log')))
    setFaultHook(undefined)
    expect(error).toMatchObject({ code: 'LEASE_HELD', details: { host: 'elsewhere' } })
    expect(await locks()).toEqual(['.log.lock.2'])
  })

  test('breaking a lease that nobody holds does nothing', async () => {
    await breakLease(work.path('log'))
    expect(await locks()).toEqual([])
  })
})

test('whatever fails while taking or releasing it, the process can take it afterwards', async () => {
  const tripped = await faultLoop({
    run: async () => {
      await work.remove()
      work = await tree({ log: 'x', '.log.lock.4': '' })
      await (await acquireLease(work.path('log'))).release()
    },
    verify: async () => {
      await (await acquireLease(work.path('log'))).release()
      expect(await failure(acquireLease(work.path('log')).then((lease) => lease.release()))).toBeUndefined()
    },
  })
  expect(tripped).toBeGreaterThan(50)
})

test('a FIFO in the place of a lock keeps nobody waiting: it is undecidable', async () => {
  execFileSync('mkfifo', [work.path('.log.lock.1')])
  expect(await failure(acquireLease(work.path('log')))).toMatchObject({
    code: 'LEASE_HELD',
    details: { decidable: false },
  })
})
