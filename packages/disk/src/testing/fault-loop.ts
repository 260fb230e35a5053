import { setFaultHook } from '../file-operations.ts'
import type { Fault } from '../file-operations.ts'

/** An errno that an operation fails with, or a write that takes one byte only. */
export type FaultKind = 'EIO' | 'ENOSPC' | 'EACCES' | 'short-write'

const ALL_KINDS: readonly FaultKind[] = ['EIO', 'ENOSPC', 'EACCES', 'short-write']

/**
 * Makes the Nth file operation of `run` fail, for each kind of fault, once and from then on, and raises N until
 * a run trips no fault: no operation is left untried and none has to be counted by hand.
 * After each run, with operations working again, `verify` looks at what is there and throws if it is wrong.
 *
 * `run` sets up its own state. Its set-up counts too unless it goes past the port, as `tree()` does.
 *
 * Source: the I/O error tests of SQLite (https://www.sqlite.org/testing.html#i_o_error_testing).
 *
 * @param options.verify gets what `run` threw (`undefined` if nothing) and N, from 1
 * @returns how many faults were tripped in all
 * @throws {Error} when `verify` throws, or when `run` never reached the port
 */
export async function faultLoop(options: {
  run: () => Promise<void>
  verify: (error: unknown, nth: number) => Promise<void>
  faults?: readonly FaultKind[]
}): Promise<number> {
  let tripped = 0
  for (const kind of options.faults ?? ALL_KINDS) {
    for (const persistent of [false, true]) {
      for (let nth = 1; ; nth += 1) {
        if (!(await runOnce(options, { kind, persistent, nth }))) break
        tripped += 1
      }
    }
  }
  if (tripped === 0) throw new Error('no file operation of run went through the port, so nothing was tried')
  return tripped
}

async function runOnce(
  options: { run: () => Promise<void>; verify: (error: unknown, nth: number) => Promise<void> },
  fault: { kind: FaultKind; persistent: boolean; nth: number },
): Promise<boolean> {
  let count = 0
  let tripped = false
  setFaultHook((operation) => {
    if (fault.kind === 'short-write' && operation !== 'write') return undefined
    count += 1
    if (count < fault.nth || (count > fault.nth && !fault.persistent)) return undefined
    tripped = true
    return makeFault(fault.kind)
  })
  let error: unknown
  try {
    await options.run()
  } catch (thrown) {
    error = thrown
  } finally {
    setFaultHook(undefined)
  }
  try {
    await options.verify(error, fault.nth)
  } catch (cause) {
    const when = fault.persistent ? 'from then on' : 'once'
    throw new Error(`with ${fault.kind} at operation ${fault.nth}, ${when}: ${String(cause)}`, { cause })
  }
  return tripped
}

function makeFault(kind: FaultKind): Fault {
  if (kind === 'short-write') return { shortWriteBytes: 1 }
  return Object.assign(new Error(`injected ${kind}`), { code: kind })
}
