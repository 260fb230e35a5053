import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { logUniform, mulberry32 } from './random.mjs'
import { bodySource } from './text.mjs'

const TYPES = ['user', 'feedback', 'project', 'reference']
const PLAIN = 'how we deploy to staging and who may do so when the cluster is down at night again '
const MIXED = 'wie größere Änderungen geprüft werden: 会話の保存 и разговор, “quoted”, naïve résumé, '

/**
 * A memory folder of `count` topics as an agent leaves them: 0.5 to 20 KB of body, a quoted description of 80 characters,
 * one in five in other scripts, tags of another tool; and an index of 600 lines.
 *
 * @returns `{ file, name, description, type }[]`, by file name
 */
export function writeMemories(dir, count) {
  const random = mulberry32(21)
  const body = bodySource(21)
  mkdirSync(dir, { recursive: true })
  const topics = Array.from({ length: count }, (_, number) => {
    const type = TYPES[number % TYPES.length]
    const file = `${type}_memory_${String(number).padStart(5, '0')}.md`
    const name = `Memory ${number}`
    const description = `${(random() < 0.2 ? MIXED : PLAIN).slice(0, 74 - name.length)}: ${number}`
    const head = `name: ${name}\ndescription: ${JSON.stringify(description)}\ntype: ${type}\ntags: [agent, memory-${number % 9}]`
    const text = body(Math.floor(logUniform(random, 500, 20_000)))
    writeFileSync(join(dir, file), `---\n${head}\nmetadata:\n  type: ${type}\n---\n\n${text}\n`)
    return { file, name, description, type }
  })
  const line = ({ file, name, description }) => `- [${name}](${file}) — ${description}\n`
  const lines = Array.from({ length: 600 }, (_, number) => line(topics[number % count]))
  writeFileSync(join(dir, 'MEMORY.md'), lines.join(''))
  return topics.toSorted((a, b) => (a.file < b.file ? -1 : 1))
}
