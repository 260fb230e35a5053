export type Language = 'en' | 'zh'

/** One thing that a prompt asks for. */
export type Step =
  | { kind: 'remember'; text: string; scope: 'project' | 'user' }
  | { kind: 'ask'; question: string }
  | { kind: 'list-memory' }
  | { kind: 'ask-date' }
  | { kind: 'create'; file: string; content: string }
  | { kind: 'replace'; file: string; from: string; to: string; everywhere: boolean }
  | { kind: 'append'; file: string; text: string }
  | { kind: 'delete'; file: string }
  | { kind: 'read'; file: string }
  | { kind: 'run'; command: string }
  | { kind: 'forget' }
  | { kind: 'greet' }
  | { kind: 'thanks' }
  | { kind: 'help' }

/** A piece of a prompt as it was understood. */
export interface ParsedStep {
  step: Step
  language: Language
  /** Whether it ends in free text, which may go on in the next piece. */
  open: boolean
}

/** How a rule sees the groups of its match. */
export interface Match {
  has: (group: string) => boolean
  /** The group without its quotes. */
  text: (group: string) => string
  quoted: (group: string) => boolean
  /** The group as a command line: without its quotes, only escaped quotes resolved. */
  command: (group: string) => string
  /** The group `file`, if it can be the name of a file. */
  path: () => string | undefined
}

/** A pattern over masked text and what it means; `undefined` if it turns out not to fit. */
export interface Rule {
  pattern: RegExp
  step: (match: Match) => Step | undefined
  /** The group of free text at the end of the pattern, if it has one. */
  tail?: string
}
