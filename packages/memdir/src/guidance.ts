import { join } from 'node:path'
import type { MemoryDirs } from './dirs.ts'
import { INDEX_FILE } from './file-name.ts'
import { MAX_ENTRYPOINT_BYTES, MAX_ENTRYPOINT_LINES } from './truncate.ts'

/**
 * The path of a day's log in a memory folder, with the letters YYYY, MM and DD where the date goes: the text
 * stays the same over midnight, and so does what a model provider caches of the prompt.
 */
export function dailyLogTemplate(dir: string): string {
  return join(dir, 'logs', 'YYYY', 'MM', 'YYYY-MM-DD.md')
}

/** What the model is told about its memory: depends on the paths and the mode, on nothing else. */
export function memoryGuidance(options: {
  dirs: Pick<MemoryDirs, 'user' | 'project' | 'team'>
  mode: 'index' | 'daily-log'
  team: boolean
}): string {
  const { dirs, mode, team } = options
  return [
    `# Memory across sessions

You have a memory made of Markdown files. What you put there is all that a later session will know of this one.

- ${dirs.user}: what holds in every project, such as who the user is and how they like to work.
- ${dirs.project}: what holds in this project.${
      team
        ? `\n- ${dirs.team}: what the team of this project shares. Others read it: nothing private, no secrets.`
        : ''
    }

Each folder has an index, ${INDEX_FILE}, one line per memory; the indexes are in your context. The details are in topic files, one fact each. An index that is not in your context is empty. Where a note says that it was cut or could not be read, it is not empty: read the file.`,
    `## What to remember

Each memory has one of four types:
- user: who the user is: role, experience, goals; what should change how you explain or choose.
  Good: "Has written Go for ten years, React is new to them." Bad: "Asked about React today." (an event)
- feedback: how they want you to work: corrections, and approaches they confirmed, with the reason, so that you can judge new cases.
  Good: "Test against a real database: mocks once hid a broken migration." Bad: "Use the database." (no reason, no scope)
- project: what files and history do not tell: decisions, deadlines, who is responsible, why something is as it is. Write dates out with day, month and year.
  Good: "Payments are frozen until 5 March 2031 for the audit; Ana decides." Bad: "Frozen until Thursday." (nobody knows which)
- reference: where to find something outside, and what it is good for.
  Good: "Failed deliveries are explained on the board 'Mail queue' of the status page." Bad: "See the dashboard."

Save also what the user asks you to remember; what they ask you to forget, remove; where you have no means to, say so. When you learn nothing that will matter later, save nothing.`,
    `## What not to remember

- What code, files or version history already say: structure, conventions, who changed what.
- The state of the work at hand: steps, plans, open tasks of this session.
- Blocks of code and long excerpts: they belong into the project's files.
- Passwords, keys, tokens.
- What project instructions already hold.`,
    mode === 'index' ? twoSteps() : dailyLog(dirs.project),
    `## How to use it

- Read a topic file (or search, if you have a tool SearchMemory) when its line touches the task, before you ask the user what they may have told you, and always when they ask what you know or remember. The line alone is not the memory.
- A memory tells what was true when it was written. Before you rely on a file, function, setting or person that it names, check that it is still so. What you see now counts more; correct or remove what turned out wrong.
- If the user asks you to ignore memory, act as if there were none.`,
  ].join('\n\n')
}

function twoSteps(): string {
  return `## How to save

If you have a tool SaveMemory, use it: it does both steps at once, and the files are not to be edited directly. Otherwise always do both by hand:
1. The topic file, in the folder where it belongs, with front matter:

   ---
   name: Short title
   description: One line by which you would recognise that it matters
   type: user | feedback | project | reference
   ---

   The fact; for feedback and project also why, and when it applies.

2. One line for it in ${INDEX_FILE} of the same folder: \`- [Short title](file.md) — what it says\`, at most 150 characters. The index holds such lines and nothing else.

First look whether there is a memory on the subject, and change that one. Only the first ${MAX_ENTRYPOINT_LINES} lines and ${MAX_ENTRYPOINT_BYTES} bytes of an index are shown to you: keep lines short, join memories that belong together, remove those that no longer hold.`
}

function dailyLog(dir: string): string {
  return `## How to save

If you have a tool SaveMemory, use it: it appends to the log of the day, and the files are not to be edited directly. Otherwise append to it by hand:

${dailyLogTemplate(dir)}

YYYY, MM and DD stand for the current date, which you are told elsewhere in the conversation; make folders and file if they are not there. Write one short bullet for each thing to remember, with its type. Never change what the log already holds. The index and the topic files are made from the logs at another time: read them, do not write them by hand.`
}
