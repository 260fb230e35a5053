/** The middle, least and greatest of some numbers. */
function spread(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const median = (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2
  return { median, min: sorted[0], max: sorted.at(-1) }
}

/**
 * The rows of a case: Loci beside each peer. Each ratio is taken within a round, since what else the machine does
 * changes from round to round; `cpuRatio` is the same of the processors' time, which waits for nobody.
 *
 * @param comparisons `{ peer, us?, measure?, sense, goal? }[]`. `sense` `times faster`: the peer's figure by ours, and the
 * goal is a lower bound; `times as much`: ours by the peer's, and the goal is an upper one. `measure`: `ms` (default)
 * or `peakRssMb`. `us`: which subject is ours; default `loci`.
 */
export function compareRuns(operation, runs, comparisons) {
  return comparisons.map(({ peer, us = 'loci', measure = 'ms', sense, goal }) => {
    const ours = runs.get(us)
    const theirs = runs.get(peer)
    const [top, bottom] = sense === 'times faster' ? [theirs, ours] : [ours, theirs]
    const ratioOf = (figure) => spread(top.map((run, round) => run[figure] / bottom[round][figure]))
    const ratio = ratioOf(measure)
    const cpuRatio = measure === 'ms' ? ratioOf('cpuMs').median : undefined
    const met =
      goal === undefined ? undefined : sense === 'times faster' ? ratio.median >= goal : ratio.median <= goal
    return {
      operation,
      measure,
      us,
      peer,
      sense,
      ratio,
      cpuRatio,
      goal,
      met,
      ours: summary(ours),
      theirs: summary(theirs),
    }
  })
}

function summary(runs) {
  const of = (measure) => spread(runs.map((run) => run[measure])).median
  return { ms: of('ms'), cpuMs: of('cpuMs'), faults: of('faults'), peakRssMb: of('peakRssMb') }
}
