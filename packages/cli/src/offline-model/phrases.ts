import type { Statement } from './recall.ts'
import { firstLine, showText } from './show-text.ts'
import type { Language, Step } from './step.ts'

/** What the model says, in one language. */
export interface Phrases {
  /** A step as a request, for lists of what was not done. */
  request: (step: Step) => string
  /** What it is about to do. */
  doing: (step: Step) => string
  /** What it has done. */
  did: (step: Step) => string
  readFile: (file: string, text: string) => string
  ranCommand: (command: string, output: string) => string
  failed: (step: Step, reason: string) => string
  notDone: (steps: readonly Step[]) => string
  notOffered: (tool: string) => string
  tooLong: (file: string) => string
  noResult: string
  recalled: (statement: Statement) => string
  memories: (lines: readonly string[]) => string
  noMemories: string
  nothingFound: string
  date: (date: string, weekday: number | undefined) => string
  noDate: string
  forget: string
  greeting: string
  thanks: string
  help: string
  notUnderstood: (parts: readonly string[]) => string
  tooMuch: (most: number) => string
  materialIgnored: string
  noPrompt: string
}

const ENGLISH_EXAMPLES = [
  'remember that we indent with 4 spaces',
  'what is our indentation?',
  'create notes.md with "# Notes"',
  'replace "foo" with "bar" in src/a.ts, then run npm test',
  'append "one more line" to notes.md; read notes.md',
]
const CHINESE_EXAMPLES = [
  '记住我们用 4 个空格缩进',
  '我们的缩进是什么？',
  '创建 notes.md 内容为「# 笔记」',
  '把 src/a.ts 中的「foo」替换成「bar」，然后运行 npm test',
  '在 notes.md 末尾追加「又一行」；读取 notes.md',
]

const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join('\n')
const quote = (text: string): string => firstLine(text, 60)

const WEEKDAYS = {
  en: ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'],
  zh: ['星期日', '星期一', '星期二', '星期三', '星期四', '星期五', '星期六'],
} as const

const ENGLISH: Phrases = {
  request: (step) => englishRequest(step),
  doing: (step) => (step.kind === 'ask' ? 'I look in memory.' : `I am going to ${englishRequest(step)}.`),
  did(step) {
    switch (step.kind) {
      case 'create':
        return `I have written ${step.file}.`
      case 'replace':
        return `I have replaced "${quote(step.from)}" with "${quote(step.to)}" in ${step.file}.`
      case 'append':
        return `I have added "${quote(step.text)}" to ${step.file}.`
      case 'delete':
        return `I have deleted ${step.file}.`
      case 'remember':
        return `I have saved it to memory: ${quote(step.text)}`
      default:
        return `Done: ${englishRequest(step)}.`
    }
  },
  readFile(file, text) {
    if (text === '' || text === '(the file is empty)') return `${file} is empty.`
    const { block, shownLines, lines, isCut } = showText(text)
    return `${file} holds${isCut ? ` (the beginning: ${shownLines} of ${lines} lines shown)` : ''}:\n\n${block}`
  },
  ranCommand(command, output) {
    const name = `\`${quote(command)}\``
    if (output.trim() === '' || output.trim() === '(no output)') return `${name} ran and printed nothing.`
    const { block, shownLines, lines, isCut } = showText(output)
    return `${name} printed${isCut ? ` (the beginning: ${shownLines} of ${lines} lines shown)` : ''}:\n\n${block}`
  },
  failed: (step, reason) => `I could not ${englishRequest(step)}: ${reason}`,
  notDone: (steps) => `So I did not go on. Not done:\n${list(steps.map(englishRequest))}`,
  notOffered: (tool) => `the tool ${tool} is not offered to me here. Nothing was changed by this step.`,
  tooLong: (file) =>
    `${file} is too long for me to see all of it, and I would lose the rest. It was not changed; "run" with a command can do it.`,
  noResult: 'it gave no result',
  recalled: ({ source, where, text }) =>
    ({
      memory: `From memory${where === '' ? '' : ` (${where})`}: ${text}`,
      said: `You told me: ${text}`,
      result: `In ${where}: ${text}`,
      given: `In the text that you gave: ${text}`,
    })[source],
  memories: (lines) => `This is what I remember:\n${list(lines)}`,
  noMemories: 'I remember nothing yet. Tell me with: remember that …',
  nothingFound:
    'I find nothing about that in what I was given. To tell me, say: remember that … (I am the offline model and know only what stands in memory and in this conversation.)',
  date: (date, weekday) =>
    `Today is ${weekday === undefined ? '' : `${WEEKDAYS.en[weekday] ?? ''}, `}${date}.`,
  noDate: 'I was not told the date.',
  forget:
    'I cannot take back memories myself. "loci memory list" shows them, and "loci memory remove FILE" moves one to the trash, from where it can be restored.',
  greeting: `Hello. I am Loci's offline model: rule-based, without network, not a real language model. Try for example:\n${list(ENGLISH_EXAMPLES)}`,
  thanks: "You are welcome. (Loci's offline model)",
  help: `I am Loci's offline model: rule-based, without network. I remember, answer from memory and this conversation, create, change, read and delete files, and run commands, in English and Chinese; "then" joins requests. For example:\n${list(ENGLISH_EXAMPLES)}\nSet ANTHROPIC_API_KEY for a real model.`,
  notUnderstood: (parts) =>
    `I did not understand ${parts.map((part) => `"${quote(part)}"`).join(' and ')}, so I have done nothing. I am Loci's offline model, a rule-based stand-in; set ANTHROPIC_API_KEY for a real one. What I understand, for example:\n${list(ENGLISH_EXAMPLES)}\nNames with blanks and texts with "then" in them go in quotes.`,
  tooMuch: (most) =>
    `That needs more than the ${most} tool calls that I, the offline model, make for one prompt, so I have done nothing. Please ask for it in parts.`,
  materialIgnored: 'What follows the empty line I took as text to look at, not as requests.',
  noPrompt: "I found no prompt in what I was given. I am Loci's offline model.",
}

const CHINESE: Phrases = {
  request: (step) => chineseRequest(step),
  doing: (step) => (step.kind === 'ask' ? '我在记忆里找一下。' : `我来${chineseRequest(step)}。`),
  did(step) {
    switch (step.kind) {
      case 'create':
        return `已写入 ${step.file}。`
      case 'replace':
        return `已把 ${step.file} 中的「${quote(step.from)}」替换成「${quote(step.to)}」。`
      case 'append':
        return `已在 ${step.file} 末尾追加「${quote(step.text)}」。`
      case 'delete':
        return `已删除 ${step.file}。`
      case 'remember':
        return `已存入记忆：${quote(step.text)}`
      default:
        return `已完成：${chineseRequest(step)}。`
    }
  },
  readFile(file, text) {
    if (text === '' || text === '(the file is empty)') return `${file} 是空的。`
    const { block, shownLines, lines, isCut } = showText(text)
    return `${file} 的内容${isCut ? `（只显示开头，共 ${lines} 行，显示 ${shownLines} 行）` : ''}：\n\n${block}`
  },
  ranCommand(command, output) {
    const name = `\`${quote(command)}\``
    if (output.trim() === '' || output.trim() === '(no output)') return `${name} 已运行，没有输出。`
    const { block, shownLines, lines, isCut } = showText(output)
    return `${name} 的输出${isCut ? `（只显示开头，共 ${lines} 行，显示 ${shownLines} 行）` : ''}：\n\n${block}`
  },
  failed: (step, reason) => `没能${chineseRequest(step)}：${reason}`,
  notDone: (steps) => `因此我停下了，下面的没有做：\n${list(steps.map(chineseRequest))}`,
  notOffered: (tool) => `这里没有提供工具 ${tool}。这一步没有改动任何东西。`,
  tooLong: (file) =>
    `${file} 太长，我看不到全部，改写会丢失其余内容，所以没有改动；可以用「运行」加命令来做。`,
  noResult: '没有得到结果',
  recalled: ({ source, where, text }) =>
    ({
      memory: `记忆中${where === '' ? '' : `（${where}）`}：${text}`,
      said: `你告诉过我：${text}`,
      result: `在 ${where} 中：${text}`,
      given: `在你给的文本中：${text}`,
    })[source],
  memories: (lines) => `我记得这些：\n${list(lines)}`,
  noMemories: '我还什么都没记住。可以这样告诉我：记住……',
  nothingFound:
    '在给我的内容里，我没有找到相关的信息。可以这样告诉我：记住……（我是离线模型，只知道记忆和本次对话里的内容。）',
  date: (date, weekday) =>
    `今天是 ${date}${weekday === undefined ? '' : `，${WEEKDAYS.zh[weekday] ?? ''}`}。`,
  noDate: '没有人告诉我今天的日期。',
  forget:
    '我自己不能删除记忆。用 “loci memory list” 查看，用 “loci memory remove FILE” 把一条移到回收站，之后还可以恢复。',
  greeting: `你好！我是 Loci 的离线模型：基于规则，不联网，不是真正的语言模型。可以试试：\n${list(CHINESE_EXAMPLES)}`,
  thanks: '不客气。（Loci 的离线模型）',
  help: `我是 Loci 的离线模型：基于规则，不联网。我能记住事情，根据记忆和本次对话回答问题，创建、修改、读取、删除文件，运行命令，中英文都可以，用「然后」连接多个请求。例如：\n${list(CHINESE_EXAMPLES)}\n设置 ANTHROPIC_API_KEY 可使用真正的模型。`,
  notUnderstood: (parts) =>
    `我没有看懂${parts.map((part) => `「${quote(part)}」`).join('和')}，所以什么都没有做。我是 Loci 的离线模型，基于规则的替身；设置 ANTHROPIC_API_KEY 可使用真正的模型。我能看懂的，例如：\n${list(CHINESE_EXAMPLES)}\n带空格的文件名，以及含有「然后」的文本，请加引号。`,
  tooMuch: (most) => `这需要的工具调用超过了离线模型每次 ${most} 次的上限，所以什么都没有做。请分几次提出。`,
  materialIgnored: '空行之后的内容，我当作要看的文本，没有当作请求。',
  noPrompt: '在给我的内容里没有找到提问。我是 Loci 的离线模型。',
}

/** What the model says in a language. */
export function phrasesIn(language: Language): Phrases {
  return language === 'zh' ? CHINESE : ENGLISH
}

function englishRequest(step: Step): string {
  switch (step.kind) {
    case 'create':
      return `write ${step.file}`
    case 'replace':
      return `replace "${quote(step.from)}" in ${step.file}`
    case 'append':
      return `add to ${step.file}`
    case 'delete':
      return `delete ${step.file}`
    case 'read':
      return `read ${step.file}`
    case 'run':
      return `run \`${quote(step.command)}\``
    case 'remember':
      return `remember "${quote(step.text)}"`
    case 'ask':
      return `answer "${quote(step.question)}"`
    case 'ask-date':
      return 'say the date'
    case 'list-memory':
      return 'list the memories'
    default:
      return 'answer you'
  }
}

function chineseRequest(step: Step): string {
  switch (step.kind) {
    case 'create':
      return `写入 ${step.file}`
    case 'replace':
      return `替换 ${step.file} 中的「${quote(step.from)}」`
    case 'append':
      return `往 ${step.file} 末尾追加`
    case 'delete':
      return `删除 ${step.file}`
    case 'read':
      return `读取 ${step.file}`
    case 'run':
      return `运行 \`${quote(step.command)}\``
    case 'remember':
      return `记住「${quote(step.text)}」`
    case 'ask':
      return `回答「${quote(step.question)}」`
    case 'ask-date':
      return '回答日期'
    case 'list-memory':
      return '列出记忆'
    default:
      return '回答你'
  }
}
