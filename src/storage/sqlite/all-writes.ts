import { repositoryWrites } from './repository-writes.ts'
import { signOnWrites } from './sign-on-writes.ts'
import { writes as general } from './writes.ts'

/** All that the one writer runs. */
export const writes = { ...general, ...signOnWrites, ...repositoryWrites }
