/** Secrets of every kind, drawn from a seed when they are asked for: no file of the repository holds one. */
export interface Sample {
  rule: string
  /** A text that holds the secret and says where. */
  make: (draw: Draw) => { before: string; secret: string; after: string }
  /** The secret may not be glued to a letter or digit before it. */
  apart?: true
}

const DIGITS = '0123456789'
const HEX = `${DIGITS}abcdef`
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const LOWER = UPPER.toLowerCase()
const BASE32 = `${UPPER}234567`
const ALNUM = UPPER + LOWER + DIGITS
const BASE64URL = `${ALNUM}-_`
const BASE64 = `${ALNUM}+/`

/** Draws strings of `length` characters: the same for the same seed. */
export class Draw {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  number(below: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }

  of(characters: string, length: number): string {
    return Array.from({ length }, () => characters.charAt(this.number(characters.length))).join('')
  }

  hex(length: number): string {
    return this.of(HEX, length)
  }

  alnum(length: number): string {
    return this.of(ALNUM, length)
  }

  base64url(length: number): string {
    return this.of(BASE64URL, length)
  }

  /** What a program makes up for a password or key: letters and digits through one another. */
  value(length: number): string {
    return Array.from({ length }, (_, index) =>
      this.of([UPPER, DIGITS, LOWER, LOWER, DIGITS][index % 5] ?? '', 1),
    ).join('')
  }

  uuid(): string {
    return [8, 4, 4, 4, 12].map((length) => this.hex(length)).join('-')
  }

  pem(kind: string): string {
    const lines = Array.from({ length: 6 }, () => this.of(BASE64, 64))
    return [`-----BEGIN ${kind}-----`, ...lines, `${this.of(BASE64, 30)}==`, `-----END ${kind}-----`].join(
      '\n',
    )
  }
}

type Piece = (draw: Draw) => string

const token = (rule: string, secret: Piece, apart?: true): Sample => ({
  rule,
  make: (draw) => ({ before: '', secret: secret(draw), after: '' }),
  ...(apart === undefined ? {} : { apart }),
})
const within = (rule: string, before: string, secret: Piece, after = ''): Sample => ({
  rule,
  make: (draw) => ({ before, secret: secret(draw), after }),
  apart: true,
})
const jwtPart = (draw: Draw, length: number): string => `eyJ${draw.base64url(length)}`

/** Tokens that are known by their form, with every prefix of each provider. */
export const TOKENS: readonly Sample[] = [
  token('aws-access-key', (draw) => `AKIA${draw.of(BASE32, 16)}`),
  ...['ASIA', 'ABIA', 'ACCA'].map((prefix) =>
    token('aws-access-key', (draw) => prefix + draw.of(BASE32, 15) + draw.of('234567', 1), true),
  ),
  token('aws-bedrock-key', (draw) => `ABSK${draw.of(BASE64, 128)}`, true),
  token('aws-bedrock-key', (draw) => `bedrock-api-key-${draw.of(BASE64, 120)}`),
  token('google-api-key', (draw) => `AIza${draw.base64url(35)}`),
  token('google-oauth-secret', (draw) => `GOCSPX-${draw.base64url(28)}`),
  token('google-oauth-token', (draw) => `ya29.${draw.base64url(120)}`),
  token('google-oauth-token', (draw) => `1//0${draw.base64url(60)}`, true),
  token('azure-devops-token', (draw) => `${draw.alnum(76)}AZDO${draw.alnum(4)}`),
  token('azure-client-secret', (draw) => `${draw.alnum(3)}8Q~${draw.alnum(34)}`),
  token('azure-client-secret', (draw) => `${draw.alnum(3)}7Q~${draw.alnum(31)}`),
  token('github-token', (draw) => `github_pat_${draw.alnum(22)}_${draw.alnum(59)}`),
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map((prefix) =>
    token('github-token', (draw) => prefix + draw.alnum(36)),
  ),
  ...'glpat gldt glrt glrtr glcbt glptt glft glimt glagent glwt glsoat glffct gloas'
    .split(' ')
    .map((prefix) => token('gitlab-token', (draw) => `${prefix}-${draw.base64url(26)}`)),
  token('gitlab-token', (draw) => `GR1348941${draw.base64url(20)}`),
  ...'xoxb xoxp xoxa xoxr xoxs xoxo xoxe xoxc xoxd xwfp'
    .split(' ')
    .map((prefix) => token('slack-token', (draw) => `${prefix}-${draw.of(DIGITS, 12)}-${draw.alnum(24)}`)),
  token('slack-token', (draw) => `xapp-1-A${draw.of(UPPER, 10)}-${draw.of(DIGITS, 13)}-${draw.hex(64)}`),
  token('slack-token', (draw) => `xoxe.xoxp-1-${draw.alnum(120)}`),
  ...['services', 'workflows', 'triggers'].map((path) =>
    token(
      'slack-webhook',
      (draw) => `hooks.slack.com/${path}/T${draw.of(BASE32, 9)}/B${draw.of(BASE32, 9)}/${draw.alnum(24)}`,
    ),
  ),
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'].map((prefix) =>
    token('stripe-key', (draw) => prefix + draw.alnum(24)),
  ),
  token('stripe-webhook-secret', (draw) => `whsec_${draw.alnum(32)}`),
  ...['api03', 'admin01', 'oat01'].map((kind) =>
    token('anthropic-key', (draw) => `sk-ant-${kind}-${draw.base64url(93)}AA`),
  ),
  ...['proj', 'svcacct', 'admin', 'None'].map((kind) =>
    token('openai-key', (draw) => `sk-${kind}-${draw.base64url(74)}T3BlbkFJ${draw.base64url(74)}`),
  ),
  token('openai-key', (draw) => `sk-${draw.alnum(20)}T3BlbkFJ${draw.alnum(20)}`, true),
  token('openrouter-key', (draw) => `sk-or-v1-${draw.hex(64)}`),
  token('npm-token', (draw) => `npm_${draw.alnum(36)}`),
  token('pypi-token', (draw) => `pypi-AgEIcHlwaS5vcmc${draw.base64url(120)}`),
  token('sendgrid-key', (draw) => `SG.${draw.base64url(22)}.${draw.base64url(43)}`, true),
  token('twilio-key', (draw) => `SK${draw.hex(32)}`, true),
  token('telegram-bot-token', (draw) => `${draw.of('123456789', 10)}:AA${draw.base64url(33)}`),
  token(
    'discord-bot-token',
    (draw) =>
      `${Buffer.from(`1${draw.of(DIGITS, 17)}`).toString('base64url')}.${draw.base64url(6)}.${draw.base64url(38)}`,
    true,
  ),
  ...['discord.com', 'discordapp.com'].map((host) =>
    token('discord-webhook', (draw) => `${host}/api/webhooks/1${draw.of(DIGITS, 17)}/${draw.base64url(68)}`),
  ),
  ...['shpat_', 'shpca_', 'shppa_', 'shpss_', 'shpua_'].map((prefix) =>
    token('shopify-token', (draw) => prefix + draw.hex(32)),
  ),
  ...['dop_v1_', 'doo_v1_', 'dor_v1_'].map((prefix) =>
    token('digitalocean-token', (draw) => prefix + draw.hex(64)),
  ),
  ...['hf_', 'api_org_'].map((prefix) => token('huggingface-token', (draw) => prefix + draw.alnum(34))),
  token('heroku-key', (draw) => `HRKU-${draw.uuid()}`),
  token('heroku-key', (draw) => `HRKU-AA${draw.base64url(58)}`),
  ...['dckr_pat_', 'dckr_oat_'].map((prefix) => token('docker-token', (draw) => prefix + draw.base64url(27))),
  token('atlassian-token', (draw) => `ATATT3${draw.base64url(180)}`),
  ...['hvs.', 'hvb.', 'hvr.'].map((prefix) =>
    token('vault-token', (draw) => prefix + draw.base64url(90), true),
  ),
  token('databricks-token', (draw) => `dapi${draw.hex(32)}`, true),
  token('linear-key', (draw) => `lin_api_${draw.alnum(40)}`),
  token('groq-key', (draw) => `gsk_${draw.alnum(52)}`),
  token('xai-key', (draw) => `xai-${draw.alnum(80)}`),
  token('age-key', (draw) => `AGE-SECRET-KEY-1${draw.of(BASE32, 58)}`),
  token('json-web-token', (draw) => `${jwtPart(draw, 33)}.${jwtPart(draw, 70)}.${draw.base64url(43)}`),
]

/** Secrets that are known by what stands around them. */
export const IN_PLACE: readonly Sample[] = [
  ...['', 'RSA ', 'EC ', 'DSA ', 'ENCRYPTED ', 'OPENSSH '].map((kind) =>
    token('private-key', (draw) => draw.pem(`${kind}PRIVATE KEY`)),
  ),
  token('private-key', (draw) => draw.pem('PGP PRIVATE KEY BLOCK')),
  within('url-password', 'postgres://app:', (draw) => draw.value(12), '@db.internal:5432/app'),
  within('url-password', 'mongodb+srv://app:', (draw) => draw.value(12), '@cluster0.mongodb.net/'),
  within('url-password', 'redis://:', (draw) => draw.value(12), '@cache:6379'),
  within('url-password', 'https://ann:', (draw) => draw.value(12), '@git.internal/app.git'),
  within('url-password', 'amqps://app:', (draw) => `${draw.value(6)}%40${draw.value(6)}`, '@mq'),
  within('connection-string', 'Server=db;Database=app;User Id=sa;Password=', (draw) => draw.value(8), ';'),
  within('connection-string', 'host=db user=app password=', (draw) => draw.value(8), ' dbname=app'),
  within('connection-string', 'jdbc:mysql://db/app?user=app&password=', (draw) => draw.value(8), '&x=1'),
  within('azure-key', 'AccountName=app;AccountKey=', (draw) => `${draw.value(86)}==`, ';'),
  within('azure-key', 'SharedAccessKeyName=all;SharedAccessKey=', (draw) => `${draw.value(43)}=`),
  within('basic-auth', 'Authorization: Basic ', (draw) =>
    Buffer.from(`ann:${draw.value(14)}`).toString('base64'),
  ),
  within('basic-auth', 'curl -u ann:', (draw) => draw.value(14), ' https://x'),
  within('aws-secret-key', 'aws_secret_access_key = ', (draw) => draw.value(40)),
  within('heroku-key', 'HEROKU_API_KEY=', (draw) => draw.uuid()),
  within('twilio-key', 'TWILIO_AUTH_TOKEN=', (draw) => draw.hex(32)),
  within('secret-assignment', 'password: ', (draw) => draw.value(16)),
]
