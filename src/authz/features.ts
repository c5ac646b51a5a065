import type { Config } from '../config/config.ts'

/** What somebody may do with something, as DSpace's clients ask for it: a table, one entry for each feature there is. */
export interface Feature {
  readonly id: string
  readonly description: string
  readonly resourcetypes: readonly ResourceType[]
  readonly may: (who: Who, config: FeatureConfig) => boolean
}

/** Kinds of things that a client can ask about. */
export type ResourceType = 'site' | 'eperson' | 'group'

/** Whose rights are looked at; null: somebody who is not logged in. */
export type Who = { readonly administrator: boolean } | null

export type FeatureConfig = Pick<Config, 'loginOnBehalfOf'>

export const features: readonly Feature[] = [
  {
    id: 'administratorOf',
    description: 'Whether somebody is an administrator of the service.',
    resourcetypes: ['site', 'eperson', 'group'],
    may: who => who?.administrator === true,
  },
  {
    id: 'loginOnBehalfOf',
    description: 'Whether somebody may act on behalf of others (X-On-Behalf-Of).',
    resourcetypes: ['site', 'eperson'],
    may: (who, { loginOnBehalfOf }) => loginOnBehalfOf && who?.administrator === true,
  },
]
