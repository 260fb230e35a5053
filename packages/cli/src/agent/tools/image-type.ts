export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

/** What a file of an image says of itself. */
export interface Image {
  type: ImageType
  width: number
  height: number
  /** Whether it has an end. */
  isWhole: boolean
}

/** What image these bytes are; `undefined`: none of a kind that models see, or not even its beginning. Pure. */
export function imageOf(bytes: Buffer): Image | undefined {
  const image = pngOf(bytes) ?? jpegOf(bytes) ?? gifOf(bytes) ?? webpOf(bytes)
  return image !== undefined && image.width > 0 && image.height > 0 ? image : undefined
}

function pngOf(bytes: Buffer): Image | undefined {
  if (bytes.length < 33 || bytes.toString('latin1', 0, 16) !== '\x89PNG\r\n\x1a\n\0\0\0\rIHDR')
    return undefined
  return {
    type: 'image/png',
    width: bytes.readUInt32BE(16),
    height: bytes.readUInt32BE(20),
    isWhole: bytes.subarray(-64).includes(END_OF_PNG),
  }
}

/** Its last part, with its checksum. */
const END_OF_PNG = Buffer.from('IEND\xae\x42\x60\x82', 'latin1')

function gifOf(bytes: Buffer): Image | undefined {
  if (bytes.length < 14 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return undefined
  return {
    type: 'image/gif',
    width: bytes.readUInt16LE(6),
    height: bytes.readUInt16LE(8),
    isWhole: bytes.subarray(-16).includes(0x3b),
  }
}

/** Its size is in the first frame; before it are segments that say how long they are. */
function jpegOf(bytes: Buffer): Image | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) at += 1
    else if (FRAMES.has(marker)) {
      const isWhole = bytes.subarray(-1024).includes(END_OF_JPEG)
      return {
        type: 'image/jpeg',
        height: bytes.readUInt16BE(at + 5),
        width: bytes.readUInt16BE(at + 7),
        isWhole,
      }
    } else at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

const END_OF_JPEG = Buffer.from([0xff, 0xd9])
/** C0 to CF, but for the tables among them. */
const FRAMES: ReadonlySet<number> = new Set(
  Array.from({ length: 16 }, (_, index) => 0xc0 + index).filter(
    (marker) => ![0xc4, 0xc8, 0xcc].includes(marker),
  ),
)

function webpOf(bytes: Buffer): Image | undefined {
  if (
    bytes.length < 30 ||
    bytes.toString('latin1', 0, 4) !== 'RIFF' ||
    bytes.toString('latin1', 8, 12) !== 'WEBP'
  )
    return undefined
  const isWhole = bytes.length >= bytes.readUInt32LE(4) + 8
  const size = webpSize(bytes)
  return size && { type: 'image/webp', ...size, isWhole }
}

function webpSize(bytes: Buffer): { width: number; height: number } | undefined {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    default:
      return undefined
  }
}
