import { files, LociError } from '@loci/disk'
import { secretWarnings, textWarnings } from '../check-draft.ts'
import { decode } from '../index-file.ts'
import type { Memdir } from '../memdir.ts'
import { partsOf } from '../memdir-parts.ts'
import { revisionOf } from '../memory.ts'
import { readRegular } from '../read-regular.ts'
import { insertLines, numberLines, replaceOnce } from './edit-text.ts'
import { contentsOf, directoryAt, findFile, resolveFile, topicAt } from './find-file.ts'
import type { Found } from './find-file.ts'
import { listDirectory } from './list-directory.ts'
import { parseToolPath } from './tool-path.ts'
import {
  checkProposable,
  editTopic,
  planDelete,
  planEdit,
  planMoves,
  removeDirectories,
} from './topic-changes.ts'

/**
 * One method for each command of the tool `memory_20250818`, given the input of the call. Each resolves to the text
 * of the result, or throws an error whose message is the text of a failed one.
 */
export interface MemoryToolHandlers {
  view(command: { path: string; view_range?: number[] | undefined }): Promise<string>
  create(command: { path: string; file_text: string }): Promise<string>
  str_replace(command: { path: string; old_str: string; new_str: string }): Promise<string>
  insert(command: { path: string; insert_line: number; insert_text: string }): Promise<string>
  delete(command: { path: string }): Promise<string>
  rename(command: { old_path: string; new_path: string }): Promise<string>
}

/**
 * Handlers for the Messages API's memory tool over a memory folder, for `betaMemoryTool` of `@anthropic-ai/sdk` or a
 * loop of one's own. `/memories` is the folder, its `.md` files are the topic files. What is created is kept byte for
 * byte; the index follows each change, under the folder's lease; what is replaced or deleted goes to the trash. With
 * `review`, what is written is only proposed. Result and error texts are those of the SDK's own implementation.
 *
 * Each method throws a `LociError` that is for the model: MEMORY_NOT_FOUND, MEMORY_CONFLICT, MEMORY_INVALID,
 * PATH_INVALID, PATH_OUTSIDE, PATH_LINK; or for the program: DISK_FULL, DISK_IO.
 *
 * Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
 *
 * @throws {TypeError} when the handle is none of `openMemdir`
 */
export function memoryToolHandlers(memdir: Memdir): MemoryToolHandlers {
  const { folder, queue, review } = partsOf(memdir)
  const { dir } = folder

  /** Writes what `edit` makes of the topic; resolves to `said`, or to what else there is to say. */
  async function write(
    path: string,
    edit: (text: string | undefined) => string,
    said: () => string,
  ): Promise<string> {
    const file = topicAt(path)
    if (review) {
      const topic = await editTopic(folder, file, edit)
      checkProposable(topic)
      const { memory, old } = topic
      const ifRevision = old && revisionOf(old.bytes)
      const { warnings = [] } = await memdir.save(memory, { ifRevision })
      return [
        `The change of ${path} waits for a person to approve it. Until then memory stays as it is.`,
        ...warnings,
      ].join('\n')
    }
    const { memory } = await queue.change(async () => {
      const topic = await editTopic(folder, file, edit)
      return { memory: topic.memory, changes: await planEdit(folder, topic) }
    })
    return [said(), ...secretWarnings(memory, file)].join('\n')
  }

  /** Before an edit: what is there, and a file. */
  async function fileAt(path: string): Promise<void> {
    const { stats } = (await findFile(dir, path)) ?? absent(path, ADVICE)
    if (!stats.isFile()) throw new LociError('MEMORY_INVALID', `The path ${path} is not a file.`)
  }

  return {
    async view({ path, view_range: range }) {
      const found =
        (await findFile(dir, path)) ?? (parseToolPath(path) === '' ? undefined : absent(path, ADVICE))
      if (found === undefined || found.stats.isDirectory()) {
        const list = await listDirectory(found?.path ?? dir, path)
        return `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n${list}`
      }
      if (!found.stats.isFile()) throw new LociError('MEMORY_INVALID', `Unsupported file type for ${path}`)
      const { bytes } = (await readRegular(found.path)) ?? absent(path, ADVICE)
      return `Here's the content of ${path} with line numbers:\n${numberLines(path, decode(bytes), range)}`
    },

    async create({ path, file_text: text }) {
      checkString('file_text', text)
      const exists = (): never => {
        throw new LociError('MEMORY_CONFLICT', `File ${path} already exists`)
      }
      if ((await findFile(dir, path)) !== undefined) exists()
      return write(
        path,
        (before) => (before === undefined ? text : exists()),
        () => `File created successfully at: ${path}`,
      )
    },

    async str_replace({ path, old_str: old, new_str: replacement }) {
      checkString('old_str', old)
      checkString('new_str', replacement)
      await fileAt(path)
      let snippet = ''
      return write(
        path,
        (before = absent(path, ADVICE)) => {
          const replaced = replaceOnce(path, before, [old, replacement])
          snippet = replaced.snippet
          return replaced.text
        },
        () =>
          `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`,
      )
    },

    async insert({ path, insert_line: line, insert_text: text }) {
      checkString('insert_text', text)
      await fileAt(path)
      return write(
        path,
        (before = absent(path, ADVICE)) => insertLines(before, line, text),
        () => `The file ${path} has been edited.`,
      )
    },

    async delete({ path }) {
      if (parseToolPath(path) === '')
        throw new LociError('MEMORY_INVALID', 'Cannot delete the /memories directory itself')
      const found = (await findFile(dir, path)) ?? absent(path)
      if (!found.stats.isDirectory()) {
        const file = topicAt(path)
        await queue.change(async () => {
          const changes = await planDelete(folder, file)
          return { changes: changes.length === 0 ? absent(path) : changes }
        })
        return `Successfully deleted ${path}`
      }
      const { topics, directories } = await contentsOf(found)
      // One by one: each by itself can be restored.
      for (const file of topics) await queue.change(async () => ({ changes: await planDelete(folder, file) }))
      await queue.change(async () => {
        await removeDirectories(dir, directories)
        return { changes: [] }
      })
      return `Successfully deleted ${path}`
    },

    async rename({ old_path: from, new_path: to }) {
      const target = parseToolPath(to)
      if (parseToolPath(from) === '')
        throw new LociError('MEMORY_INVALID', 'Cannot rename the /memories directory itself')
      const look = async (): Promise<Found> => {
        const found = (await findFile(dir, from)) ?? absent(from)
        if (target === '' || (await findFile(dir, to)) !== undefined)
          throw new LociError('MEMORY_CONFLICT', `The destination ${to} already exists`)
        return found
      }
      if (!(await look()).stats.isDirectory()) {
        const move = [topicAt(from), topicAt(to)] as const
        await queue.change(async () => {
          await look()
          return { changes: await planMoves(folder, [move]) }
        })
        return [`Successfully renamed ${from} to ${to}`, ...textWarnings(move[1], 'the file name')].join('\n')
      }
      directoryAt(to)
      const moved = await queue.change(async () => {
        const found = await look()
        if (target.startsWith(`${found.file}/`))
          throw new LociError('MEMORY_INVALID', `Cannot rename ${from} to ${to}, which is inside it`)
        const { topics, directories } = await contentsOf(found)
        const moves = topics.map((file) => [file, target + file.slice(found.file.length)] as const)
        return { changes: await planMoves(folder, moves), directories }
      })
      await queue.change(async () => {
        // Where it held no topic, nothing has made it yet.
        await files.mkdir(await resolveFile(dir, target))
        await removeDirectories(dir, moved.directories)
        return { changes: [] }
      })
      return `Successfully renamed ${from} to ${to}`
    },
  }
}

const ADVICE = '. Please provide a valid path.'

function absent(path: string, advice = ''): never {
  throw new LociError('MEMORY_NOT_FOUND', `The path ${path} does not exist${advice}`)
}

function checkString(name: string, value: unknown): void {
  if (typeof value !== 'string') throw new LociError('MEMORY_INVALID', `${name} must be a string`)
}
