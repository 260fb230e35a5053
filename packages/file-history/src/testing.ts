export { testFileHistory } from './testing/history-suite.ts'
export type {
  HistoryAbility,
  HistoryPlace,
  HistorySuiteOptions,
  HistoryUnderTest,
} from './testing/history-suite.ts'
