import { QUOTED } from './mask-quotes.ts'
import type { Match, Rule, Step } from './step.ts'

const FILE = String.raw`(?:(?<word>文件)\s*)?(?<file>${QUOTED}|[^\s，,：；;。“”「」\uE000\uE001]+?)\s*(?:文件)?`
const BECOMES = '(?:替换(?:成|为)|换(?:成|为)|改(?:成|为)|修改(?:成|为)|变(?:成|为))'
const ALL = '(?<all>所有的?|全部的?|每个|每处)?'
const EVERY = '(?<every>全部|全都|统统|都)?'
const END = '(?:末尾|结尾|最后|后面|尾部|里面?|中)'
const rule = (pattern: string, step: Rule['step'], tail?: string): Rule => ({
  pattern: new RegExp(`^(?:${pattern})$`, 'isu'),
  step,
  ...(tail === undefined ? {} : { tail }),
})

/** Words before a request that change nothing in it. */
export const CHINESE_MANNERS: RegExp =
  /^(?:(?:请你?|麻烦你?|劳驾|帮我|帮忙|替我|给我|现在|首先|先(?!生)|再|然后|接着|最后|(?:你?(?:能不能|能否|可不可以|可以|能)(?=[帮给替把将在向读写看创新删运执记])))\s*[，,]?\s*)+/u

/** What Chinese requests look like, most particular first. */
export const CHINESE: readonly Rule[] = [
  rule('(?:你好|您好|嗨|哈喽|早上好|晚上好|你是谁)[呀啊]?[！!。？?]*', () => ({ kind: 'greet' })),
  rule('(?:多?谢谢?|感谢)(?:你|您|了|啦)*[！!。]*', () => ({ kind: 'thanks' })),
  rule('(?:帮助|你?(?:能|会|可以)(?:做|干)?(?:些)?什么|怎么用)[！!。？?]*', () => ({ kind: 'help' })),
  rule(
    '你?(?:都|还)?(?:记得|记住了?|知道)(?:了|些|哪些|什么)+(?:东西|内容|事情?)?[？?。]*|(?:列出|显示)(?:所有|全部)?的?记忆',
    () => ({ kind: 'list-memory' }),
  ),
  rule(
    '(?:今天|现在)是?(?:几号|几月几号|几月几日|星期几|周几|礼拜几|什么日子|哪一?天|的?日期(?:是什么|是多少|是)?)[？?。呢啊]*',
    () => ({ kind: 'ask-date' }),
  ),
  rule('(?:忘记|忘掉|忘了).*', () => ({ kind: 'forget' })),
  rule(
    String.raw`(?:记住|记下来?|记得|牢记)(?:一下)?\s*[，,：:]?\s*(?:(?<all>在所有(?:的)?项目(?:中|里)?|关于我)\s*[，,：:]?\s*)?(?<text>.*[^?？吗呢\s])`,
    (match) => ({ kind: 'remember', text: match.text('text'), scope: match.has('all') ? 'user' : 'project' }),
    'text',
  ),
  rule(
    String.raw`(?:创建|新建|建立|写入?|生成)\s*(?:一个|个)?\s*(?:空的?|新的?)?\s*(?:名为|名叫|叫做?)?\s*${FILE}\s*(?:的\s*文件)?\s*(?:[，,：:]?\s*(?:(?:并|其|它的?|文件)?(?:内容|文本)\s*(?:为|是|[:：])|写入|写上|包含)\s*[:：]?\s*(?<text>.*))?`,
    (match) => withPath(match, (file) => ({ kind: 'create', file, content: match.text('text') })),
    'text',
  ),
  rule(String.raw`(?:把|将)\s*(?<text>.+?)\s*(?:写入|写到|写进|保存到)\s*${FILE}\s*(?:里|中)?`, (match) =>
    withPath(match, (file) => ({ kind: 'create', file, content: match.text('text') })),
  ),
  rule(
    String.raw`(?:把|将)\s*${FILE}\s*(?:中|里面?|内)\s*的?\s*${ALL}\s*(?<from>.+?)\s*${EVERY}\s*${BECOMES}\s*(?<to>.+)`,
    replacement,
    'to',
  ),
  rule(
    String.raw`在?\s*${FILE}\s*(?:中|里面?|内)?\s*[，,]?\s*(?:把|将)\s*${ALL}\s*(?<from>.+?)\s*${EVERY}\s*${BECOMES}\s*(?<to>.+)`,
    replacement,
    'to',
  ),
  rule(
    String.raw`(?:在|向|往|给)\s*${FILE}\s*的?\s*${END}?\s*(?:里|中|处)?\s*(?:追加|添加|加上|加入|增加|附加|写上)\s*(?:一行|一句|内容|文本|文字)?\s*[:：]?\s*(?<text>.+)`,
    addition,
    'text',
  ),
  rule(
    String.raw`(?:把|将)\s*(?<text>.+?)\s*(?:追加|添加|附加|加)(?:到|至|在)\s*${FILE}\s*的?\s*${END}?`,
    addition,
  ),
  rule(
    String.raw`(?:删除|删掉|删去|移除)\s*${FILE}|(?:把|将)\s*${FILE.replaceAll('?<', '?<in_')}\s*(?:删除|删掉|移除)掉?`,
    (match) => withPath(match, (file) => ({ kind: 'delete', file })),
  ),
  rule(
    String.raw`(?:读取|读一下|读|显示|看看|看一下|查看|打开|打印)\s*(?:一下)?\s*${FILE}\s*(?:的?\s*(?:内容|文本))?|${FILE.replaceAll('?<', '?<in_')}\s*(?:里面?|中)\s*(?:有|写了?|是)(?:些|着)?什么`,
    (match) => withPath(match, (file) => ({ kind: 'read', file })),
  ),
  rule(
    String.raw`(?:运行|执行|跑一下|跑)\s*(?:一下)?\s*(?:命令)?\s*[:：]?\s*(?<command>.+)`,
    (match) => {
      const command = match.command('command').trim()
      return command === '' ? undefined : { kind: 'run', command }
    },
    'command',
  ),
]

/** Whether a piece that is no request is a question. */
export const CHINESE_QUESTION: RegExp =
  /[?？吗呢]\s*$|什么|哪|谁|怎么|怎样|多少|几[个次点岁]|为何|为什么|如何|是不是|有没有|告诉我/u

function withPath(match: Match, step: (file: string) => Step): Step | undefined {
  const file = match.path()
  return file === undefined ? undefined : step(file)
}

function replacement(match: Match): Step | undefined {
  const everywhere = match.has('all') || match.has('every')
  if (match.text('from') === '') return undefined
  return withPath(match, (file) => ({
    kind: 'replace',
    file,
    from: match.text('from'),
    to: match.text('to'),
    everywhere,
  }))
}

function addition(match: Match): Step | undefined {
  return withPath(match, (file) => ({ kind: 'append', file, text: match.text('text') }))
}
