import { memo } from '../lib/memo.ts'
import type { Config } from './config.ts'
import { providersIn } from './providers.ts'

export type SpecialGroupConfig = Pick<Config, 'ipGroups' | 'methodGroups' | 'singleSignOn'>

/** Lists all special groups: given by network, by login method or by the attributes of a provider. */
export const specialGroupNames = memo((rules: SpecialGroupConfig): ReadonlySet<string> => {
  const { ipGroups, methodGroups, singleSignOn } = rules
  const all = [...ipGroups, ...methodGroups, ...providersIn(singleSignOn).flatMap(({ groups }) => groups)]
  return new Set(all.map(({ group }) => group))
})
