import * as cli from '@loci/cli'
import { expect, test } from 'vitest'

test('the public names', () => {
  expect(Object.keys(cli)).toEqual(['runCli'])
})
