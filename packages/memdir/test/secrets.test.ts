import { scanForSecrets } from '@loci/memdir'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Draw, IN_PLACE, TOKENS } from './secret-samples.ts'
import { times } from './thorough.ts'

const SEEDS = Array.from({ length: 8 }, (_, seed) => seed + 1)
const found = (text: string): { rule: string; text: string }[] =>
  scanForSecrets(text).map(({ rule, start, end }) => ({ rule, text: text.slice(start, end) }))
const key = (seed = 1): string => `ghp_${new Draw(seed).alnum(36)}`

describe('R16: every kind is found, the whole of it and no more', () => {
  test.each([...TOKENS, ...IN_PLACE].map((sample) => [sample.make(new Draw(1)).before, sample] as const))(
    '%s… $rule',
    (_, sample) => {
      for (const seed of SEEDS) {
        const { before, secret, after } = sample.make(new Draw(seed))
        expect(found(`see ${before}${secret}${after} there`)).toEqual([{ rule: sample.rule, text: secret }])
      }
    },
  )

  test.each(['AIza', 'ghp_', 'GR1348941', 'xoxe.xoxp-', 'npm_', 'hf_'])(
    '%s… longer than it is today',
    (prefix) => {
      const secret = prefix + new Draw(1).alnum(250)
      expect(found(`a ${secret} b`).map(({ text }) => text)).toEqual([secret])
    },
  )

  test.each(['sk-or-v1-', 'shpat_', 'dop_v1_', 'dapi'])('%s… longer than it is today', (prefix) => {
    const secret = prefix + new Draw(1).hex(250)
    expect(found(`a ${secret} b`).map(({ text }) => text)).toEqual([secret])
  })

  test('a key that was cut off is found as far as it goes', () => {
    const pem = new Draw(1).pem('RSA PRIVATE KEY')
    const cut = pem.slice(0, 300)
    expect(found(`a ${cut}\n\nand so on, the rest of the memory`)).toEqual([
      { rule: 'private-key', text: cut },
    ])
  })

  test('a key with headers, and without its end', () => {
    const draw = new Draw(1)
    const headers = `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,${draw.hex(32).toUpperCase()}`
    const text = `-----BEGIN RSA PRIVATE KEY-----\n${headers}\n\n${draw.alnum(64)}\n${draw.alnum(64)}`
    expect(found(`a ${text} b`)).toEqual([{ rule: 'private-key', text }])
  })

  test('a PuTTY key', () => {
    const draw = new Draw(1)
    const lines = `Encryption: none\nPrivate-Lines: 2\n${draw.alnum(64)}\n${draw.alnum(64)}`
    const text = `PuTTY-User-Key-File-2: ssh-rsa\n${lines}\nPrivate-MAC: ${draw.hex(40)}`
    expect(found(text).map(({ rule }) => rule)).toEqual(['private-key'])
  })

  test('a service account of Google', () => {
    const draw = new Draw(1)
    const account = {
      type: 'service_account',
      private_key_id: draw.hex(40),
      private_key: draw.pem('PRIVATE KEY'),
    }
    const text = JSON.stringify(account, undefined, 2)
    expect(found(text).map(({ rule }) => rule)).toContain('private-key')
  })
})

describe('R16: a value drawn by chance is found in every spelling of its assignment', () => {
  const value = new Draw(3).value(24)
  test.each([
    `API_KEY=${value}`,
    `export API_KEY='${value}'`,
    `set API_KEY=${value}`,
    `$env:API_KEY = "${value}"`,
    `api_key: ${value}`,
    `api-key: "${value}"`,
    `apiKey: '${value}',`,
    `"apiKey": "${value}"`,
    `"api_key" : "${value}",`,
    `{"settings":"{\\"apiKey\\":\\"${value}\\"}"}`,
    `const apiKey = \`${value}\``,
    `const apiKey: string = '${value}'`,
    `apiKey := "${value}"`,
    `'api_key' => '${value}'`,
    `config['api_key'] = '${value}'`,
    `api_key = b"${value}"`,
    `client.setApiKey("${value}")`,
    `--api-key ${value}`,
    `--api-key=${value}`,
    `X-Api-Key: ${value}`,
    `Authorization: Bearer ${value}`,
    `Authorization: token ${value}`,
    `https://x.test/a?api_key=${value}&b=1`,
    `api_key%3D${value}%26b%3D1`,
    `<apiKey>${value}</apiKey>`,
    `<add key="ApiKey" value="x" token="${value}" />`,
    `| API key | ${value} |`,
    `**API key:** \`${value}\``,
    `- API key: ${value}.`,
    `The API key is ${value}, keep it`,
    `# api_key = ${value}`,
    `client_secret=${value}`,
    `MY_APP_TOKEN=${value}`,
    `DB_PASSWORD=${value}`,
    `API_KEY_STAGE=${value}`,
    `tokenParams: "${value}"`,
    `password = ${value}`,
    `machine x login ann password ${value}`,
    `//registry.npmjs.org/:_authToken=${value}`,
    `密码：${value}`,
    `パスワード: ${value}`,
    `Passwort: ${value}`,
  ])('%s', (text) => {
    expect(found(text).map((finding) => finding.text)).toEqual([value])
  })

  test('a password that somebody thought out, with all kinds of characters', () => {
    const passwords = [
      ['Tr0ub', '4dor', '&3x!'],
      ['Kw', '7#', 'pqZ2'],
    ].map((parts) => parts.join(''))
    for (const password of passwords) {
      const text = `password: "${password}", or DB_PASSWORD='${password}'`
      expect(found(text).map((finding) => finding.text)).toEqual([password, password])
    }
  })

  test('a value of small letters with a digit now and then', () => {
    for (const seed of SEEDS) {
      const draw = new Draw(seed)
      const part = (): string => draw.of('abcdefghijklmnopqrstuvwxyz', 4) + draw.of('0123456789', 1)
      const secret = [part(), part(), part(), part(), part()].join('')
      expect(found(`api_key=${secret}`).map(({ text }) => text)).toEqual([secret])
    }
  })

  test('a value with a quote in it, all of it', () => {
    const secret = `${new Draw(1).value(12)}\\"${new Draw(2).value(12)}`
    expect(found(`{"password": "${secret}"}`).map(({ text }) => text)).toEqual([secret])
  })

  test('a password with an @ in it, all of it', () => {
    const secret = `${new Draw(1).value(6)}@${new Draw(2).value(6)}`
    expect(found(`postgres://app:${secret}@db/app`)).toEqual([{ rule: 'url-password', text: secret }])
  })

  test('a value as long as one likes, all of it', () => {
    const long = new Draw(5).value(3000)
    expect(found(`token=${long}`).map((finding) => finding.text)).toEqual([long])
    expect(found(`token="${long}"`).map((finding) => finding.text)).toEqual([long])
  })
})

describe('R16: wherever it stands', () => {
  const secret = key()
  test.each([
    ['alone', secret],
    ['in front matter', `---\nname: Deploy\ndescription: with ${secret}\ntype: project\n---\n\nBody\n`],
    ['in a key of front matter that nobody knows', `---\nname: a\nx-note: "${secret}"\n---\n`],
    ['in a comment', `---\nname: a # ${secret}\n---\n<!-- ${secret.slice(0, 4)} -->`],
    ['in a code fence', `text\n\n\`\`\`sh\nexport A=${secret}\n\`\`\`\n`],
    ['in a file name', `project_${secret}.md`],
    ['in an index line', `- [Deploy](project_deploy.md) — ${secret}`],
    ['in a link', `[x](https://x.test/?a=${secret})`],
    ['in a URL as its user', `https://${secret}@github.com/a/b`],
    ['in JSON', JSON.stringify({ a: [`line\n${secret}\n`] })],
    ['in JSON within JSON', JSON.stringify({ a: JSON.stringify({ b: `\t${secret}\n` }) })],
    ['with escapes of characters', `{"a":"\\u0022\\u003d${secret}\\u003c\\x3e"}`],
    ['encoded for a URL', encodeURIComponent(`a=${secret}&b=/`)],
    ['with carriage returns alone', `a\r${secret}\rb`],
    ['in Chinese text', `部署密钥是${secret}，请保密`],
    ['glued to words', `see${secret}.`],
    [
      'in the second half of a long file',
      `${'All is well. '.repeat(80_000)}${secret}${' And more.'.repeat(100)}`,
    ],
  ])('%s', (_, text) => {
    expect(found(text)).toEqual([{ rule: 'github-token', text: secret }])
  })

  test.each([
    ['JSON', '\\u0068'],
    ['JavaScript', '\\x68'],
    ['a URL', '%68'],
  ])('with a letter of it as an escape of %s', (_, letter) => {
    const text = secret.replace('h', () => letter)
    expect(found(`a "${text}" b`)).toEqual([{ rule: 'github-token', text }])
  })

  test('one after another, each for itself', () => {
    const keys = SEEDS.map((seed) => key(seed))
    expect(found(keys.join('\n')).map(({ text }) => text)).toEqual(keys)
    expect(found(keys.join(' ')).map(({ text }) => text)).toEqual(keys)
    expect(found(keys.join(',')).map(({ text }) => text)).toEqual(keys)
  })
})

const LINE_BREAKS = ['\n', '\r\n', '\r', '\n  ', '\r\n\t', '\\\n', '\\\r\n', '\\\n    ', '\\\r\n\t']

describe('R16: a line break or a continuation hides nothing', () => {
  test.each(LINE_BREAKS)('%j at every place of a key', (lineBreak) => {
    const secret = key()
    for (let at = 1; at < secret.length; at += 1) {
      const cut = secret.slice(0, at) + lineBreak + secret.slice(at)
      expect(found(`it is ${cut} today`), cut).toEqual([{ rule: 'github-token', text: cut }])
    }
  })

  test('several in one key', () => {
    const secret = key().replaceAll(/.{7}/g, '$&\\\r\n  ')
    expect(found(`a ${secret} b`)).toEqual([{ rule: 'github-token', text: secret }])
  })

  test.each(['\\\n', '\\\r\n  '])('%j in an assignment', (lineBreak) => {
    const value = new Draw(4).value(30)
    const cut = `${value.slice(0, 9)}${lineBreak}${value.slice(9)}`
    expect(found(`curl -H "Authorization: ${lineBreak}Bearer ${cut}"`)).toEqual([
      { rule: 'secret-assignment', text: cut },
    ])
  })

  test('a key at the end of a line does not take the next line with it', () => {
    for (const seed of SEEDS) {
      const secret = key(seed)
      expect(found(`${secret}\nand then`)).toEqual([{ rule: 'github-token', text: secret }])
    }
  })
})

describe('R16: Base64', () => {
  const inside = (text: string): string[] => scanForSecrets(text).map(({ rule }) => rule)

  test.each(['base64', 'base64url'] as const)('in %s, at any place of a run', (encoding) => {
    for (const seed of SEEDS) {
      for (const before of ['', 'a', 'ab', 'abc', 'a longer text before it, ']) {
        const run = Buffer.from(`${before}${key(seed)} and after`).toString(encoding)
        expect(inside(`data: ${run};`)).toEqual(['github-token'])
      }
    }
  })

  test('glued to what could be Base64 too', () => {
    const run = Buffer.from(`token ${key()}`).toString('base64')
    for (const before of ['/', '//', 'a/b', 'path/', '-', '_x'])
      expect(inside(before + run)).toEqual(['github-token'])
  })

  test('a private key, a password, an assignment', () => {
    const draw = new Draw(2)
    const texts = [
      [draw.pem('PRIVATE KEY'), 'private-key'],
      [`postgres://app:${draw.value(12)}@db/app?ssl=1`, 'url-password'],
      [`password=${draw.value(24)} and more`, 'secret-assignment'],
    ] as const
    for (const [text, rule] of texts) expect(inside(Buffer.from(text).toString('base64'))).toContain(rule)
  })

  test.each(LINE_BREAKS)('wrapped with %j', (lineBreak) => {
    const run = Buffer.from(`the key ${key()} of today, and so on`).toString('base64')
    expect(inside(`a: ${run.replaceAll(/.{16}/g, `$&${lineBreak}`)}`)).toEqual(['github-token'])
  })

  test('is decoded from 40 characters on, and once', () => {
    const short = `AKIA${new Draw(1).of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`
    const [below, above] = [`x${short}abcdefgh`, `x${short}abcdefghi`].map((text) =>
      Buffer.from(text).toString('base64'),
    )
    expect(below?.replaceAll('=', '')).toHaveLength(39)
    expect(above?.replaceAll('=', '')).toHaveLength(40)
    expect(inside(below ?? '')).toEqual([])
    expect(inside(above ?? '')).toEqual(['aws-access-key'])
    expect(inside(Buffer.from(above ?? '').toString('base64'))).toEqual([])
  })

  test('with the characters of either alphabet around it', () => {
    const short = `AKIA${new Draw(1).of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`
    const text = Buffer.from(`???>>>${short} ???>>>`)
    expect(text.toString('base64')).toMatch(/^[^+/]{0,8}[+/]/)
    expect(inside(text.toString('base64'))).toEqual(['aws-access-key'])
    expect(inside(text.toString('base64url'))).toEqual(['aws-access-key'])
  })

  test('two runs are two texts', () => {
    const [head, tail] = [key().slice(0, 20), key().slice(20)].map((half) => half.padStart(36, half))
    const runs = [`a text that ends so ${head}`, `${tail} so begins another text`]
    expect(inside(runs.map((run) => Buffer.from(run).toString('base64')).join(', '))).toEqual([])
  })

  test('the place is that of the Base64', () => {
    const before = 'text before it '
    const run = Buffer.from(`${before}${key()}`).toString('base64')
    const [finding] = scanForSecrets(`x: ${run}`)
    expect(finding?.start).toBe(3 + (before.length / 3) * 4)
    expect(finding?.end).toBe(3 + run.replaceAll('=', '').length)
  })
})

const anySample = fc.constantFrom(...TOKENS, ...IN_PLACE)
const anySeed = fc.noBias(fc.integer({ min: 0, max: 0xff_ff_ff }))
const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '\n',
        '\r\n',
        '\\\n',
        '```\n',
        '"',
        ' ',
        'key: ',
        '部署',
        '%20',
        '\\u0041',
        'eyJ',
        'ghp_',
        'sk-',
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))

describe('whatever stands around it', () => {
  test('a planted secret is found: its first and its last character are in a finding, and no finding tells it', () => {
    fc.assert(
      fc.property(anySample, anySeed, anyText, anyText, (sample, seed, left, right) => {
        const { before, secret, after } = sample.make(new Draw(seed))
        const head = `${left}${sample.apart === true ? ' ' : ''}${before}`
        const text = `${head}${secret}${after} ${right}`
        const findings = scanForSecrets(text)
        const covering = findings.filter(
          ({ start, end }) => start <= head.length && end >= head.length + secret.length,
        )
        expect(covering).toHaveLength(1)
        for (const { redacted } of findings) expect(redacted.length).toBeLessThan(32)
        for (const { redacted } of findings) expect(secret).not.toContain(redacted)
        expect(JSON.stringify(findings)).not.toContain(secret)
      }),
      { numRuns: times(600, 20_000) },
    )
  })

  test('a token cut by a line break or a continuation is found', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...TOKENS),
        anySeed,
        fc.constantFrom(...LINE_BREAKS),
        fc.nat(),
        (sample, seed, lineBreak, cut) => {
          const { secret } = sample.make(new Draw(seed))
          const at = 1 + (cut % (secret.length - 1))
          const text = `the key: ${secret.slice(0, at)}${lineBreak}${secret.slice(at)} of today`
          const whole = { start: 9, end: text.length - ' of today'.length }
          const findings = scanForSecrets(text)
          // Without a continuation a part of the token may be a token for itself: that part is found.
          expect(findings.some(({ start, end }) => start < whole.end && end > whole.start)).toBe(true)
          if (!lineBreak.startsWith('\\')) return
          expect(findings.some(({ start, end }) => start <= whole.start && end >= whole.end)).toBe(true)
        },
      ),
      { numRuns: times(600, 20_000) },
    )
  })

  test('findings are sorted, inside the text, and none overlaps another', () => {
    const anyMix = fc.array(fc.tuple(anySample, anySeed, anyText), { maxLength: 5 }).map((parts) =>
      parts
        .map(([sample, seed, text]) => {
          const { before, secret, after } = sample.make(new Draw(seed))
          return text + before + secret + after
        })
        .join(''),
    )
    fc.assert(
      fc.property(anyMix, (text) => {
        let last = 0
        for (const { start, end } of scanForSecrets(text)) {
          expect(start).toBeGreaterThanOrEqual(last)
          expect(end).toBeGreaterThan(start)
          last = end
        }
        expect(last).toBeLessThanOrEqual(text.length)
      }),
      { numRuns: times(200, 5000) },
    )
  })

  test('the same text has the same findings, in Windows line endings the same secrets', () => {
    const draw = new Draw(7)
    const lines = [...TOKENS, ...IN_PLACE].map(({ make }) => {
      const { before, secret, after } = make(draw)
      return `- ${before}${secret}${after}`
    })
    const unix = lines.join('\n')
    expect(scanForSecrets(unix)).toEqual(scanForSecrets(unix))
    expect(found(unix.replaceAll('\n', '\r\n')).map(({ rule }) => rule)).toEqual(
      found(unix).map(({ rule }) => rule),
    )
    expect(found(unix)).toHaveLength(lines.length)
  })
})
