import type { Config } from '../config/config.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import { type Eperson, passwordMethod } from '../model/accounts.ts'
import { admits, today, type Viewer } from '../model/readers.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Repository } from '../storage/repository.ts'

/** What somebody may do with something, as DSpace's clients ask for it: a table, one entry for each feature there is. */
export interface Feature {
  readonly id: string
  readonly description: string
  readonly resourcetypes: readonly ResourceType[]
  readonly may: (who: Who, resource: Resource, parts: FeatureParts) => Awaitable<boolean>
}

/** Kinds of things that a client can ask about. */
export type ResourceType = 'site' | 'eperson' | 'group' | 'bitstream'

/** Something that a client asks about. */
export interface Resource {
  readonly type: ResourceType
  /** In lower case. */
  readonly uuid: string
}

/** Whose rights are looked at. */
export interface Who {
  readonly administrator: boolean
  /** Who acts for itself; null: nobody who is logged in, or somebody else acts on behalf of it. */
  readonly self: Eperson | null
  /** As whom rows are seen; somebody who is not logged in sees some too. */
  readonly viewer: Viewer
}

export interface FeatureParts {
  readonly accounts: Pick<Accounts, 'credentials'>
  readonly config: Pick<Config, 'loginMethods' | 'loginOnBehalfOf'>
  readonly repository: Repository
}

export const features: readonly Feature[] = [
  {
    id: 'administratorOf',
    description: 'Whether somebody is an administrator of the service.',
    resourcetypes: ['site', 'eperson', 'group'],
    may: who => who.administrator,
  },
  {
    id: 'canChangePassword',
    description:
      'Whether somebody may change the password of an eperson: its own, where it has one and may log in with it.',
    resourcetypes: ['eperson'],
    // DSpace's interface shows its form to whom this is granted: to exactly those whom `PATCH` lets through.
    may: async ({ self }, { uuid }, { accounts, config }) => {
      if (self?.uuid !== uuid || !config.loginMethods.includes(passwordMethod)) return false
      const known = await accounts.credentials(self.email)
      return known !== undefined && known.passwordHash !== null
    },
  },
  {
    id: 'canDownload',
    description: 'Whether somebody may read the content of a file.',
    resourcetypes: ['bitstream'],
    may: async ({ viewer }, { uuid }, { repository }) => {
      const bitstream = await repository.bitstream(uuid)
      return bitstream !== undefined && admits(bitstream.readers, viewer, today())
    },
  },
  {
    id: 'loginOnBehalfOf',
    description: 'Whether somebody may act on behalf of others (X-On-Behalf-Of).',
    resourcetypes: ['site', 'eperson'],
    may: (who, _resource, { config }) => config.loginOnBehalfOf && who.administrator,
  },
]
