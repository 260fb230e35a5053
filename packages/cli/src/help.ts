import { commands } from './commands.ts'

/** The text of `--help`; with words of a group (`sessions`), the commands of that group. */
export function helpText(words: readonly string[] = []): string {
  const rows = Object.entries(commands)
    .filter(([name]) => words.length === 0 || name.split(' ', 1)[0] === words[0])
    .map(([name, command]) => {
      const options = command.options.map((option) => `[--${option}${OPTION_VALUES[option] ?? ''}]`)
      return { usage: ['loci', name, ...command.parameters, ...options].join(' '), summary: command.summary }
    })
  const lines = rows.map(({ usage, summary }) => `  ${usage}\n      ${summary}`)
  return `${['Usage:', ...lines].join('\n')}\n\n${GLOBAL}`
}

const OPTION_VALUES: Record<string, string> = {
  limit: ' N',
  'up-to': ' ID',
  title: ' TEXT',
  session: ' SID',
  'on-conflict': ' HOW',
  scope: ' project|user',
}

const GLOBAL = `Everywhere, before or after the command:
  --json              print the result as JSON
  --cwd DIR           work as if started in DIR
  --config-dir DIR    the config home; else LOCI_CONFIG_DIR, else ~/.loci
  --write             allow changes in a config home that Loci did not make
  --bare              no memory
  --debug             show the stack of an error
  --on-conflict stop|skip|overwrite
                      for files that somebody else changed; rewind stops by default,
                      undo skips (and does not stop)
  SID                 the id of a session, or its beginning
  -h, --help          this text
  -V, --version       the version

Exit codes: 0 ok, 1 refused or failed, 2 usage, 3 damage, conflict or pending rewind found,
130 interrupted, 70 a bug of Loci's
`
