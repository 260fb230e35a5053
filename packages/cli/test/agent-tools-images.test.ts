import { writeFile } from 'node:fs/promises'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { imageRoom } from '../src/agent/image-room.ts'
import { imageOf } from '../src/agent/tools/image-type.ts'
import { toolRoom } from './agent-tools-room.ts'
import { blocksIn, call, linesOf, prompt, resume, say, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** Segments as a camera writes them, without the picture. */
const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0000b080002000301011100ffd9', 'hex')
const riff = (kind: string, data: string): Buffer => {
  const body = Buffer.concat([
    Buffer.from(`WEBP${kind}`, 'latin1'),
    Buffer.alloc(4),
    Buffer.from(data, 'hex'),
  ])
  const head = Buffer.alloc(8)
  head.write('RIFF', 'latin1')
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body])
}
const KINDS: [string, Buffer, unknown][] = [
  ['a.png', PNG, { type: 'image/png', width: 1, height: 1, isWhole: true }],
  ['a.gif', GIF, { type: 'image/gif', width: 1, height: 1, isWhole: true }],
  ['a.jpg', JPEG, { type: 'image/jpeg', width: 3, height: 2, isWhole: true }],
  [
    'x.webp',
    riff('VP8X', '00000000020000010000'),
    { type: 'image/webp', width: 3, height: 2, isWhole: true },
  ],
  [
    'y.webp',
    riff('VP8 ', '0000009d012a03000200'),
    { type: 'image/webp', width: 3, height: 2, isWhole: true },
  ],
  [
    'l.webp',
    riff('VP8L', '2f0240000000000000000000'),
    { type: 'image/webp', width: 3, height: 2, isWhole: true },
  ],
]

/** A PNG that says to be of a size. */
function pngOf(width: number, height: number): Buffer {
  const bytes = Buffer.from(PNG)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

describe('what an image is', () => {
  test.for(KINDS)('%s', ([, bytes, image]) => {
    expect(imageOf(bytes)).toEqual(image)
  })

  test.for(KINDS)('%s that was cut is not whole, or none', ([, bytes]) => {
    for (let length = 0; length < bytes.length; length += 1)
      expect(imageOf(bytes.subarray(0, length))?.isWhole, `${length}`).not.toBe(true)
  })

  test('any bytes are none, or one with a size', () => {
    const beginning = fc.constantFrom(...KINDS.map(([, bytes]) => bytes), Buffer.alloc(0))
    fc.assert(
      fc.property(beginning, fc.nat(40), fc.uint8Array({ maxLength: 100 }), (bytes, kept, rest) => {
        const image = imageOf(Buffer.concat([bytes.subarray(0, kept), rest]))
        if (image !== undefined) expect(Math.min(image.width, image.height)).toBeGreaterThan(0)
      }),
      { numRuns: 500 },
    )
  })
})

describe('Read of an image', () => {
  test.for(KINDS)('%s, whatever its name', async ([, bytes, image]) => {
    const { use, root } = await toolRoom()
    await writeFile(`${root}/picture.txt`, bytes)
    const result = await use('Read', { file_path: 'picture.txt' })
    const { type, width, height } = Object(image)
    expect(result).toMatchObject({
      text: `picture.txt: ${type}, ${width} × ${height}, ${bytes.length} bytes`,
      isError: false,
      image: { mediaType: type, base64: bytes.toString('base64') },
    })
  })

  test.for([
    [
      'too many bytes',
      Buffer.concat([Buffer.alloc(0), PNG.subarray(0, 33), Buffer.alloc(4 << 20), PNG.subarray(33)]),
    ],
    ['too many pixels', pngOf(8001, 1)],
    ['no end', PNG.subarray(0, 40)],
    ['no end and text after it', Buffer.concat([JPEG.subarray(0, -2), Buffer.alloc(2000)])],
  ] as const)('%s: it is said, and not shown', async ([, bytes]) => {
    const { use, root } = await toolRoom()
    await writeFile(`${root}/a.png`, bytes)
    const { text, isError, image } = await use('Read', { file_path: 'a.png' })
    expect(text).toMatch(/^a\.png: image\/(?:png|jpeg), .* shown/)
    expect(isError).toBe(true)
    expect(image).toBeUndefined()
  })

  test('a PDF is named as not supported; a text that speaks of one is a text', async () => {
    const { use, root } = await toolRoom({ 'project/text': '%PDF-1.7 begins a PDF' })
    await writeFile(`${root}/a.pdf`, Buffer.from('%PDF-1.7\n\0'))
    expect(await use('Read', { file_path: 'a.pdf' })).toMatchObject({
      text: expect.stringMatching(/^a\.pdf is a PDF, /),
      isError: true,
    })
    expect((await use('Read', { file_path: 'text' })).text).toBe('%PDF-1.7 begins a PDF')
  })
})

describe('an image in a conversation', () => {
  let world: TurnWorld
  beforeEach(async () => {
    world = await turnWorld()
    await writeFile(`${world.root}/a.png`, PNG)
  })
  afterEach(() => world.close())

  test('is sent, written, and sent again after a resume', async () => {
    world.script.push(call('Read', { file_path: 'a.png' }), say('a dot'))
    const agent = await world.open()
    await prompt(agent, 'look')
    const { session } = agent
    await agent.close()
    const again = await world.open(resume(session, world.root))
    await prompt(again, 'again')
    const data = PNG.toString('base64')
    for (const seen of world.requests.slice(1)) {
      const result = blocksIn(seen).find(({ type }) => type === 'tool_result')
      expect(result?.['content']).toEqual([
        { type: 'text', text: `a.png: image/png, 1 × 1, ${PNG.length} bytes` },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
      ])
    }
    const text = JSON.stringify(await linesOf(session.path))
    expect(text.split(data)).toHaveLength(2)
  })

  test('more than a request takes are refused, and the conversation goes on', async () => {
    for (let count = 0; count < 21; count += 1) world.script.push(call('Read', { file_path: 'a.png' }))
    const agent = await world.open()
    const { error } = await prompt(agent, 'look often')
    expect(error).toBeUndefined()
    const results = world.events.flatMap((event) => (event.type === 'tool-result' ? [event] : []))
    expect(results.map(({ isError }) => isError)).toEqual([...Array.from({ length: 20 }, () => false), true])
    expect(results.at(-1)?.text).toContain('20 images already')
    for (const { status } of world.requests) expect(status).toBe(200)
  })

  test('their bytes are counted, those of documents too', () => {
    const entry = (size: number) => ({
      type: 'user',
      uuid: 'x',
      sessionId: 'z',
      parentUuid: null,
      timestamp: '',
      message: {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'y',
            content: [{ type: 'document', source: { type: 'base64', data: 'x'.repeat(size) } }],
          },
        ],
      },
    })
    expect(imageRoom([entry(15 << 20)], 'x'.repeat(5 << 20))).toBeUndefined()
    expect(imageRoom([entry(15 << 20)], 'x'.repeat((5 << 20) + 1))).toContain('holds 1 image')
  })
})
