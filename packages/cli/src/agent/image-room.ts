import type { Entry } from '@loci/session-jsonl'
import { blocksOf } from '../message-content.ts'

/** Images in one conversation. Beyond twenty in a request the API takes only small ones. */
const MAX_IMAGES = 20
/** Characters of all of them, in base64; a request of the API has 32 MB. */
const MAX_IMAGE_CHARACTERS = 20 << 20

/**
 * Why a conversation has no room for one image more; `undefined`: it has. What is sent once is sent with every request
 * after it, and a request that is too large would end the conversation. Pure.
 */
export function imageRoom(chain: readonly Entry[], base64: string): string | undefined {
  const images = chain.flatMap((entry) => imagesIn(blocksOf(entry)))
  const characters = images.reduce((sum, one) => sum + one, base64.length)
  if (images.length < MAX_IMAGES && characters <= MAX_IMAGE_CHARACTERS) return undefined
  return `This conversation holds ${images.length} images already, and there is no room for this one. After /compact, or in a new session, there can be.`
}

/** The length of each. */
function imagesIn(blocks: readonly Record<string, unknown>[]): number[] {
  return blocks.flatMap((block) => {
    if (block['type'] === 'tool_result' && Array.isArray(block['content']))
      return imagesIn(block['content'].filter(isRecord))
    if (block['type'] !== 'image' && block['type'] !== 'document') return []
    const { source } = block
    const data = isRecord(source) ? source['data'] : undefined
    return [typeof data === 'string' ? data.length : 0]
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
