/** A secret found in a text. `start` and `end` are UTF-16 positions; `redacted` never holds the value. */
export interface SecretFinding {
  rule: string
  start: number
  end: number
  redacted: string
}
