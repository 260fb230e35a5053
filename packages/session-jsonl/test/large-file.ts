import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { jsonl, result } from './lines.ts'
import { assistant, call, straight, user } from './lines.ts'

/** Writes a session of `turns` prompts with a call each, whose result is `resultBytes` long, and a small tail. */
export async function writeLargeSession(file: string, turns: number, resultBytes: number): Promise<string> {
  const out = createWriteStream(file)
  const said = 'r'.repeat(resultBytes)
  let parent: string | null = null
  for (let turn = 0; turn < turns; turn += 1) {
    const name = `t${turn}`
    const lines = [
      user(`${name}u`, parent, `prompt ${turn}`),
      assistant(`${name}a`, `${name}u`, [call(name)], { id: `msg${turn}` }),
      user(`${name}r`, `${name}a`, [result(name, said)]),
    ]
    parent = `${name}r`
    if (!out.write(jsonl(...lines))) await once(out, 'drain')
  }
  for (const line of straight(4))
    out.write(jsonl(line['uuid'] === 'm1' ? { ...line, parentUuid: parent } : line))
  out.end()
  await once(out, 'close')
  return 'm4'
}
