import type { Config } from './config.ts'
import { providersIn } from './providers.ts'

export type SpecialGroupConfig = Pick<Config, 'ipGroups' | 'methodGroups' | 'singleSignOn'>

const known = new WeakMap<SpecialGroupConfig, ReadonlySet<string>>()

/** The groups that special groups name: by network, by login method or by what a provider says. */
export function specialGroupNames(rules: SpecialGroupConfig): ReadonlySet<string> {
  const before = known.get(rules)
  if (before) return before
  const { ipGroups, methodGroups, singleSignOn } = rules
  const all = [...ipGroups, ...methodGroups, ...providersIn(singleSignOn).flatMap(({ groups }) => groups)]
  const names = new Set(all.map(({ group }) => group))
  known.set(rules, names)
  return names
}
