export { IgnoreRules, loadRulesAbove, readRules } from './ignore-rules.ts'
