/** What helps with damage of a kind: one line, a command where there is one. Pure, as all here. */

/** @param kind as `verifySession` gives it */
export function adviceOnSession(kind: string, sessionId: string): string {
  if (kind === 'archive-mark') return `loci sessions archive ${sessionId}, or unarchive, writes it anew`
  if (kind === 'unreadable') return UNREADABLE
  if (kind === 'foreign-session') return 'it can be gone on with as it is'
  return `all else can be read; loci sessions fork ${sessionId} copies the conversation as far as it can be read`
}

export function adviceOnSubagent(kind: string): string {
  return kind === 'unreadable' ? UNREADABLE : 'all else in it can be read; it stays as it is'
}

/** @param kind as `verifyFileHistory` gives it */
export function adviceOnHistory(kind: string, sessionId: string): string {
  const of = `--session ${sessionId}`
  switch (kind) {
    case 'rewind-incomplete':
      return `loci history resolve finish ${of} ends it, undo takes it back`
    case 'command-incomplete':
      return `loci --resume ${sessionId} covers what changed with the next command it runs`
    case 'unseen-file':
      return 'check its permissions; the next snapshot holds it once it can be read'
    case 'bad-backup':
    case 'bad-path':
      return `a rewind leaves that file as it is and names it; loci history list ${of} shows other snapshots`
    case 'unreadable':
      return UNREADABLE
    default:
      return `snapshots of other lines stay; loci history list ${of} shows them, and no backup is removed`
  }
}

/** @param kind as `verify` of a memory folder gives it */
export function adviceOnMemory(kind: string, where: string): string {
  switch (kind) {
    case 'topic-without-line':
    case 'repeated-line':
    case 'index-missing':
    case 'unfinished-change':
      return `loci memory repair ${where}`
    case 'line-without-topic':
      return `loci memory trash ${where} shows whether it can be restored; else take the line out by hand`
    case 'no-front-matter':
      return 'it is read as a memory of the project; a name, a description and a type make it easier to find'
    case 'long-line':
      return 'shorten the line by hand'
    case 'index-too-long':
      return `loci memory list ${where} shows what can go; the model does not see what is cut`
    default:
      return 'mend it by hand, or move it away; everything else is read'
  }
}

export const UNREADABLE = 'check its permissions, or move it away'
