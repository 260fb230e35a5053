/** A line of `permissions` in settings, such as `Read`, `Bash(git diff:*)` or `Edit(docs/**)`. */
export interface PermissionRule {
  /** As it was written. */
  text: string
  tool: string
  /** What is in brackets; `null`: any call of the tool. */
  specifier: string | null
  /** Why it is not as it should be, in words that follow its text. It restricts the whole tool, and allows nothing. */
  flaw?: string
}

/** Tools whose rules hold paths. */
const FILE_TOOLS = new Set(['Read', 'Edit', 'Write'])

/** The rule in a line of settings. Pure. */
export function parseRule(line: string): PermissionRule {
  const text = line.trim()
  const [, tool = '', rest = ''] = /^([^\s()]+)\s*([^]*)$/.exec(text) ?? []
  const rule = { text, tool, specifier: null }
  if (tool === '') return { ...rule, tool: '*', flaw: 'names no tool' }
  if (rest === '') return rule
  const [, inside = ''] = /^\(([^]+)\)$/.exec(rest) ?? []
  if (inside === '') return { ...rule, flaw: 'has brackets that do not fit' }
  if (inside === '*') return rule
  if (FILE_TOOLS.has(tool) && /^!|\[/.test(inside))
    return { ...rule, flaw: 'has a path with ! or [, which rules do not know' }
  return { ...rule, specifier: inside }
}

/** The rule that allows exactly this command. Pure. */
export function commandRule(command: string): string {
  return `Bash(${command.replaceAll(/\\(?=[\\*])|\*/g, '\\$&')})`
}

/** The rule that allows exactly this path, which is absolute; `undefined`: none can name it. Pure. */
export function pathRule(tool: string, path: string): string | undefined {
  return /[*?[\]\\]/.test(path) ? undefined : `${tool}(/${path})`
}
