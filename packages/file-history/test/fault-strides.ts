import { setFaultHook } from '@loci/disk/testing'
import { failure } from './project.ts'

/** The fault loop, in strides: every `stride`th operation fails, once and from then on. The long runs try all, with all kinds. */
export async function faultStrides(options: {
  run: () => Promise<void>
  verify: (error: unknown) => Promise<void>
  stride: number
}): Promise<number> {
  const { run, verify, stride } = options
  let tripped = 0
  for (const isPersistent of [false, true]) {
    let isTripped = true
    for (let nth = isPersistent ? 1 : 1 + (stride >> 1); isTripped; nth += stride) {
      let count = 0
      isTripped = false
      setFaultHook(() => {
        count += 1
        if (count < nth || (count > nth && !isPersistent)) return undefined
        isTripped = true
        return Object.assign(new Error('injected'), { code: 'ENOSPC' })
      })
      const error = await failure(run())
      setFaultHook(undefined)
      try {
        await verify(error)
      } catch (cause) {
        throw new Error(`at operation ${nth}, ${isPersistent ? 'from then on' : 'once'}`, { cause })
      }
      if (isTripped) tripped += 1
    }
  }
  return tripped
}
