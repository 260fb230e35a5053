/** The settings that concern memory, merged by the caller from its settings files. */
export interface MemorySettings {
  autoMemoryEnabled?: boolean | undefined
  /**
   * Another place for the project's memory: absolute, or beginning with `~/`. Never pass on a value that
   * stands in a file checked into the project: a repository must not choose where memory goes.
   */
  autoMemoryDirectory?: string | undefined
}

/** What decides whether memory is on. */
export interface AutoMemoryOptions {
  /** Environment variables, such as `process.env`. */
  env: Readonly<Record<string, string | undefined>>
  settings?: MemorySettings | undefined
  /** The agent runs in its bare mode; counts as `CLAUDE_CODE_SIMPLE`. */
  bare?: boolean | undefined
}

/**
 * Whether memory is on. The one gate for every door: where this says no, compose no prompt, make no directory,
 * read and write nothing. See {@link explainAutoMemory} for the order of the rules.
 */
export function isAutoMemoryEnabled(options: AutoMemoryOptions): boolean {
  return explainAutoMemory(options).enabled
}

/**
 * Whether memory is on, and the rule that decided, in words for a person. The first rule that applies decides:
 * `CLAUDE_CODE_DISABLE_AUTO_MEMORY` (true: off, false: on), `CLAUDE_CODE_SIMPLE` or bare mode (off),
 * `CLAUDE_CODE_REMOTE` without `CLAUDE_CODE_REMOTE_MEMORY_DIR` (off), the setting `autoMemoryEnabled`, else on.
 *
 * A variable is true as 1, true, yes, on and false as 0, false, no, off, in any case and with blanks around it;
 * with any other value, the empty one too, it counts as not set.
 *
 * @throws {TypeError} `settings.autoMemoryEnabled` is neither a boolean nor undefined
 */
export function explainAutoMemory(options: AutoMemoryOptions): { enabled: boolean; rule: string } {
  const { env, settings, bare = false } = options
  const disable = readSwitch(env['CLAUDE_CODE_DISABLE_AUTO_MEMORY'])
  if (disable === true) return { enabled: false, rule: 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is true' }
  if (disable === false) return { enabled: true, rule: 'CLAUDE_CODE_DISABLE_AUTO_MEMORY is false' }
  if (bare) return { enabled: false, rule: 'bare mode' }
  if (readSwitch(env['CLAUDE_CODE_SIMPLE']) === true)
    return { enabled: false, rule: 'CLAUDE_CODE_SIMPLE is true' }
  if (readSwitch(env['CLAUDE_CODE_REMOTE']) === true && remoteMemoryDir(env) === undefined) {
    return { enabled: false, rule: 'CLAUDE_CODE_REMOTE is true and CLAUDE_CODE_REMOTE_MEMORY_DIR is not set' }
  }
  const setting = settings?.autoMemoryEnabled
  // A `"false"` taken for unset would leave on what somebody switched off.
  if (setting !== undefined && typeof setting !== 'boolean')
    throw new TypeError('autoMemoryEnabled must be a boolean')
  if (setting !== undefined) return { enabled: setting, rule: `setting autoMemoryEnabled is ${setting}` }
  return { enabled: true, rule: 'default' }
}

/** Where a remote machine keeps memory, if it says so: an empty or blank value says nothing. */
export function remoteMemoryDir(env: AutoMemoryOptions['env']): string | undefined {
  const value = env['CLAUDE_CODE_REMOTE_MEMORY_DIR']
  return value === undefined || value.trim() === '' ? undefined : value
}

function readSwitch(value: string | undefined): boolean | undefined {
  const word = value?.trim().toLowerCase() ?? ''
  if (['1', 'true', 'yes', 'on'].includes(word)) return true
  return ['0', 'false', 'no', 'off'].includes(word) ? false : undefined
}
