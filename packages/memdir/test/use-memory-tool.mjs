// Makes argv[4] changes by the memory tool in the folder argv[2], named after argv[3]: topics of its own, and lines in
// one that others write too.
import { openMemdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'

const [, , dir, who, count] = process.argv
const tool = memoryToolHandlers(await openMemdir({ dir, waitMs: 60_000 }))
for (let n = 0; n < Number(count); n += 1) {
  const name = `${who}-${n}`
  await tool.create({ path: `/memories/${name}.md`, file_text: `${name}\n` })
  await tool.insert({ path: '/memories/shared.md', insert_line: 1, insert_text: `${name} came` })
  await tool.str_replace({ path: '/memories/shared.md', old_str: `${name} came`, new_str: `${name} stayed` })
  await tool.rename({ old_path: `/memories/${name}.md`, new_path: `/memories/done/${name}.md` })
}
