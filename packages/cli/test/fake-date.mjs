// `node --import fake-date.mjs`: a clock whose time stands in the file FAKE_DATE_FILE, so that a test can set it while
// the process runs. It goes on by a millisecond at each look: what came later is later.
import { readFileSync } from 'node:fs'

const RealDate = Date
let looks = 0

function now() {
  looks += 1
  return RealDate.parse(readFileSync(process.env.FAKE_DATE_FILE, 'utf8').trim()) + looks
}

globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length === 0 ? [now()] : values))
  }

  static now() {
    return now()
  }
}
