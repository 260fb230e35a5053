const HEAD = [
  'operation',
  'beside',
  'ratio',
  'min',
  'max',
  'CPU',
  'goal',
  'met',
  'ms',
  'faults',
  'peak RSS (MB)',
]

/** The results as a table of Markdown; pairs of figures are ours, then the peer's. */
export function formatTable(rows) {
  const cells = rows.map((row) => {
    const { ratio, ours, theirs } = row
    const bound = row.sense === 'times faster' ? '≥' : '≤'
    return [
      row.operation,
      row.measure === 'ms' ? row.peer : `${row.peer}: memory`,
      `${figure(ratio.median)}×${row.sense === 'times faster' ? ' faster' : ' as much'}`,
      figure(ratio.min),
      figure(ratio.max),
      row.cpuRatio === undefined ? '' : figure(row.cpuRatio),
      row.goal === undefined ? '' : `${bound} ${row.goal}×`,
      row.met === undefined ? '' : row.met ? 'yes' : 'NO',
      `${figure(ours.ms)} / ${figure(theirs.ms)}`,
      `${count(ours.faults)} / ${count(theirs.faults)}`,
      `${Math.round(ours.peakRssMb)} / ${Math.round(theirs.peakRssMb)}`,
    ]
  })
  const widths = HEAD.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column].length)),
  )
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  return [line(HEAD), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...cells.map(line)].join(
    '\n',
  )
}

function figure(value) {
  return value >= 100 ? String(Math.round(value)) : value.toPrecision(value >= 10 ? 3 : 2)
}

function count(value) {
  return value >= 10_000 ? `${Math.round(value / 1000)}k` : String(Math.round(value))
}
