// Makes the change argv[3] in the memory folder argv[2] and is killed (SIGKILL) at its file operation argv[4], counted
// from the call. A write is cut short first: one byte of it arrives. Prints how many operations there were.
import { setFaultHook } from '@loci/disk/testing'
import { openMemdir } from '@loci/memdir'

const [, , dir, what, at] = process.argv
const nth = Number(at)
let ids = 0
const memdir = await openMemdir({
  dir,
  clock: () => new Date('2031-03-06T10:00:00Z'),
  createId: () => `new-${(ids += 1)}`,
})
const draft = { name: 'One', description: 'new', type: 'user', body: 'new', hook: 'own words' }
const { revision } = (await memdir.read('user_one.md')) ?? {}
const changes = {
  save: () => memdir.save(draft),
  'save-over': () => memdir.save({ ...draft, file: 'user_one.md' }, { ifRevision: revision }),
  remove: () => memdir.remove('user_one.md', { ifRevision: revision }),
  restore: () => memdir.restore('id-1'),
  approve: () => memdir.approve('id-1'),
  reject: () => memdir.reject('id-1'),
  repair: () => memdir.repair(),
}
let count = 0
let isCut = false
setFaultHook((operation) => {
  if (isCut) process.kill(process.pid, 'SIGKILL')
  count += 1
  if (count < nth) return undefined
  if (operation !== 'write') process.kill(process.pid, 'SIGKILL')
  isCut = true
  return { shortWriteBytes: 1 }
})
await changes[what]()
setFaultHook(undefined)
process.stdout.write(String(count))
