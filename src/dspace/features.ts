import { type Config, specialGroupNames } from '../config/config.ts'
import { itemFeatures } from '../items/features.ts'
import type { Repository } from '../items/statements/repository.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import { administratorGroup, type Eperson, passwordMethod } from '../model/accounts.ts'
import type { Viewer } from '../model/readers.ts'
import type { People } from '../people/statements.ts'
import type { Sessions } from '../storage/statements/sessions.ts'

/**
 * A right to an object, as DSpace's clients ask for it. The table has an entry for each feature. A client
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
  /** UUID in lower case. */
  readonly uuid: string
}

/** The user whose rights are asked for. */
export interface Who {
  readonly administrator: boolean
  /** The eperson, if they act for themselves; null for an anonymous user, and while an administrator acts as them. */
  readonly self: Eperson | null
  /** The viewer of rows; an anonymous user sees some, too. */
  readonly viewer: Viewer
}

export interface FeatureParts {
  readonly people: Pick<People, 'canRemoveEperson' | 'canRemoveGroup' | 'credentials' | 'eperson' | 'group'>
  readonly sessions: Pick<Sessions, 'of'>
  readonly config: Pick<
    Config,
    'loginMethods' | 'mail' | 'loginOnBehalfOf' | 'ipGroups' | 'methodGroups' | 'singleSignOn'
  >
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
      'May change the password of this eperson: their own, if they have one and may log in with it; administrators that of everybody else.',
    resourcetypes: ['eperson'],
    // These are the conditions of `PATCH`.
    may: async ({ administrator, self }, { uuid }, { people, config }) => {
      if (self?.uuid !== uuid) return administrator && (await people.eperson(uuid)) !== undefined
      if (!config.loginMethods.includes(passwordMethod)) return false
      const known = await people.credentials(self.email)
      return known !== undefined && known.passwordHash !== null
    },
  },
  {
    id: 'canDelete',
    description: 'May delete this eperson or this group.',
    resourcetypes: ['eperson', 'group'],
    may: async ({ administrator }, { type, uuid }, { config, people }) => {
      if (!administrator) return false
      if (type === 'eperson') return people.canRemoveEperson(uuid)
      const group = await people.group(uuid)
      const isFixed = group?.name === administratorGroup || specialGroupNames(config).has(group?.name ?? '')
      return group !== undefined && !isFixed && people.canRemoveGroup(uuid)
    },
  },
  {
    id: 'canManageGroups',
    description: 'May list, add, change and delete epersons and groups.',
    resourcetypes: ['site'],
    // DSpace's interface shows its pages for people and groups to users with this feature.
    may: who => who.administrator,
  },
  {
    id: 'canManageGroup',
    description: 'May change the members of this group.',
    resourcetypes: ['group'],
    may: async ({ administrator }, { uuid }, { people }) =>
      administrator && (await people.group(uuid)) !== undefined,
  },
  {
    id: 'epersonForgotPassword',
    description: 'May ask for a new password by mail.',
    resourcetypes: ['site'],
    may: (_who, _resource, { config }) => sendsMail(config),
  },
  {
    id: 'epersonRegistration',
    description: 'May register themselves by mail.',
    resourcetypes: ['site'],
    may: (_who, _resource, { config }) => sendsMail(config) && config.mail?.registration === true,
  },
  {
    id: 'isCollectionAdmin',
    description: 'Is an administrator of a collection. Carrel has no collections.',
    resourcetypes: ['site'],
    may: () => false,
  },
  {
    id: 'isCommunityAdmin',
    description: 'Is an administrator of a community. Carrel has no communities.',
    resourcetypes: ['site'],
    may: () => false,
  },
  {
    id: 'loginOnBehalfOf',
    description: 'May act on behalf of others, or of this eperson (X-On-Behalf-Of).',
    resourcetypes: ['site', 'eperson'],
    may: async (who, { type, uuid }, { sessions, config }) => {
      if (!config.loginOnBehalfOf || !who.administrator) return false
      if (type === 'site') return true
      // B2: an administrator can't act on behalf of another one, or of an eperson who may not log in.
      const target = await sessions.of(uuid)
      return target !== undefined && !target.administrator
    },
  },
]

/** True if the service sends mail for registrations and new passwords. Their addresses have the same condition. */
const sendsMail = ({ mail, loginMethods }: FeatureParts['config']): boolean =>
  mail !== null && loginMethods.includes(passwordMethod)

/** Merges features with the same id into one for all of their kinds of objects. */
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
