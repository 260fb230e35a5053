// Takes the lease on argv[2], says so, and holds it until it is killed or its standard input ends.
import { once } from 'node:events'
import { acquireLease } from '@loci/disk'

try {
  const lease = await acquireLease(process.argv[2], { waitMs: Number(process.argv[3] ?? 0) })
  process.stdout.write('held\n')
  process.stdin.resume()
  await once(process.stdin, 'end')
  await lease.release()
  process.stdout.write('released\n')
} catch (error) {
  process.stdout.write(`${error.code}\n`)
}
