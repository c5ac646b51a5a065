import type { Config } from './config.ts'
import { providersIn } from './providers.ts'

type Rules = Pick<Config, 'ipGroups' | 'methodGroups' | 'singleSignOn'>

/** The groups that special groups name: by network, by login method or by what a provider says. */
export const specialGroupNames = ({ ipGroups, methodGroups, singleSignOn }: Rules): ReadonlySet<string> =>
  new Set(
    [...ipGroups, ...methodGroups, ...providersIn(singleSignOn).flatMap(({ groups }) => groups)].map(
      ({ group }) => group,
    ),
  )
