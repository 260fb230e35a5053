/** What stands in the place of a secret. */
export const MASK = '[REDACTED]'

/**
 * A text in which keys and tokens of well-known shapes are masked: API keys of Anthropic, OpenAI, Google and Stripe,
 * tokens of GitHub, GitLab, Slack and npm, AWS key ids, bearer tokens, private keys (one that is cut off, to the end of
 * the text). A secret without such a shape, as most passwords are, stays. Pure; masking twice changes nothing more.
 */
export function redactSecrets(text: string): string {
  return SHAPES.reduce((masked, shape) => masked.replaceAll(shape, (found) => keptHead(found) + MASK), text)
}

// No word boundary before what cannot be anything else: in quoted JSON a key may follow the `n` of `\n`.
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /\b[Bb]earer\s+[\w.~+/-]{8,}=*/g,
  /sk-(?:ant|proj)-[\w-]{8,}|\bsk-[\w-]{16,}|[srp]k_(?:live|test)_[A-Za-z0-9]{16,}/g,
  /gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}/g,
  /(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])|AIza[\w-]{35}/g,
  /xox[a-z]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{36}/g,
]

/** The word that says what follows, of a bearer token. */
function keptHead(found: string): string {
  return /^[Bb]earer\s+/.exec(found)?.[0] ?? ''
}
