import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openMemdir, scanForSecrets } from '@loci/memdir'
import type { MemoryDraft } from '@loci/memdir'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Draw, IN_PLACE, TOKENS } from './secret-samples.ts'

let work: Tree
beforeEach(async () => {
  work = await tree()
})
afterEach(() => work.remove())

const plain: MemoryDraft = { name: 'Deploy', description: 'how', type: 'project', body: 'make ship' }

/** The places where a text of a memory ends up, each as a draft. */
const FIELDS: Record<string, (text: string) => MemoryDraft> = {
  name: (text) => ({ ...plain, name: text }),
  description: (text) => ({ ...plain, description: text }),
  hook: (text) => ({ ...plain, hook: text }),
  body: (text) => ({ ...plain, body: text }),
  'a code fence': (text) => ({ ...plain, body: `Run:\n\n\`\`\`sh\n${text}\n\`\`\`\n` }),
  'the end of a long body': (text) => ({ ...plain, body: `${'All is well.\n'.repeat(800)}${text}\n` }),
  'Windows line endings': (text) => ({ ...plain, body: `One\r\n${text}\r\nTwo\r\n` }),
}

describe('M14 a secret in any field of a memory', () => {
  const samples = [...TOKENS, ...IN_PLACE].filter(({ rule }) => rule !== 'private-key')
  test.each(Object.keys(FIELDS))('is seen in the draft: %s', (field) => {
    for (const [index, sample] of samples.entries()) {
      const { before, secret, after } = sample.make(new Draw(index + 1))
      const draft = FIELDS[field]?.(`it is ${before}${secret}${after}`) ?? plain
      const texts = [draft.name, draft.description, draft.hook ?? '', draft.body]
      const findings = texts.flatMap((text) => scanForSecrets(text))
      expect(findings.map(({ rule }) => rule)).toEqual([sample.rule])
      for (const { redacted } of findings) expect(secret).not.toContain(redacted)
    }
  })

  test('is seen in the whole file as it would lie on the disk, and in its name', async () => {
    const memdir = await openMemdir({ dir: work.path('memory') })
    await memdir.save({ ...plain, file: 'project_deploy.md', body: 'The key: KEY\n' })
    await memdir.close()
    const names = readdirSync(work.path('memory')).filter((name) => name.endsWith('.md'))
    expect(names.toSorted()).toEqual(['MEMORY.md', 'project_deploy.md'])
    for (const [index, sample] of samples.entries()) {
      const { before, secret, after } = sample.make(new Draw(index + 1))
      const text = readFileSync(join(work.path('memory'), 'project_deploy.md'), 'utf8')
      for (const place of ['KEY', 'how', 'name: Deploy']) {
        const planted = text.replace(place, () => `${place.slice(0, -3)} ${before}${secret}${after}`)
        expect(scanForSecrets(planted).map(({ rule }) => rule)).toEqual([sample.rule])
      }
    }
    for (const [index, { rule, make }] of TOKENS.entries()) {
      const { secret } = make(new Draw(index + 1))
      if (/^[\w-]+$/.test(secret))
        expect(scanForSecrets(`project-${secret}.md`).map((found) => found.rule)).toEqual([rule])
    }
  })

  test('and nothing that is said of it repeats it', () => {
    for (const [index, { make }] of [...TOKENS, ...IN_PLACE].entries()) {
      const { before, secret, after } = make(new Draw(index + 1))
      const said = JSON.stringify(scanForSecrets(`${before}${secret}${after}`))
      for (let at = 0; at + 16 <= secret.length; at += 4) {
        const part = secret.slice(at, at + 16)
        // The public beginning of a token may be told: `github_pat_`, `hooks.slack.com/services/`.
        if (!/^[\w.:/-]*$/.test(part) || at >= 24)
          expect(said).not.toContain(JSON.stringify(part).slice(1, -1))
      }
    }
  })
})

test('M14 look-alikes pass: hashes, ids, examples, places for a key', async () => {
  const memdir = await openMemdir({ dir: work.path('memory') })
  const draw = new Draw(3)
  const body = [
    `Fixed in commit ${draw.hex(40)}, image sha256:${draw.hex(64)}.`,
    `The session is ${draw.uuid()}.`,
    'The documentation uses AKIAIOSFODNN7EXAMPLE; put your own in `API_KEY=<your-key>`.',
    'The token is in `process.env.GITHUB_TOKEN`, the password in 1Password.',
    'Connect with `postgres://${USER}:${PASSWORD}@db/app`.',
  ].join('\n\n')
  const { memory } = await memdir.save({ ...plain, body })
  expect(scanForSecrets(readFileSync(join(work.path('memory'), memory.file), 'utf8'))).toEqual([])
  await memdir.close()
})
