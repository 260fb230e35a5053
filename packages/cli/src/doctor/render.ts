import { counted } from '../commands/text.ts'
import { oneLine } from '../printable.ts'
import type { Examination } from './examine.ts'
import type { Finding } from './findings.ts'
import type { UsageKind } from './usage.ts'

const NAMES: Readonly<Record<UsageKind, string>> = {
  transcripts: 'transcripts',
  sideFiles: 'side files',
  backups: 'backups',
  memories: 'memories',
  trash: 'trash',
  proposals: 'proposals',
  locks: 'locks',
  other: 'other',
}

/** Of so many kinds of damage and hints, each in a place of its own, people are told one by one. */
const SHOWN = 50

/** The lines that people see. Pure. */
export function renderExamination(found: Examination, { all }: { all: boolean }): string[] {
  const { versions, home, checked, findings } = found
  const { loci, node, git, rg } = versions
  const state = home.kind === 'ours' && !home.writable ? 'ours, read-only' : home.kind
  const groups = grouped(findings)
  const rest = groups.length - SHOWN
  const damaged = findings.filter(({ severity }) => severity === 'damage').length
  return [
    `loci ${loci}, Node ${node}, git ${git ?? 'not found'}, ripgrep ${rg ?? 'not found'}`,
    `config home ${oneLine(home.dir)} (${state})`,
    `checked: ${counted(checked.sessions, 'session')}, ${counted(checked.histories, 'file history', 'file histories')}, ${counted(checked.memories, 'memory folder')}${all ? '' : ' of this directory; --all checks everything'}`,
    ...usageLines(found),
    ...groups.slice(0, SHOWN).map(findingLine),
    ...(rest > 0 ? [`${rest} more; --json lists them`] : []),
    ...(damaged === 0 ? [findings.length === 0 ? 'all in order' : 'nothing is damaged'] : []),
  ]
}

function usageLines({ usage }: Examination): string[] {
  const kinds = Object.keys(NAMES) as UsageKind[]
  const rows = kinds.filter((kind) => usage[kind].files > 0)
  return rows.flatMap((kind) => {
    const { files, sizeBytes, sharedBytes = 0 } = usage[kind]
    const row = `  ${NAMES[kind].padEnd(11)} ${String(files).padStart(7)}  ${sizeText(sizeBytes).padStart(9)}`
    return sharedBytes === 0 ? [row] : [row, `  of that shared      ${sizeText(sharedBytes).padStart(9)}`]
  })
}

/** One of each kind in each place, with how many more there are. */
function grouped(findings: readonly Finding[]): Finding[] {
  const groups = new Map<string, Finding>()
  for (const finding of findings) {
    const key = JSON.stringify([finding.place, finding.kind])
    const first = groups.get(key)
    if (first === undefined) groups.set(key, { ...finding })
    else first.more = (first.more ?? 0) + 1 + (finding.more ?? 0)
  }
  return [...groups.values()]
}

function findingLine({ severity, path, line, kind, message, more, advice }: Finding): string {
  const place = line === undefined ? path : `${path}:${line}`
  const rest = more === undefined ? '' : ` (and ${more} more)`
  return oneLine(`${severity}: ${place}: ${kind}: ${message}${rest}${advice === '' ? '' : `; ${advice}`}`)
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/** A size for people, in steps of 1024. Pure. */
export function sizeText(bytes: number): string {
  let size = bytes
  let unit = 0
  for (; size >= 1024 && unit < UNITS.length - 1; unit += 1) size /= 1024
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`
}
