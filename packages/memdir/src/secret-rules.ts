/** The characters that a part of a token is made of. */
export type Alphabet =
  | 'digit'
  | 'hex'
  | 'base32'
  | 'upper'
  | 'alnum'
  | 'word'
  | 'base64'
  | 'base64url'
  | 'dotted'
  | 'bare'

/** As many characters of `of` as there are, up to `max`; fewer than `min` is no match. */
interface Run {
  of: Alphabet
  min: number
  max?: number
}

/** One kind of token that is known by its form alone. */
export interface TokenRule {
  rule: string
  /** Literals, in their order of preference; the public part that `redacted` may show. */
  prefixes: readonly string[]
  /** What follows the prefix, in this order. */
  rest: readonly (Run | string)[]
  /** What stands before the prefix and belongs to the token. */
  lead?: Run
  /** The prefix is short or a word: the character before the token may be no letter or digit. */
  apart?: true
  accept?: (token: string) => boolean
}

const CHARACTERS: Record<Alphabet, string> = {
  digit: '0-9',
  hex: '0-9a-fA-F',
  base32: 'A-Z2-7',
  upper: '0-9A-Z',
  alnum: '0-9A-Za-z',
  word: '0-9A-Za-z_',
  base64: '0-9A-Za-z+/',
  base64url: '0-9A-Za-z_-',
  dotted: '0-9A-Za-z_.-',
  bare: '!#$%*+./0-9:=?@A-Z\\\\^_a-z~-',
}

/** For each ASCII code, 1 if the character belongs to the alphabet. */
export const ALPHABETS: Record<Alphabet, Uint8Array> = {
  digit: members('digit'),
  hex: members('hex'),
  base32: members('base32'),
  upper: members('upper'),
  alnum: members('alnum'),
  word: members('word'),
  base64: members('base64'),
  base64url: members('base64url'),
  dotted: members('dotted'),
  bare: members('bare'),
}

function members(alphabet: Alphabet): Uint8Array {
  const belongs = new RegExp(`[${CHARACTERS[alphabet]}]`)
  return Uint8Array.from({ length: 128 }, (_, code) => (belongs.test(String.fromCharCode(code)) ? 1 : 0))
}

/** A Discord bot token begins with the bot's id, a number in Base64. */
function beginsWithId(token: string): boolean {
  return /^\d{15,20}$/.test(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('latin1'))
}

/** The token of the documentation of JSON Web Tokens, with the subject 1234567890. */
function isNoSampleToken(token: string): boolean {
  return !token.includes('.eyJzdWIiOiIxMjM0NTY3ODkwIi')
}

/**
 * Tokens by provider, an earlier rule before a later one where both fit.
 *
 * Source: what each provider documents of its tokens (prefix, alphabet, length); where a length is not promised,
 * `min` is the shortest that is issued.
 */
export const TOKEN_RULES: readonly TokenRule[] = [
  { rule: 'aws-access-key', prefixes: ['AKIA'], rest: [{ of: 'base32', min: 16, max: 16 }] },
  {
    rule: 'aws-access-key',
    prefixes: ['ASIA', 'ABIA', 'ACCA'],
    rest: [{ of: 'base32', min: 16, max: 16 }],
    apart: true,
  },
  { rule: 'aws-bedrock-key', prefixes: ['ABSK'], rest: [{ of: 'base64', min: 100 }], apart: true },
  { rule: 'aws-bedrock-key', prefixes: ['bedrock-api-key-'], rest: [{ of: 'base64', min: 60 }] },
  { rule: 'google-api-key', prefixes: ['AIza'], rest: [{ of: 'base64url', min: 35 }] },
  { rule: 'google-oauth-secret', prefixes: ['GOCSPX-'], rest: [{ of: 'base64url', min: 24 }] },
  { rule: 'google-oauth-token', prefixes: ['ya29.'], rest: [{ of: 'dotted', min: 30 }] },
  { rule: 'google-oauth-token', prefixes: ['1//0'], rest: [{ of: 'base64url', min: 40 }], apart: true },
  {
    rule: 'azure-devops-token',
    lead: { of: 'alnum', min: 76, max: 76 },
    prefixes: ['AZDO'],
    rest: [{ of: 'alnum', min: 4, max: 4 }],
  },
  {
    rule: 'azure-client-secret',
    lead: { of: 'base64url', min: 3, max: 3 },
    prefixes: ['7Q~', '8Q~'],
    rest: [{ of: 'dotted', min: 31 }],
  },
  { rule: 'github-token', prefixes: ['github_pat_'], rest: [{ of: 'word', min: 60 }] },
  {
    rule: 'github-token',
    prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'],
    rest: [{ of: 'word', min: 36 }],
  },
  {
    rule: 'gitlab-token',
    prefixes: [
      'glpat-',
      'gldt-',
      'glrt-',
      'glrtr-',
      'glcbt-',
      'glptt-',
      'glft-',
      'glimt-',
      'glagent-',
      'glwt-',
      'glsoat-',
      'glffct-',
      'gloas-',
    ],
    rest: [{ of: 'dotted', min: 20 }],
  },
  { rule: 'gitlab-token', prefixes: ['GR1348941'], rest: [{ of: 'base64url', min: 20 }] },
  {
    rule: 'slack-token',
    prefixes: [
      'xoxb-',
      'xoxp-',
      'xoxa-',
      'xoxr-',
      'xoxs-',
      'xoxo-',
      'xoxe-',
      'xoxc-',
      'xoxd-',
      'xapp-',
      'xwfp-',
    ],
    rest: [{ of: 'dotted', min: 20 }],
  },
  { rule: 'slack-token', prefixes: ['xoxe.xox'], rest: [{ of: 'dotted', min: 20 }] },
  {
    rule: 'slack-webhook',
    prefixes: ['hooks.slack.com/services/', 'hooks.slack.com/workflows/', 'hooks.slack.com/triggers/'],
    rest: [{ of: 'alnum', min: 8 }, '/', { of: 'alnum', min: 8 }, '/', { of: 'alnum', min: 16 }],
  },
  {
    rule: 'stripe-key',
    prefixes: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'],
    rest: [{ of: 'alnum', min: 20 }],
  },
  { rule: 'stripe-webhook-secret', prefixes: ['whsec_'], rest: [{ of: 'base64', min: 24 }] },
  { rule: 'anthropic-key', prefixes: ['sk-ant-'], rest: [{ of: 'base64url', min: 40 }] },
  {
    rule: 'openai-key',
    prefixes: ['sk-proj-', 'sk-svcacct-', 'sk-admin-', 'sk-None-'],
    rest: [{ of: 'base64url', min: 36 }],
  },
  { rule: 'openrouter-key', prefixes: ['sk-or-v1-'], rest: [{ of: 'hex', min: 64 }] },
  { rule: 'openai-key', prefixes: ['sk-'], rest: [{ of: 'alnum', min: 32 }], apart: true },
  { rule: 'npm-token', prefixes: ['npm_'], rest: [{ of: 'alnum', min: 36 }] },
  { rule: 'pypi-token', prefixes: ['pypi-AgE'], rest: [{ of: 'base64url', min: 50 }] },
  {
    rule: 'sendgrid-key',
    prefixes: ['SG.'],
    rest: [{ of: 'base64url', min: 16, max: 32 }, '.', { of: 'base64url', min: 32 }],
    apart: true,
  },
  { rule: 'twilio-key', prefixes: ['SK'], rest: [{ of: 'hex', min: 32, max: 32 }], apart: true },
  {
    rule: 'telegram-bot-token',
    lead: { of: 'digit', min: 8, max: 10 },
    prefixes: [':AA'],
    rest: [{ of: 'base64url', min: 32 }],
  },
  {
    rule: 'discord-bot-token',
    lead: { of: 'base64url', min: 23, max: 28 },
    prefixes: ['.'],
    rest: [{ of: 'base64url', min: 6, max: 6 }, '.', { of: 'base64url', min: 27 }],
    accept: beginsWithId,
  },
  {
    rule: 'discord-webhook',
    prefixes: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'],
    rest: [{ of: 'digit', min: 15 }, '/', { of: 'base64url', min: 50 }],
  },
  {
    rule: 'shopify-token',
    prefixes: ['shpat_', 'shpca_', 'shppa_', 'shpss_', 'shpua_'],
    rest: [{ of: 'hex', min: 32 }],
  },
  {
    rule: 'digitalocean-token',
    prefixes: ['dop_v1_', 'doo_v1_', 'dor_v1_'],
    rest: [{ of: 'hex', min: 64 }],
  },
  { rule: 'huggingface-token', prefixes: ['hf_', 'api_org_'], rest: [{ of: 'alnum', min: 34 }] },
  { rule: 'heroku-key', prefixes: ['HRKU-'], rest: [{ of: 'base64url', min: 36 }] },
  { rule: 'docker-token', prefixes: ['dckr_pat_', 'dckr_oat_'], rest: [{ of: 'base64url', min: 24 }] },
  { rule: 'atlassian-token', prefixes: ['ATATT3'], rest: [{ of: 'base64url', min: 60 }] },
  {
    rule: 'vault-token',
    prefixes: ['hvs.', 'hvb.', 'hvr.'],
    rest: [{ of: 'base64url', min: 24 }],
    apart: true,
  },
  { rule: 'databricks-token', prefixes: ['dapi'], rest: [{ of: 'hex', min: 32 }], apart: true },
  { rule: 'linear-key', prefixes: ['lin_api_'], rest: [{ of: 'alnum', min: 32 }] },
  { rule: 'groq-key', prefixes: ['gsk_'], rest: [{ of: 'alnum', min: 40 }] },
  { rule: 'xai-key', prefixes: ['xai-'], rest: [{ of: 'alnum', min: 60 }] },
  { rule: 'age-key', prefixes: ['AGE-SECRET-KEY-1'], rest: [{ of: 'upper', min: 50 }] },
  {
    rule: 'json-web-token',
    prefixes: ['eyJ'],
    rest: [
      { of: 'base64url', min: 10 },
      '.eyJ',
      { of: 'base64url', min: 6 },
      '.',
      { of: 'base64url', min: 20 },
    ],
    accept: isNoSampleToken,
  },
]
