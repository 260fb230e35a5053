export { testSessionStore } from './testing/store-suite.ts'
export type { StoreAbility, StoreSuiteOptions, StoreUnderTest } from './testing/store-suite.ts'
