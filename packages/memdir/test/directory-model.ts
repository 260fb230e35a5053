/** A plain directory of files with the six commands: whether each succeeds, and what is there then. */
export interface DirectoryModel {
  files: Map<string, string>
  run(call: readonly [string, object]): boolean
}

export function directoryModel(): DirectoryModel {
  const files = new Map<string, string>()
  const directories = new Set<string>()

  const isDirectory = (file: string): boolean => file === '' || directories.has(file)
  const exists = (file: string): boolean => files.has(file) || isDirectory(file)
  const parentsOf = (file: string): string[] =>
    file
      .split('/')
      .slice(0, -1)
      .map((_, n, parts) => parts.slice(0, n + 1).join('/'))
  const put = (file: string, text: string): void => {
    for (const parent of parentsOf(file)) directories.add(parent)
    files.set(file, text)
  }
  const below = (names: Iterable<string>, file: string): string[] =>
    [...names].filter((name) => name === file || name.startsWith(`${file}/`))
  /** The tool breaks no front matter. */
  const edit = (file: string, text: string): boolean => {
    const had = files.get(file)?.startsWith('---\n') === true
    if (had && !/^---\n(?:(?:\w+: |#).*\n)*---\n/.test(text)) return false
    files.set(file, text)
    return true
  }

  const commands: Record<string, (input: Record<string, string>, line: number) => boolean> = {
    view: ({ path = '' }) => exists(path),
    create: ({ path = '', file_text: text = '' }) => {
      if (exists(path) || !path.endsWith('.md') || parentsOf(path).some((parent) => files.has(parent)))
        return false
      put(path, text)
      return true
    },
    str_replace: ({ path = '', old_str: old = '', new_str: replacement = '' }) => {
      const text = files.get(path)
      if (text === undefined) return false
      const isCrlf = /^.*\r\n/.test(text)
      const fit = (part: string): string => (isCrlf ? part.replaceAll('\n', '\r\n') : part)
      const parts = text.split(fit(old))
      return parts.length === 2 && edit(path, parts.join(fit(replacement)))
    },
    insert: ({ path = '', insert_text: inserted = '' }, line) => {
      const text = files.get(path)
      const lines = text?.split('\n') ?? []
      if (text === undefined || line < 0 || line > lines.length) return false
      const end = /^.*\r\n/.test(text) ? '\r' : ''
      const added = inserted.replace(/\n$/, '')
      if (line === lines.length) return edit(path, `${text}${end}\n${added}`)
      return edit(path, lines.toSpliced(line, 0, added + end).join('\n'))
    },
    delete: ({ path = '' }) => {
      if (path === '' || !exists(path)) return false
      for (const name of below(files.keys(), path)) files.delete(name)
      for (const name of below(directories, path)) directories.delete(name)
      return true
    },
    rename: ({ old_path: from = '', new_path: to = '' }) => {
      if (from === '' || !exists(from) || exists(to) || to.startsWith(`${from}/`)) return false
      if (files.has(from) && !to.endsWith('.md')) return false
      if (parentsOf(to).some((parent) => files.has(parent))) return false
      const moved = below(files.keys(), from).map((name) => [name, files.get(name) ?? ''] as const)
      if (directories.has(from)) {
        for (const parent of [...parentsOf(to), to]) directories.add(parent)
      }
      for (const [name, text] of moved) {
        files.delete(name)
        put(to + name.slice(from.length), text)
      }
      for (const name of below(directories, from)) directories.delete(name)
      return true
    },
  }
  return {
    files,
    run([name, input]) {
      const entries = Object.entries(input).map(([key, value]) => [
        key,
        /path/.test(key) ? String(value).replace('/memories/', '') : value,
      ])
      const given = Object.fromEntries(entries) as Record<string, string>
      return commands[name]?.(given, Number(given['insert_line'])) ?? false
    },
  }
}
