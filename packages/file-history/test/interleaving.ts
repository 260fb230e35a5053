import { setImmediate } from 'node:timers/promises'
import { files } from '@loci/disk'
import { pace } from '../src/in-parallel.ts'

/** Operations that wait for their turn. What replaces or removes a file follows the look before it at once. */
const GATED = [
  'open',
  'readFile',
  'stat',
  'lstat',
  'realpath',
  'readdir',
  'mkdir',
  'link',
  'copyFile',
  'chmod',
] as const
const COUNTED = [...GATED, 'rename', 'unlink'] as const

/**
 * Lets file operations of the port go on one at a time, in an order that a seed decides. What is done without waiting
 * waits for its turn, or does not, wherever it would if much had been done before.
 */
export interface Interleaving {
  /** Waits until no file operation is under way and `isAllowed`, then does `action`, which does not wait. */
  act(action: () => void, isAllowed?: () => boolean): Promise<void>
  /** Waits for one turn. */
  turn(): Promise<void>
  /** Puts the port back as it was; what waits goes on. */
  stop(): Promise<void>
}

type Operation = (...values: unknown[]) => Promise<unknown>

export function interleave(seed: number): Interleaving {
  const random = randomNumbers(seed)
  const port: Record<string, Operation> = files as unknown as Record<string, Operation>
  const originals = COUNTED.map((name) => [name, port[name]] as const)
  const waiting: { go: () => void; isAllowed: () => boolean; isAction: boolean }[] = []
  let inFlight = 0
  const state = { isStopped: false }
  const turn = (isAction = false, isAllowed: () => boolean = () => true): Promise<void> =>
    state.isStopped
      ? Promise.resolve()
      : new Promise((go) => {
          waiting.push({ go, isAllowed, isAction })
        })
  for (const [name, original] of originals) {
    if (original === undefined) throw new TypeError(`the port has no ${name}`)
    port[name] = async (...values) => {
      if ((GATED as readonly string[]).includes(name)) await turn()
      inFlight += 1
      try {
        return await original.apply(files, values)
      } finally {
        inFlight -= 1
      }
    }
  }
  Object.defineProperty(pace, 'turn', {
    configurable: true,
    get: () => (state.isStopped || random() < 0.5 ? undefined : turn()),
  })
  const pump = async (): Promise<void> => {
    while (!state.isStopped || waiting.length > 0) {
      const able = waiting.filter(
        (one) => state.isStopped || (one.isAllowed() && (!one.isAction || inFlight === 0)),
      )
      const next = able[Math.floor(random() * able.length)]
      if (next !== undefined) {
        waiting.splice(waiting.indexOf(next), 1)
        next.go()
      }
      await setImmediate()
    }
  }
  const pumping = pump()
  return {
    act: async (action, isAllowed) => {
      await turn(true, isAllowed)
      action()
    },
    turn: () => turn(),
    stop: async () => {
      state.isStopped = true
      for (const [name, original] of originals) if (original) port[name] = original
      Reflect.deleteProperty(pace, 'turn')
      await pumping
    },
  }
}

/** Numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = Math.trunc(seed)
  return () => {
    state = Math.trunc(state + 0x6d2b79f5)
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
