/**
 * Differences that are known, each with whose it is and why it is one. The first that fits counts; what fits none is
 * ours until somebody has found out. `context` holds the two whole objects that a field was compared in.
 */
const EXPLAINED = [
  {
    whose: 'theirs',
    why: 'The SDK does not follow a rewind before the next entry is written: it shows the branch of the last line, and its fork continues there.',
    fits: ({ where, what }) =>
      where.startsWith('own, rewound') && /^(?:only in theirs|conversation beside the source)$/.test(what),
  },
  {
    whose: 'theirs',
    why: 'The SDK knows the last prompt only from a last-prompt record and else shows the first prompt; we find the last prompt itself (a fork, whose end is its last line, has no such record).',
    fits: ({ what, ours, context }) =>
      what === 'summary' &&
      ours === context?.ours?.lastPrompt &&
      context?.theirs?.summary === context?.theirs?.firstPrompt,
  },
  {
    whose: 'ours',
    why: 'On purpose: we cut every summary to 200 characters; the SDK shows a recorded last prompt at any length.',
    fits: ({ what, ours, theirs }) =>
      what === 'summary' && String(ours).endsWith('…') && String(theirs).startsWith(ours.slice(0, -1)),
  },
  {
    whose: 'theirs',
    why: 'The fixture holds only every other line, so that parents are missing: we bridge to what came before and report it, the SDK ends the conversation there.',
    fits: ({ where, what }) => where.startsWith('file-history-110-turns') && what === 'only in ours',
  },
  {
    whose: 'theirs',
    why: 'The SDK takes the first timestamp in the text, be it inside a file-history snapshot; we take the first that a line itself has.',
    fits: ({ where, what }) =>
      /^(?:file-history-cli-fork|session-interactive|session-interactive-rewind),/.test(where) &&
      what === 'createdAt',
  },
  {
    whose: 'ours',
    why: 'On purpose: a session without any entry (here the fork of one that was rewound to nothing) is not listed but can be asked for; the SDK lists it if it has a title, and knows nothing of it if not.',
    fits: ({ where, what }) =>
      where.includes('fork of rewound to nothing') || (where === 'own, list' && what.startsWith('only in')),
  },
  {
    whose: 'theirs',
    why: 'The SDK sorts by the time of the file, which a fork, a title or a copy changes; we sort by the time of the last entry.',
    fits: ({ what }) => what === 'order with forks',
  },
]

const seen = new Set()

export function explain(difference) {
  const known = EXPLAINED.find(({ fits }) => fits(difference))
  if (known === undefined) return undefined
  seen.add(known)
  return { whose: known.whose, why: known.why }
}

/** What is explained and did not come up: one of the two has changed, and the explanation is to be looked at again. */
export function unseenExplanations() {
  return EXPLAINED.filter((known) => !seen.has(known)).map(({ why }) => why)
}
