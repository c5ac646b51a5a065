import type { SpecialGroups } from '../../authn/special-groups.ts'
import { networkOf, withoutRepeats } from '../../authn/special-groups.ts'
import type { Config } from '../../config/config.ts'
import { badParameter } from '../../http/parameters.ts'
import { clientAddress } from '../../lib/addresses.ts'
import type { Group, Session } from '../../model/accounts.ts'
import type { Caller } from '../../model/caller.ts'
import type { People } from '../../people/statements.ts'

interface Parts {
  readonly people: Pick<People, 'groupsByUuid' | 'membershipsOf'>
  readonly config: Pick<Config, 'ipGroups' | 'loginMethods' | 'methodGroups'>
  readonly specialGroups: SpecialGroups
}

/** The origin of the request that is asked about: its address and its login method. */
interface Way {
  /** The client's address; null for one that gives no groups. */
  readonly address: string | null
  /** The login method; null for one that gives no groups. */
  readonly method: string | null
}

/** Reads the origin of a request. @throws Problem 400 */
export function wayOf(
  { address, method }: { readonly address?: string; readonly method?: string },
  { loginMethods }: Pick<Config, 'loginMethods'>,
): Way {
  const ip = address === undefined ? null : clientAddress(address)
  if (address !== undefined && ip === null)
    throw badParameter('address', address, 'The parameter address must be an IP address.')
  if (method !== undefined && !loginMethods.includes(method))
    throw badParameter('method', method, 'Nobody logs in with this method here.', { legal: loginMethods })
  return { address: ip, method: method ?? null }
}

/**
 * The caller that a request of the eperson would have, as `authenticate` makes it. @param session null if the
 * eperson can't log in
 */
export async function callerWith(
  session: Session | null,
  { address, method }: Way,
  { people, specialGroups }: Parts,
): Promise<Caller> {
  const ofAddress = await specialGroups.ofAddress(address)
  if (session === null) return { kind: 'anonymous', specialGroups: ofAddress }
  const sg = method === null ? [] : specialGroups.ofLogin(method)
  const ofLogin = sg.length === 0 ? [] : await people.groupsByUuid(sg)
  return {
    kind: 'eperson',
    session,
    sg,
    begun: 0,
    ends: Number.POSITIVE_INFINITY,
    method: method ?? 'password',
    specialGroups: withoutRepeats([...ofLogin, ...ofAddress]),
  }
}

/** The reason why an eperson is in a group. */
type Reason =
  | { readonly how: 'member' }
  /** The eperson is in this group, which is in the explained one. */
  | { readonly how: 'group'; readonly group: string }
  /** A special group of the client's network. */
  | { readonly how: 'address'; readonly ranges: readonly string[] }
  | { readonly how: 'method'; readonly method: string }

interface ExplainedGroup extends Group {
  readonly because: readonly Reason[]
}

/** Maximum number of groups listed: an eperson may be in thousands. */
const maxGroups = 1_000

/** Lists the caller's groups by name, each with its reasons. */
export async function explainedGroups(
  caller: Caller,
  { address, method }: Way,
  { config, people }: Parts,
): Promise<{ readonly groups: readonly ExplainedGroup[]; readonly total: number }> {
  const session = caller.kind === 'anonymous' ? null : caller.session
  const all = withoutRepeats([...(session?.groups ?? []), ...caller.specialGroups]).toSorted((one, other) =>
    one.name < other.name ? -1 : 1,
  )
  const special = caller.specialGroups.map(({ uuid }) => uuid)
  const { direct, inclusions } = await people.membershipsOf(session?.eperson.uuid ?? null, special)
  const names = new Map(all.map(({ uuid, name }) => [uuid, name]))
  const members = new Set(direct)
  const through = Map.groupBy(inclusions, ({ parent }) => parent)
  const reasons = ({ uuid, name }: Group): readonly Reason[] => [
    ...(members.has(uuid) ? [{ how: 'member' } as const] : []),
    ...(through.get(uuid) ?? []).flatMap(({ child }) => {
      const group = names.get(child)
      return group === undefined ? [] : [{ how: 'group', group } as const]
    }),
    ...config.ipGroups
      .filter(rule => rule.group === name && address !== null && isIn(rule.ranges, address))
      .map(({ ranges }) => ({ how: 'address', ranges }) as const),
    ...config.methodGroups
      .filter(rule => session !== null && rule.group === name && rule.method === method)
      .map(rule => ({ how: 'method', method: rule.method }) as const),
  ]
  const groups = all.slice(0, maxGroups).map(group => ({ ...group, because: reasons(group) }))
  return { groups, total: all.length }
}

/** True if the address is in the ranges, decided as in `createSpecialGroups`. */
function isIn(ranges: readonly string[], address: string): boolean {
  const inside = networkOf(ranges.filter(range => !range.startsWith('!')))
  const outside = networkOf(ranges.filter(range => range.startsWith('!')).map(range => range.slice(1)))
  return inside(address) && !outside(address)
}
