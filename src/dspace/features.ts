import type { Config } from '../config/config.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import { type Eperson, passwordMethod } from '../model/accounts.ts'
import type { Viewer } from '../model/readers.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Repository } from '../storage/repository.ts'
import { itemFeatures } from './item-features.ts'

/**
 * What somebody may do with an object, as DSpace's clients ask for it: a table with an entry for each feature. A client
 * shows a button where a feature is granted, so each is granted exactly where the button works (Z1).
 */
export interface Feature {
  readonly id: string
  readonly description: string
  readonly resourcetypes: readonly ResourceType[]
  readonly may: (who: Who, resource: Resource, parts: FeatureParts) => Awaitable<boolean>
}

/** Kinds of objects that a client can ask about. */
export type ResourceType = 'site' | 'eperson' | 'group' | 'item' | 'bundle' | 'bitstream'

/** An object that a client asks about. */
export interface Resource {
  readonly type: ResourceType
  /** In lower case. */
  readonly uuid: string
}

/** Whose rights they are. */
export interface Who {
  readonly administrator: boolean
  /** The eperson, if they act for themselves; null for an anonymous user, and while an administrator acts as them. */
  readonly self: Eperson | null
  /** As whom rows are seen; an anonymous user sees some, too. */
  readonly viewer: Viewer
}

export interface FeatureParts {
  readonly accounts: Pick<Accounts, 'credentials' | 'session'>
  readonly config: Pick<Config, 'loginMethods' | 'loginOnBehalfOf'>
  readonly repository: Repository
}

const ownFeatures: readonly Feature[] = [
  {
    id: 'administratorOf',
    description: 'Is an administrator of the service.',
    resourcetypes: ['site', 'eperson', 'group'],
    may: who => who.administrator,
  },
  {
    id: 'canChangePassword',
    description:
      'May change the password of this eperson: their own, if they have one and may log in with it.',
    resourcetypes: ['eperson'],
    // The same conditions as for `PATCH`.
    may: async ({ self }, { uuid }, { accounts, config }) => {
      if (self?.uuid !== uuid || !config.loginMethods.includes(passwordMethod)) return false
      const known = await accounts.credentials(self.email)
      return known !== undefined && known.passwordHash !== null
    },
  },
  {
    id: 'canManageGroups',
    description: 'May list all groups and their members.',
    resourcetypes: ['site'],
    // DSpace's interface shows its pages for people and groups to those who have this.
    may: who => who.administrator,
  },
  {
    id: 'loginOnBehalfOf',
    description: 'May act on behalf of others, or of this eperson (X-On-Behalf-Of).',
    resourcetypes: ['site', 'eperson'],
    may: async (who, { type, uuid }, { accounts, config }) => {
      if (!config.loginOnBehalfOf || !who.administrator) return false
      if (type === 'site') return true
      // B2: nobody acts on behalf of an administrator, or of somebody who may not log in.
      const target = await accounts.session(uuid)
      return target !== undefined && !target.administrator
    },
  },
]

/** Features of the same id are one, for all of their kinds of objects. */
const merged = ([first, ...others]: readonly Feature[]): readonly Feature[] => {
  if (!first) return []
  const all = [first, ...others]
  return [
    {
      id: first.id,
      description: all.map(({ description }) => description).join(' '),
      resourcetypes: all.flatMap(({ resourcetypes }) => resourcetypes),
      may: (who, resource, parts) =>
        all.find(({ resourcetypes }) => resourcetypes.includes(resource.type))?.may(who, resource, parts) ??
        false,
    },
  ]
}

export const features: readonly Feature[] = [
  ...Map.groupBy([...ownFeatures, ...itemFeatures], ({ id }) => id).values(),
]
  .flatMap(merged)
  .toSorted((one, other) => (one.id < other.id ? -1 : 1))
