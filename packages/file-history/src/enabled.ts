const TRUTHY = new Set(['1', 'true', 'yes', 'on'])

/**
 * Whether edits are to be recorded. Not interactive: only if `CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING` is truthy.
 * Interactive: unless the setting `fileCheckpointingEnabled` is false. Either way never if
 * `CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING` is truthy. Truthy is 1, true, yes, on, in any case, trimmed.
 */
export function isFileHistoryEnabled(options: {
  env: Readonly<Record<string, string | undefined>>
  interactive: boolean
  config?: { fileCheckpointingEnabled?: boolean | undefined } | undefined
}): boolean {
  const { env, interactive, config } = options
  const isOn = (name: string): boolean => TRUTHY.has((env[name] ?? '').trim().toLowerCase())
  if (isOn('CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING')) return false
  return interactive
    ? config?.fileCheckpointingEnabled !== false
    : isOn('CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING')
}
