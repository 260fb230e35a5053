import { explain } from './explained.mjs'

export const UNEXPLAINED = 'nobody has said why yet'
/** What the SDK has no field for; it explains others. */
const HELD_ONLY_BY_US = { lastPrompt: true }

/** Collects where two readers of the same bytes do not agree. */
export class Differences {
  found = []
  checks = 0

  /** Notes each field of `ours` and `theirs`, objects of the same form, that differs. */
  compareFields(where, ours, theirs) {
    for (const field of new Set([...Object.keys(ours ?? {}), ...Object.keys(theirs ?? {})]))
      if (!(field in HELD_ONLY_BY_US))
        this.compare(where, field, ours?.[field], theirs?.[field], { ours, theirs })
  }

  /** Notes where two lists of messages differ: which are only in one, then the order, then what they say. */
  compareMessages(where, ours, theirs) {
    const uuids = (list) => list.map(({ type, uuid }) => `${type} ${uuid}`)
    const [mine, other] = [uuids(ours), uuids(theirs)]
    this.compare(
      where,
      'only in ours',
      mine.filter((uuid) => !other.includes(uuid)),
      [],
    )
    this.compare(
      where,
      'only in theirs',
      [],
      other.filter((uuid) => !mine.includes(uuid)),
    )
    this.compare(
      where,
      'order',
      mine.filter((uuid) => other.includes(uuid)),
      other.filter((uuid) => mine.includes(uuid)),
    )
    const text = (list, uuid) => list.find((line) => line.uuid === uuid)?.message
    for (const { uuid } of ours)
      if (text(theirs, uuid) !== undefined)
        this.compare(where, `text of ${uuid}`, text(ours, uuid), text(theirs, uuid))
  }

  compare(where, what, ours, theirs, context) {
    this.checks += 1
    if (JSON.stringify(ours) === JSON.stringify(theirs)) return
    const difference = { where, what, ours, theirs }
    const explained = explain({ ...difference, context }) ?? { whose: 'ours', why: UNEXPLAINED }
    this.found.push({ ...difference, ...explained })
  }
}
