import type { FileChange } from '../describe-change.ts'
import type { FileHistory } from '../file-history.ts'
import type { CommandContext } from './command-context.ts'
import { takeInCutOff } from './cut-off.ts'
import { patchFile } from './patch-file.ts'
import { findPlace, requireHistory, snapshotOrLastRun, withHistory } from './place.ts'
import type { Place } from './place.ts'
import { shown } from './render.ts'
import { oneLine, visible } from './visible.ts'

/**
 * `file-history diff`: what differs from the snapshot to the disk, as `git apply` takes it; with `--json` a value of
 * `FileChange[]`. What the answer is without is named on standard error, and the exit code is 3 then.
 */
export async function diffCommand(context: CommandContext): Promise<number> {
  const place = await findPlace(context)
  await requireHistory(place)
  await takeInCutOff(place)
  return withHistory(place, 'read', async (history) => {
    const messageId = snapshotOrLastRun(history, context.words[0])
    const changes = await history.diff(messageId, undefined, { patch: true })
    const isWhole = await nameUnknown(context, history, { messageId, changes })
    const isPrinted = await printChanges(context, history, { messageId, changes, place })
    if (!isWhole || !isPrinted) return 3
    return context.options['exit-code'] === true && changes.length > 0 ? 1 : 0
  })
}

/** Names the files of which it cannot be said whether they differ. Whether there are none. */
async function nameUnknown(
  context: CommandContext,
  history: FileHistory,
  { messageId, changes }: { messageId: string; changes: readonly FileChange[] },
): Promise<boolean> {
  const { skipped } = await history.planRewind(messageId)
  const known = new Set(changes.map(({ path }) => path))
  const unknown = skipped.filter(({ path }) => !known.has(path))
  for (const { path, reason } of unknown) {
    warn(context, `not compared: ${shown(path, context.startDir)}: ${oneLine(reason)}`)
  }
  return unknown.length === 0
}

/** File by file: all of them as one text may be more than there is room for. Whether the patch has every change. */
async function printChanges(
  context: CommandContext,
  history: FileHistory,
  { messageId, changes, place }: { messageId: string; changes: readonly FileChange[]; place: Place },
): Promise<boolean> {
  if (context.options.json === true) {
    context.print(`${JSON.stringify(changes, null, 2)}\n`)
    return true
  }
  let isWhole = true
  for (const change of changes) {
    const patch = await patchFile(history, messageId, place.root, change)
    if ('text' in patch) context.print(context.isScreen ? visible(patch.text) : patch.text)
    else {
      isWhole = false
      const what = `${shown(change.path, context.startDir)} (${change.kind})`
      warn(context, `not in the patch: ${what}: ${oneLine(patch.problem)}`)
    }
  }
  return isWhole
}

function warn(context: CommandContext, line: string): void {
  context.warn(`file-history: ${line}\n`)
}
