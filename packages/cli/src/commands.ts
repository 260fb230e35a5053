import type { CommandShape, OptionName } from './arguments.ts'
import type { CommandContext, CommandResult } from './command-context.ts'

type RunCommand = (context: CommandContext) => Promise<CommandResult>

/** One entry of the table: how it is called, what it does, and where it is, loaded only when it is run. */
export interface Command extends CommandShape {
  summary: string
  load: () => Promise<RunCommand>
}

const SESSION: readonly OptionName[] = ['session']
const SCOPE: readonly OptionName[] = ['scope']

export const commands: Readonly<Record<string, Command>> = {
  'sessions list': {
    summary: 'conversations of this directory, newest first',
    options: ['all', 'limit', 'archived'],
    parameters: [],
    load: async () => (await import('./commands/sessions.ts')).listCommand,
  },
  'sessions search': {
    summary: 'find words, or a "phrase", in what was said',
    options: ['all', 'limit', 'archived'],
    parameters: ['QUERY'],
    load: async () => (await import('./commands/search.ts')).searchCommand,
  },
  'sessions show': {
    summary: 'one conversation',
    options: [],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).showCommand,
  },
  'sessions tips': {
    summary: 'every branch end of a conversation',
    options: [],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).tipsCommand,
  },
  'sessions rewind': {
    summary: 'go back: before a prompt, after any other message',
    options: [],
    parameters: ['SID', 'ID'],
    load: async () => (await import('./commands/sessions.ts')).rewindCommand,
  },
  'sessions fork': {
    summary: 'copy it into a new session, with its file history',
    options: ['up-to', 'title'],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).forkCommand,
  },
  'sessions export': {
    summary: 'print it as Markdown, HTML or JSON Lines',
    options: ['format', 'redact'],
    parameters: ['SID'],
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  'sessions import': {
    summary: 'copy sessions of another client or home here',
    options: [],
    parameters: ['[DIR]'],
    load: async () => (await import('./commands/import.ts')).importCommand,
  },
  'sessions rename': {
    summary: 'give it a title',
    options: [],
    parameters: ['SID', 'TITLE'],
    load: async () => (await import('./commands/sessions.ts')).renameCommand,
  },
  'sessions tag': {
    summary: "give it a tag; '' takes it away",
    options: [],
    parameters: ['SID', 'TAG'],
    load: async () => (await import('./commands/sessions.ts')).tagCommand,
  },
  'sessions archive': {
    summary: 'take it out of lists',
    options: [],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).archiveCommand,
  },
  'sessions unarchive': {
    summary: 'put it back into lists',
    options: [],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).unarchiveCommand,
  },
  'sessions delete': {
    summary: 'delete it for good, with its file history',
    options: [],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).deleteCommand,
  },
  'sessions verify': {
    summary: 'what is damaged in one, or in all of here',
    options: ['all'],
    parameters: ['[SID]'],
    load: async () => (await import('./commands/verify.ts')).verifySessionsCommand,
  },
  'sessions unlock': {
    summary: 'release a session whose owner is gone for certain',
    options: [],
    parameters: ['SID'],
    load: async () => (await import('./commands/sessions.ts')).unlockCommand,
  },
  'history list': {
    summary: 'snapshots of the files a session edited',
    options: SESSION,
    parameters: [],
    load: async () => (await import('./commands/history.ts')).listCommand,
  },
  'history diff': {
    summary: 'what changed between two points, or since one',
    options: SESSION,
    parameters: ['[FROM]', '[TO]'],
    load: async () => (await import('./commands/history.ts')).diffCommand,
  },
  'history rewind': {
    summary: 'put the files back; --dry-run only shows it',
    options: ['session', 'dry-run', 'on-conflict'],
    parameters: ['ID'],
    load: async () => (await import('./commands/history.ts')).rewindCommand,
  },
  'history undo': {
    summary: 'take the last rewind back; again: redo it',
    options: ['session', 'on-conflict'],
    parameters: [],
    load: async () => (await import('./commands/history.ts')).undoCommand,
  },
  'history resolve': {
    summary: 'end a rewind that was interrupted',
    options: SESSION,
    parameters: ['finish|undo'],
    load: async () => (await import('./commands/history.ts')).resolveCommand,
  },
  'history usage': {
    summary: 'how much room the backups take',
    options: SESSION,
    parameters: [],
    load: async () => (await import('./commands/history.ts')).usageCommand,
  },
  'history gc': {
    summary: 'remove what nothing needs; --dry-run shows it',
    options: ['session', 'dry-run'],
    parameters: [],
    load: async () => (await import('./commands/history.ts')).gcCommand,
  },
  'history verify': {
    summary: 'what is damaged in it, or could not be recorded',
    options: SESSION,
    parameters: [],
    load: async () => (await import('./commands/verify.ts')).verifyHistoryCommand,
  },
  'memory status': {
    summary: 'whether memory is on, why, where it is, how full',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory.ts')).statusCommand,
  },
  'memory index': {
    summary: 'the index, as the prompt carries it',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory.ts')).indexCommand,
  },
  'memory list': {
    summary: 'all memories',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory.ts')).listCommand,
  },
  'memory show': {
    summary: 'one memory',
    options: SCOPE,
    parameters: ['FILE'],
    load: async () => (await import('./commands/memory.ts')).showCommand,
  },
  'memory save': {
    summary: 'save a memory: JSON on standard input',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory.ts')).saveCommand,
  },
  'memory remove': {
    summary: 'move a memory to the trash, and its line with it',
    options: SCOPE,
    parameters: ['FILE'],
    load: async () => (await import('./commands/memory.ts')).removeCommand,
  },
  'memory trash': {
    summary: 'what was removed, and can be restored',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory.ts')).trashCommand,
  },
  'memory restore': {
    summary: 'put a removed memory back',
    options: SCOPE,
    parameters: ['ID'],
    load: async () => (await import('./commands/memory.ts')).restoreCommand,
  },
  'memory proposals': {
    summary: 'what waits for you, and what it changes',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory-review.ts')).proposalsCommand,
  },
  'memory approve': {
    summary: 'take a proposal into the memory',
    options: SCOPE,
    parameters: ['ID'],
    load: async () => (await import('./commands/memory-review.ts')).approveCommand,
  },
  'memory reject': {
    summary: 'drop a proposal',
    options: SCOPE,
    parameters: ['ID'],
    load: async () => (await import('./commands/memory-review.ts')).rejectCommand,
  },
  'memory search': {
    summary: 'memories with these words, best first',
    options: SCOPE,
    parameters: ['WORDS'],
    load: async () => (await import('./commands/memory-review.ts')).searchCommand,
  },
  'memory verify': {
    summary: 'where index and memories differ; damage',
    options: SCOPE,
    parameters: [],
    load: async () => (await import('./commands/memory-review.ts')).verifyCommand,
  },
  'memory repair': {
    summary: 'make the index agree; --dry-run shows it',
    options: ['scope', 'dry-run'],
    parameters: [],
    load: async () => (await import('./commands/memory-review.ts')).repairCommand,
  },
  doctor: {
    summary: 'what is damaged here, what it takes, what to do',
    options: ['all'],
    parameters: [],
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  tour: {
    summary: 'see all of it at work, in a temporary directory',
    options: [],
    parameters: [],
    load: async () => (await import('./tour.ts')).tourCommand,
  },
}
