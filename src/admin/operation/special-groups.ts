import type { FastifyInstance } from 'fastify'
import { createSessionAge, type SessionLifetimes } from '../../authn/session-age.ts'
import { networkOf, type SpecialGroupRule, type SpecialGroups } from '../../authn/special-groups.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { badParameter, type Query, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { readUuid } from '../../lib/uuids.ts'
import type { People } from '../../people/statements.ts'
import type { ListedSession, Sessions } from '../../storage/statements/sessions.ts'
import type { Clock } from '../../storage/storage.ts'
import { toOperators } from './upkeep-routes.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly people: Pick<People, 'eperson'>
  readonly clock: Clock
  readonly config: SessionLifetimes
  readonly sessions: Pick<Sessions, 'list' | 'of'>
  readonly specialGroups: Pick<SpecialGroups, 'rules'>
}

/**
 * `GET {api}/admin/special-groups`: the rules that give special groups, and the sessions of an eperson to
 * which they apply (OP9).
 */
export function specialGroupRoutes(
  app: FastifyInstance,
  { clock, config, people, sessions, specialGroups: { rules } }: Parts,
): void {
  const age = createSessionAge(clock, config)

  routesOf(app).get('/special-groups', route('listSpecialGroupRules', toOperators), async request => {
    const { eperson } = singleParameters(request.query as Query, ['eperson'])
    if (eperson === undefined) return { rules }
    const alive = await sessionsOf(eperson)
    return {
      rules: rules.map(rule => ({
        ...rule,
        sessions: alive.flatMap(one => {
          const gives = givesTo(rule, one)
          return gives === 'no' ? [] : [{ ...described(one), gives }]
        }),
      })),
    }
  })

  /**
   * Lists the eperson's sessions that have not ended. @throws Problem 400 if it is no UUID, 404 if there is
   * no such eperson
   */
  async function sessionsOf(given: string): Promise<readonly ListedSession[]> {
    const uuid = readUuid(given)
    if (uuid === undefined)
      throw badParameter('eperson', given, 'The parameter eperson must be the UUID of an eperson.')
    if (!(await people.eperson(uuid))) throw new Problem('not-found', 'There is no eperson with this UUID.')
    const session = await sessions.of(uuid)
    const all = session ? await sessions.list(session) : []
    return all.filter(({ begun, expires }) => Math.min(expires, age.endOf(begun)) > clock.now())
  }
}

const described = ({ begun, method, used, used_network }: ListedSession) => ({
  method,
  begun: new Date(begun).toISOString(),
  lastUsed: new Date(used).toISOString(),
  lastNetwork: used_network,
})

/**
 * Decides if a rule applies to a session. `perhaps`: only the network of the session's last use is kept, and
 * the provider's attributes are only in its token.
 */
function givesTo(rule: SpecialGroupRule, { method, used_network }: ListedSession): 'yes' | 'perhaps' | 'no' {
  if (rule.how !== 'address') return rule.method !== method ? 'no' : rule.how === 'method' ? 'yes' : 'perhaps'
  return used_network !== null && meet(rule.ranges, used_network) ? 'perhaps' : 'no'
}

/** True if an address of the network may be in one of the ranges. */
function meet(ranges: readonly string[], network: string): boolean {
  const inside = ranges.filter(range => !range.startsWith('!'))
  const outside = ranges.filter(range => range.startsWith('!')).map(range => range.slice(1))
  return (
    inside.some(range => contains(range, network) || contains(network, range)) &&
    !outside.some(range => contains(range, network))
  )
}

function contains(range: string, other: string): boolean {
  const [address = '', length] = other.split('/')
  const [, own] = range.split('/')
  const longest = address.includes(':') ? 128 : 32
  return Number(own ?? longest) <= Number(length ?? longest) && networkOf([range])(address)
}
