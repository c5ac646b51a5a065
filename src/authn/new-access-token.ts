import { bodyChecks } from '../http/check-body.ts'
import { Problem } from '../http/problems.ts'
import { apiParts, type Scope } from '../model/access-tokens.ts'

const checked = bodyChecks(() => import('./contracts.ts'), 'access-token-invalid')

/** A new access token as its owner wants it, checked. */
interface WantedToken {
  readonly name: string
  readonly scope: Scope
  readonly networks: readonly string[]
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** Limits of a token's end. Times are in milliseconds since 1970. */
interface Bounds {
  readonly now: number
  /** Maximum lifetime in ms. */
  readonly longest: number
}

/** Default lifetime in ms. */
const usual = 30 * 24 * 3600 * 1000

/** Reads a new access token, given by a client or a command. @throws Problem 422 */
export async function readToken(given: unknown, { now, longest }: Bounds): Promise<WantedToken> {
  const wanted = await checked('addAccessToken', given)
  const { name, methods, entities, networks, expires } = wanted
  const parts = wanted.parts ?? (entities ? ['query'] : apiParts)
  if (entities && parts.some(part => part !== 'query'))
    throw invalid('parts', 'With entities, parts must be ["query"]: entities limit nothing else.')
  return {
    name: name.trim(),
    scope: {
      methods: different(methods ?? ['GET']),
      parts: different(parts),
      entities: entities ? different(entities) : null,
    },
    networks: different(networks ?? []),
    expires: expires == null ? now + Math.min(usual, longest) : expiryOf(expires, now, longest),
  }
}

const invalid = (member: string, detail: string) =>
  new Problem('access-token-invalid', detail, { members: { member: `/${member}` } })

const different = <T>(list: readonly T[]): readonly T[] => [...new Set(list)]

function expiryOf(text: string, now: number, longest: number): number {
  const time = Date.parse(text)
  if (time > now && time <= now + longest) return time
  throw invalid(
    'expires',
    `expires must be a time such as ${new Date(now + Math.min(usual, longest)).toISOString()}, in the future and not after ${new Date(now + longest).toISOString()} (CARREL_ACCESS_TOKEN_LIFETIME).`,
  )
}
