import * as disk from '@loci/disk'
import * as project from '@loci/disk/project'
import * as testing from '@loci/disk/testing'
import { expect, test } from 'vitest'

test('the public names', () => {
  expect(Object.keys(disk).toSorted()).toEqual([
    'LociError',
    'OPEN_APPEND',
    'OPEN_PROMPTLY',
    'OPEN_REGULAR',
    'acquireLease',
    'appendRecords',
    'appendRecordsNow',
    'applyCarry',
    'breakLease',
    'cloneFile',
    'compareBytes',
    'createFileAtomic',
    'errorMessage',
    'fileErrno',
    'files',
    'filesNow',
    'heldLeases',
    'isAbsent',
    'isLocalFileSystem',
    'isLociError',
    'isScratchName',
    'leaseHolder',
    'orAbsent',
    'planCarry',
    'removeQuietly',
    'resolveInside',
    'syncDirectory',
    'temporaryName',
    'walkFiles',
    'writeFileAtomic',
  ])
  expect(Object.keys(project).toSorted()).toEqual(['projectSlug', 'recordedOwner', 'resolveProjectDir'])
  expect(Object.keys(testing).toSorted()).toEqual(['faultLoop', 'setFaultHook', 'tree'])
})
