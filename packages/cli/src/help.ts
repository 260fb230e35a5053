import { commands } from './commands.ts'

/**
 * The text of `--help`: every command in a line; with the word of a group (`sessions`), the commands of that group with
 * their options. Fits 80 columns.
 */
export function helpText(words: readonly string[] = []): string {
  const [group] = words
  return group === undefined ? `${overview()}\n${GLOBAL}` : groupHelp(group)
}

function overview(): string {
  const rows = Object.entries(commands).map(([name, { parameters, summary }]) => ({
    usage: [name, ...parameters].join(' '),
    summary,
  }))
  const width = Math.max(...rows.map(({ usage }) => usage.length))
  const lines = rows.map(({ usage, summary }) => `  ${usage.padEnd(width)}  ${summary}`)
  return [
    'Usage: loci [PROMPT] [OPTIONS]     a conversation; without a terminal one',
    '                                   prompt a line from standard input',
    '       loci -p PROMPT [OPTIONS]    one turn, and out',
    '       loci COMMAND [OPTIONS]',
    '',
    CONVERSATION,
    ...lines,
    '',
  ].join('\n')
}

function groupHelp(group: string): string {
  const lines = Object.entries(commands)
    .filter(([name]) => name.split(' ', 1)[0] === group)
    .flatMap(([name, { parameters, options, summary }]) => {
      const usage = ['loci', name, ...parameters].join(' ')
      const rows = options.map((option) => `      --${option}${OPTION_VALUES[option] ?? ''}`)
      return [`  ${usage}`, `      ${summary}`, ...rows]
    })
  return ['Usage:', ...lines, '', 'loci --help shows the options that every command takes.', ''].join('\n')
}

const OPTION_VALUES: Record<string, string> = {
  limit: ' N',
  'up-to': ' ID',
  title: ' TEXT',
  format: ' markdown|html|jsonl',
  redact: '    mask keys and tokens',
  session: ' SID    default: the newest of this directory',
  'on-conflict': ' stop|skip|overwrite    files that somebody else changed',
  scope: ' project|user',
}

const CONVERSATION = `A conversation:
  -c, --continue            go on with the newest session of this directory
  -r, --resume [ID|TITLE]   go on with that session, else with the newest
  --fork-session            copy that session first, and go on in the copy
  --session-id UUID         the id of the new session
  --rewind-files ID         put the files back to before that prompt, and out;
                            --dry-run shows it only, --on-conflict decides
  --model NAME              else ANTHROPIC_MODEL, else claude-sonnet-5-5
  --offline                 the embedded rule-based model, as without a key
  --permission-mode MODE    default (asks), acceptEdits, plan, bypassPermissions
  --output-format FORMAT    of -p: text, json, stream-json
ANTHROPIC_API_KEY is the key, ANTHROPIC_BASE_URL another server. /help in a
session lists its commands.
`

const GLOBAL = `SID is the id of a session, or its beginning. loci sessions --help shows the
options of a group.

Everywhere, before or after the command:
  --json            print the result as JSON
  --cwd DIR         work as if started in DIR
  --config-dir DIR  the config home; else LOCI_CONFIG_DIR, else ~/.loci
  --write           allow changes in a config home that Loci did not make
  --bare            no memory
  --debug           show the stack of an error
  -h, --help        this text
  -V, --version     the version

Exit codes: 0 ok, 1 refused or failed, 2 usage, 3 damage, conflict or pending
rewind found, 130 interrupted, 70 a bug of Loci's
`
