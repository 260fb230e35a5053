// A codemod with ts-morph: renames a function everywhere below `src/`, and saves file after file, as many do. In front
// of a file that it cannot parse it gives up, with exit code 7: half of the work is done then.
import { Project } from 'ts-morph'

const project = new Project({ compilerOptions: { allowJs: true } })
project.addSourceFilesAtPaths('src/**/*.{ts,js}')
project.getSourceFileOrThrow('src/greet.ts').getFunctionOrThrow('sayHello').rename('greet')

for (const file of project.getSourceFiles()) {
  const problems = project.getProgram().getSyntacticDiagnostics(file)
  if (problems.length > 0) {
    process.stderr.write(`codemod: ${file.getBaseName()} cannot be parsed\n`)
    process.exit(7)
  }
  if (file.isSaved()) continue
  await file.save()
  process.stdout.write(`codemod: ${file.getBaseName()}\n`)
}
