// Prints what memory adds to a request: argv[2] the home, argv[3] the project's folder, argv[4] the mode.
import { loadMemoryPrompt, memoryDirs } from '@loci/memdir'

const [, , home, projectDir, mode] = process.argv
const dirs = memoryDirs({ home, projectDir })
process.stdout.write(JSON.stringify(await loadMemoryPrompt({ dirs, enabled: true, mode, team: true })))
