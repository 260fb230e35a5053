import { scanForSecrets } from '@loci/memdir'

/** A sentence for each thing in a text that looks like a secret: the rule, never the value. */
export function secretWarnings(text: string, where: string): string[] {
  return scanForSecrets(text).map(
    ({ rule }) =>
      `What is in ${where} looks like a secret (${rule}): memory is plain text and goes into prompts; take it out`,
  )
}
