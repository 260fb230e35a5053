import { join } from 'node:path'
import { z } from 'zod'
import { nameOf } from './file-target.ts'
import { globPattern, splitGlob } from './glob-pattern.ts'
import { searchPlace } from './search-place.ts'
import { defineTool, done, systemText } from './tool.ts'
import type { Tool } from './tool.ts'
import { walkFiles } from './walk-files.ts'

const MAX_NAMES = 100

export const globTool: Tool = defineTool({
  name: 'Glob',
  description: `Finds files by a pattern of their path, such as "src/**/*.{ts,tsx}". What .gitignore leaves out is not found, unless path or pattern names a directory in it. Returns up to ${MAX_NAMES} paths, the last changed first, a line each; then in [brackets] how many more there are; or "No file fits.".`,
  schema: z.strictObject({
    pattern: systemText().describe('With *, ?, [a-z], {a,b}, and ** for any number of directories'),
    path: systemText().optional().describe('The directory that it is from; default: the project'),
  }),
  isReadOnly: true,
  async plan({ pattern, path = '.' }, { root }, { signal, withheld }) {
    const { directory, rest } = splitGlob(pattern)
    const base = directory.startsWith('/') ? directory : join(path, directory)
    const place = await searchPlace(root, base)
    return {
      access: place.access,
      summary: place.path === root ? rest : `${rest} in ${place.name}`,
      async run() {
        await place.confirm()
        if (place.file !== undefined) return done('No file fits.')
        const fits = globPattern(rest)
        const isWithheld = withheld?.(place.access) ?? (() => false)
        const { files, problems } = await walkFiles({
          directory: place.directory,
          root,
          fits,
          isWithheld,
          signal,
        })
        const names = files.slice(0, MAX_NAMES).map((file) => nameOf(root, file.path))
        const more = files.length - names.length
        const notes = [...(more > 0 ? [`${more} more; a narrower pattern shows them`] : []), ...problems]
        return done(
          [...(names.length > 0 ? names : ['No file fits.']), ...notes.map((note) => `[${note}]`)].join('\n'),
        )
      },
    }
  },
})
