import { BlockList, isIPv4 } from 'node:net'
import { type Config, specialGroupNames } from '../config/config.ts'
import { providersIn } from '../config/providers.ts'
import { clientAddress } from '../lib/addresses.ts'
import type { Awaitable } from '../lib/awaitable.ts'
import type { Group, LoginMethod } from '../model/accounts.ts'
import type { Accounts } from '../model/people.ts'
import type { GroupTree } from '../storage/statements/group-tree.ts'

/**
 * Groups that depend on the login method, the client's address or a provider's attributes (contract section
 * 6).
 */
export interface SpecialGroups {
  /**
   * Groups by client address, evaluated on every request (G1), with their parents.
   * @param sent the address as `clientAddress` takes it; null: unknown
   */
  ofAddress(sent: string | null): Awaitable<readonly Group[]>
  /** Groups by login method and by a provider's attributes, for the claim `sg` (G2). @returns ids */
  ofLogin(method: LoginMethod, names?: readonly string[]): readonly string[]
  /** The rules of the configuration, in its order. */
  readonly rules: readonly SpecialGroupRule[]
}

/** A rule that gives a special group. */
export type SpecialGroupRule = { readonly group: Group } & (
  | { readonly how: 'address'; readonly ranges: readonly string[] }
  | { readonly how: 'method'; readonly method: LoginMethod }
  /** Applies if one value of the provider's attribute equals the value or matches the pattern. */
  | ({
      readonly how: 'attribute'
      readonly provider: string
      readonly method: LoginMethod
      readonly attribute: string
    } & ({ readonly value: string } | { readonly pattern: string }))
)

/** Creates special groups from the configuration, and in the store those that don't exist. */
export async function createSpecialGroups(
  { ipGroups, methodGroups, singleSignOn }: Pick<Config, 'ipGroups' | 'methodGroups' | 'singleSignOn'>,
  people: Pick<Accounts, 'ensureGroups'>,
  { withParents }: GroupTree,
): Promise<SpecialGroups> {
  const names = [...specialGroupNames({ ipGroups, methodGroups, singleSignOn })]
  const groups = names.length === 0 ? [] : await people.ensureGroups(names)
  const named = (name: string) => groups.filter(group => group.name === name)

  const networks = ipGroups.flatMap(({ group, ranges }) =>
    named(group).map(known => ({
      group: known,
      inside: networkOf(ranges.filter(range => !range.startsWith('!'))),
      outside: networkOf(ranges.filter(range => range.startsWith('!')).map(range => range.slice(1))),
    })),
  )
  const rules: readonly SpecialGroupRule[] = [
    ...ipGroups.flatMap(({ group, ranges }) =>
      named(group).map(known => ({ group: known, how: 'address', ranges }) as const),
    ),
    ...methodGroups.flatMap(({ group, method }) =>
      named(group).map(known => ({ group: known, how: 'method', method }) as const),
    ),
    ...providersIn(singleSignOn).flatMap(({ id, scheme, groups: given }) =>
      given.flatMap(({ group, attribute, matches }) =>
        named(group).map(known => {
          const which = typeof matches === 'string' ? { value: matches } : { pattern: patternOf(matches) }
          return {
            group: known,
            how: 'attribute',
            provider: id,
            method: scheme,
            attribute,
            ...which,
          } as const
        }),
      ),
    ),
  ]
  return {
    rules,
    ofAddress: sent => {
      if (networks.length === 0 || sent === null) return none
      const ip = clientAddress(sent)
      if (ip === null) return none
      const found = networks
        .filter(({ inside, outside }) => inside(ip) && !outside(ip))
        .map(({ group }) => group)
      return found.length === 0 ? none : withParents(withoutRepeats(found))
    },
    ofLogin: (method, given = []) => {
      const ofMethod = methodGroups.filter(one => one.method === method).map(({ group }) => group)
      return withoutRepeats([...ofMethod, ...given].flatMap(named)).map(({ uuid }) => uuid)
    },
  }
}

const none: readonly Group[] = []

/**
 * The pattern as the configuration has it: reading it adds anchors, so that it matches only a whole value.
 */
const patternOf = ({ source }: RegExp) => source.replace(/^\^\(\?:(.*)\)\$$/s, '$1')

/** Keeps each group once, even if several rules gave it. */
export const withoutRepeats = (groups: readonly Group[]): readonly Group[] =>
  groups.length < 2 ? groups : [...new Map(groups.map(group => [group.uuid, group])).values()]

/**
 * Returns a function that is true for addresses in the ranges. Each address family has a list of its own: in
 * a common list, `::/0` would contain every IPv4 address, too.
 */
export function networkOf(ranges: readonly string[]): (ip: string) => boolean {
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = familyOf(address)
    if (prefix === undefined) networks[family].addAddress(address, family)
    else networks[family].addSubnet(address, Number(prefix), family)
  }
  return ip => networks[familyOf(ip)].check(ip, familyOf(ip))
}

const familyOf = (ip: string) => (isIPv4(ip) ? 'ipv4' : 'ipv6')
