import { writes as general } from './account-changes.ts'
import { signOnWrites } from './identity-changes.ts'
import { repositoryWrites } from './repository-changes.ts'

/** All that the one writer runs. */
export const writes = { ...general, ...signOnWrites, ...repositoryWrites }
