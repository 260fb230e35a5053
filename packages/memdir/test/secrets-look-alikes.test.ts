import { createHash } from 'node:crypto'
import { scanForSecrets } from '@loci/memdir'
import { describe, expect, test } from 'vitest'
import { Draw } from './secret-samples.ts'

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed + 1)
const draw = new Draw(11)
const sha = (algorithm: string, encoding: 'hex' | 'base64', seed = 1): string =>
  createHash(algorithm).update(String(seed)).digest(encoding)
const bytes = (length: number): Buffer => Buffer.from(draw.hex(length * 2), 'hex')

const findings = (text: string): unknown[] =>
  scanForSecrets(text).map(({ rule, start, end }) => [rule, text.slice(start, end)])

describe('R16: no secret is', () => {
  test.each(SEEDS)('a hash, an id, an image or a public key, drawn from seed %i', (seed) => {
    const random = new Draw(seed)
    const image = bytes(1200).toString('base64')
    const lines = [
      `commit ${sha('sha1', 'hex', seed)}`,
      `${sha('sha1', 'hex', seed).slice(0, 7)}..${sha('sha1', 'hex', seed + 1).slice(0, 12)}`,
      `index ${random.hex(10)}..${random.hex(10)} 100644`,
      `id: ${random.uuid()}`,
      random.uuid().toUpperCase(),
      `${sha('sha256', 'hex', seed)}  dist/index.js`,
      `sha256:${sha('sha256', 'hex', seed)}`,
      `md5 ${sha('md5', 'hex', seed)}`,
      `"integrity": "sha512-${sha('sha512', 'base64', seed)}"`,
      `resolution: {integrity: sha512-${sha('sha512', 'base64', seed)}}`,
      `h1:${sha('sha256', 'base64', seed)}=`,
      `revision: ${sha('sha256', 'hex', seed)}`,
      `etag: W/"${random.hex(32)}"`,
      `![x](data:image/png;base64,${image})`,
      image.replaceAll(/.{76}/g, '$&\r\n'),
      `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${random.base64url(43)} ann@host`,
      `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC${bytes(380).toString('base64')} ann@host`,
      random.pem('CERTIFICATE'),
      random.pem('PUBLIC KEY'),
      random.pem('PGP SIGNATURE'),
      random.pem('PGP PUBLIC KEY BLOCK'),
      `fingerprint SHA256:${sha('sha256', 'base64', seed)}`,
      `https://x.test/assets/index-${random.base64url(8)}.js?v=${random.hex(20)}`,
      `/nix/store/${random.of('0123456789abcdfghijklmnpqrsvwxyz', 32)}-node-22`,
      `docker.io/library/node@sha256:${sha('sha256', 'hex', seed)}`,
      `toolu_01${random.alnum(22)} msg_01${random.alnum(22)} req_011${random.alnum(21)}`,
      `arn:aws:iam::${random.of('0123456789', 12)}:role/deploy`,
      `${random.hex(8)}-${random.hex(8)}`,
    ]
    for (const line of lines) expect(findings(line), line).toEqual([])
    expect(findings(lines.join('\n'))).toEqual([])
  })

  test.each([
    ['the key of the AWS documentation', `AKIAIOSFODNN7EXAMPLE`],
    [
      'the secret of the AWS documentation',
      `aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`,
    ],
    [
      'the token of the JWT documentation',
      `eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c`,
    ],
    ['a key of crosses', `sk-${'x'.repeat(48)}`],
    ['a key of crosses after its kind', `sk-ant-api03-${'x'.repeat(93)}`],
    ['a token of crosses', `ghp_${'x'.repeat(36)}`],
    ['a token of capital crosses', `AKIA${'X'.repeat(16)}`],
    ['a token of noughts', `xoxb-${'0'.repeat(12)}-${'0'.repeat(24)}`],
    ['the beginning of a key', 'keys begin with sk-ant-api03- or ghp_ or AKIA, and so on'],
    ['a key that was cut on purpose', 'ghp_abc…, sk-proj-AbC..., xoxb-123'],
    ['a key in words', 'sk-ant-your-api-key-goes-here-and-nowhere-else-in-the-world'],
    ['a token in words', 'ghp_put_your_own_personal_access_token_in_here'],
    ['a token in other words', 'ghp_this_is_where_the_personal_access_token_goes'],
    ['a place for a key', 'api_key: <your-key>'],
    ['a place for a key in capitals', 'API_KEY=YOUR_API_KEY_HERE'],
    ['a place in braces', 'api_key = "{{ secrets.API_KEY_2024 }}"'],
    ['a secret of a workflow', 'token: ${{ secrets.GITHUB_TOKEN }}'],
    ['an environment variable', 'const token = process.env.MY_TOKEN_V2_2024'],
    ['one in brackets', "password: process.env['DB_PASSWORD_1']"],
    ['a variable of the shell', 'PASSWORD=$DB_PASSWORD_2024'],
    ['a variable of the shell in braces', 'password: "${DB_PASSWORD_2024}"'],
    ['a command of the shell', 'TOKEN=$(vault kv get -field=token1 secret/app2)'],
    ['a variable of Windows', 'set TOKEN=%MY_TOKEN_2024%'],
    ['a variable of Python', 'api_key = os.environ["API_KEY_2024"]'],
    ['a call', 'const token = createToken(user1, scope2)'],
    ['a call with a long name', 'password = decryptV2WithKey1AndSalt2(x)'],
    ['a property', 'const secret = config.auth.clientSecretV2'],
    ['a type', 'function login(password: string, token: Base64String2): void'],
    ['a check', "if (token === 'undefined' || secret == null)"],
    ['a method', "if (token.startsWith('Bearer-v1.2.3-x4y5z6')) return"],
    ['stars', 'password: ********'],
    ['a redacted value', 'password=[REDACTED] token=***'],
    ['the word', 'password: password'],
    ['a word to be changed', 'POSTGRES_PASSWORD=changeme'],
    ['an explanation', 'Password: ask Ann, she keeps it in the safe at work'],
    ['a number', 'max_tokens: 4096, token_count = 123456789'],
    ['a limit', '"maxOutputTokens": 200000, "tokenLimit": 1048576'],
    ['a page about tokens', 'api_key_page: https://x.test/a/1a2b3c4d5e6f7g8h9i0j'],
    ['a date alone', 'last token: 2024-12-01T10:20:30.123Z, secret: 20241201T102030Z'],
    ['a date', 'token_expires: 2024-12-01T10:20:30.123Z'],
    ['a name of a secret', 'secretName: my-app-tls-cert-v2-2024'],
    ['the id of a key', 'access_key_id_ref: a1b2-c3d4-e5f6-g7h8-i9j0'],
    ['a file of a secret', 'PASSWORD_FILE=/run/secrets/db_password_v2_2024'],
    ['a path that goes up', 'password=../certs1/app2/Key3.PEM'],
    ['a path', 'secret: /run/secrets/app1/db2/password3'],
    ['an address of a token', 'token_url: https://login.test/oauth2/v2.0/token1a2b3c4d'],
    ['words with dashes', 'secret: the-quick-brown-fox-2-jumps'],
    ['an identifier', 'token: getUserAccessTokenById2'],
    ['an identifier of algorithms', 'secret: sha256WithRSAEncryption'],
    [
      'an address without a password',
      'https://user@github.com/a/b, git@github.com:a/b.git, ssh://git@host:22/x',
    ],
    ['a port', 'http://localhost:8080/@scope/name and http://a:80/b@c'],
    ['a place in an address', 'postgres://<user>:<password>@host/db'],
    ['variables in an address', 'postgres://${USER}:${PASSWORD}@host/db, mysql://{user}:{password}@h'],
    [
      'variables with numbers in an address',
      'postgres://app:${DB_PW_2}@host/db, redis://:$REDIS_PW1@cache:6379',
    ],
    ['variables of Windows in an address', 'amqp://app:%MQ_PW_2%@mq'],
    ['an environment variable of letters and digits', 'const token = process.env.T0K3N_V2X9Y8Z7Q5W3'],
    ['names with dots', 'a1b2c3d4e5f6g7h8i9j0k1l2.module.exports-of-something-very-long-1a2b3c'],
    ['words in an address', 'postgres://user:password@localhost/db, amqp://user:pass@mq'],
    ['a name for a password', 'postgres://postgres:postgres@localhost, amqp://guest:guest@mq'],
    ['letters in an address', "new URL('https://a:b@x.test'), ftp://me:pw@x.test"],
    ['stars in an address', 'redis://:****@cache:6379'],
    [
      'a user of a container',
      'docker run -u 1000:1000 node, docker run -u node:webserver node, chown -R node:node /app',
    ],
    ['colours', 'color: #1a2b3c; background: #fff8e7cc; --token-color: #a1b2c3'],
    ['a class of CSS', '.sk-circle-fade-dot-animation-delay-2s { } .mask-image-sk-1 { }'],
    [
      'a long identifier',
      'org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerAdapter2',
    ],
    ['a task in a long word', 'task-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmn'],
    [
      'minified code',
      'function a(b){var c=b.token,d=b.t1;return c?d[c]||(d[c]=e2(f3,g4.h5)):i6&&j7(k8.l9,m0)}',
    ],
    ['an import', "import { tokenV2 as t2 } from '@scope/pkg-name/dist/esm/token2/parse1.js'"],
    ['Chinese', '密码：请向管理员索取，不要写在这里。令牌保存在保险箱里。'],
    ['Japanese', 'パスワードは1Passwordにあります。トークンは毎週変わります。'],
    ['a table of ids', '| token | 12 | 34 |\n|---|---|---|\n| a1 | b2 | c3 |'],
    ['a header of a public key', '-----BEGIN PUBLIC KEY-----'],
    [
      'a private key in words',
      'begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----',
    ],
    ['a private key that is left out', '-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----'],
    [
      'a private key that nothing follows',
      `-----BEGIN PRIVATE KEY-----\n\n${'Words and more words. '.repeat(30)}`,
    ],
    ['a keyboard of letters', 'token: abcdefghijklmnopqrstuvwxyz0123456789'],
    ['a repetition', 'secret: a1a1a1a1a1a1a1a1a1a1a1'],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(findings(text)).toEqual([])
  })

  test('long words in a list of paths, one a line', () => {
    const paths = SEEDS.map((seed) => `packages/memdir/src/part${seed}/file${seed * 7}.test.ts`)
    expect(findings(paths.join('\n'))).toEqual([])
  })
})
