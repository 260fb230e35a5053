import type { AppState } from '@loci/app-state'
import type { FileHistory } from '@loci/file-history'
import { z } from 'zod'
import type { AgentMemory } from '../agent-memory.ts'
import type { Access, ReadAccess } from '../permissions.ts'
import type { BackgroundShells } from './background-shells.ts'
import type { ImageType } from './image-type.ts'
import type { ProcessGroups } from './run-shell.ts'

/** What a tool answers the model. */
export interface ToolResult {
  text: string
  isError: boolean
  /** What the model sees beside the text. */
  image?: { mediaType: ImageType; base64: string }
  /** For the transcript: what it did, for who reads it later. */
  details?: Record<string, unknown>
}

/** What tools work on. */
export interface ToolContext {
  /** The project, a real path. */
  root: string
  /** `null`: file history is switched off. */
  history: FileHistory | null
  memory: AgentMemory
  /** Where this session puts large results aside, a real path. */
  asideDir: string
  env: Readonly<Record<string, string | undefined>>
  /** Ends a process and those it started. */
  groups: ProcessGroups | undefined
  /** Stamps of files as the model last saw them, by path. */
  seen: Map<string, string>
  /** Commands that run in the background. */
  shells: BackgroundShells
  updateTasks: (update: (tasks: AppState['tasks']) => AppState['tasks']) => void
  now: () => Date
}

/** The call that is being answered. */
export interface ToolCall {
  /** Uuid of the transcript line that holds it. */
  messageId: string
  signal: AbortSignal
  /** Hears what a command prints while it runs. */
  onOutput?: (text: string) => void
  /** Which files a search must leave out; absent: none. */
  withheld?: (access: ReadAccess) => (path: string) => boolean
}

/** A call that was understood: what it needs permission for, and how to do it. */
export interface PreparedCall {
  access: Access
  /** What would be done, in a line, for who is asked. */
  summary: string
  /** The same in detail, a line each. */
  preview?: readonly string[]
  run(): Promise<ToolResult>
}

/** A tool as the model sees it. */
export interface Tool {
  name: string
  description: string
  /** JSON schema of the input; the same bytes each time. */
  inputSchema: { type: 'object'; [key: string]: unknown }
  /** It changes nothing that another call could see, so that calls of it can run at once. */
  isReadOnly?: boolean
  /**
   * Plans a call; nothing has been touched yet. A string says what is wrong with the input.
   *
   * @throws {LociError} when a path cannot be looked at
   */
  prepare(input: unknown, context: ToolContext, call: ToolCall): Promise<PreparedCall | string>
}

/** Makes a tool of a schema for its input and a plan for one call. */
export function defineTool<Schema extends z.ZodType>(definition: {
  name: string
  description: string
  schema: Schema
  isReadOnly?: boolean
  plan: (input: z.output<Schema>, context: ToolContext, call: ToolCall) => Promise<PreparedCall>
}): Tool {
  const { name, description, schema, isReadOnly = false, plan } = definition
  const { $schema: _dialect, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' })
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: 'object' },
    isReadOnly,
    async prepare(input, context, call) {
      const parsed = schema.safeParse(input)
      return parsed.success ? plan(parsed.data, context, call) : flawOf(name, parsed.error)
    },
  }
}

function flawOf(name: string, error: z.ZodError): string {
  const flaws = error.issues.map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`)
  return `The input of ${name} is not valid, so nothing was done. ${flaws.join('; ')}`
}

/** Text of the model that can be written as UTF-8. Half a character could match, and tear, a whole one in a file. */
export function wholeText(): z.ZodString {
  return z.string().refine((text) => !/\p{Surrogate}/u.test(text), 'holds half a character')
}

/** A text that the system takes as a path or an argument. */
export function systemText(): z.ZodString {
  return wholeText()
    .min(1)
    .refine((text) => !text.includes('\0'), 'holds a NUL character')
}

/** The path of a file, as the model gives it. */
export const filePath: z.ZodString = systemText().describe(
  'Path of the file, absolute or relative to the project',
)

/** A result that says what was done. */
export function done(text: string, details?: Record<string, unknown>): ToolResult {
  return { text, isError: false, ...(details === undefined ? {} : { details }) }
}

/** A result that says why nothing was done. */
export function failed(text: string): ToolResult {
  return { text, isError: true }
}
