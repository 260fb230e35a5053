// Runs one subject of one workload once, in a process of its own, and says what it took: node child.mjs '<job as JSON>'
const job = JSON.parse(process.argv[2])
const { subjects } = await import(`./workloads/${job.workload}.mjs`)
const subject = await subjects[job.subject](job.args)

await subject.prepare?.()
const before = process.resourceUsage()
const startedAt = performance.now()
const result = await subject.run()
const ms = performance.now() - startedAt
const after = process.resourceUsage()
const checked = await subject.check(result)
await subject.close?.()

process.stdout.write(
  JSON.stringify({
    ms,
    // Of all threads. Less at the mercy of what else runs than the time by the clock, but blind to waiting.
    cpuMs: (after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime) / 1000,
    faults: after.minorPageFault - before.minorPageFault,
    // Linux and macOS count in KiB here; the peak of the whole process, its start and imports included.
    peakRssMb: after.maxRSS / 1024,
    checked,
  }),
)
