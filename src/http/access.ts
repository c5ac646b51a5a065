import type { ApiPart } from '../model/access-tokens.ts'

/**
 * Access to a route, as plain data beside its contract (docs/decisions/0067). `http/guard.ts` enforces it before
 * a byte of the body is read; OpenAPI and docs/reference/access.md are made of it.
 */
export type Access = ReadAccess | ChangeAccess

/** The callers who may use a route. */
type Who =
  | 'anybody'
  | 'eperson'
  | 'administrator'
  | {
      /** The right that the handler looks up, completing "Callers may …". */
      readonly handlerDecides: string
      /** True if anonymous callers are refused before the handler decides. */
      readonly login: boolean
    }

/** The tokens that a route accepts. It accepts the token of a login in any case. */
interface Tokens {
  /** True if a short-lived token in the address may authenticate the request. */
  readonly shortLived: boolean
  /**
   * The part of the API that the scope of an access token must include. `any`: no part is needed; `none`: no
   * access token is accepted; `anonymous`: an access token counts as no token.
   */
  readonly access: ApiPart | 'any' | 'none' | 'anonymous'
}

interface Common {
  readonly who: Who
  /** Completes "Only administrators may …". */
  readonly to?: string
  /** `ignored`: the route is outside the scope that authenticates the caller. */
  readonly tokens: Tokens | 'ignored'
  /** `ignored`: the header X-On-Behalf-Of has no effect. */
  readonly onBehalf: 'possible' | 'refused' | 'ignored'
}

export interface ReadAccess extends Common {
  readonly does: 'read'
}

export interface ChangeAccess extends Common {
  /** `ask`: the request only reads, though it has a body, so an access token for GET may send it. */
  readonly does: 'change' | 'ask'
  readonly csrf: 'required' | { readonly not: string }
  readonly body: Body
}

export type Body =
  /** `ignored`: a body makes no difference. `unused`: a body is read, within the limit for all, and not used. */
  'ignored' | 'unused' | TakenBody

interface TakenBody {
  /** Media types that the handler takes. */
  readonly types: readonly string[]
  /** Bytes, or the setting that limits them. */
  readonly limit: number | `CARREL_${string}`
  /** True if the body may be missing. */
  readonly optional: boolean
}

/** Maximum size of a body in bytes where a route states no other (L7). */
export const smallBody = 16 * 1024

/** @returns a right of logged-in callers that the handler decides */
export const rightTo = (handlerDecides: string) => ({ handlerDecides, login: true }) as const
/** @returns a right that anonymous callers may have, too */
export const openRightTo = (handlerDecides: string) => ({ handlerDecides, login: false }) as const

type More<A> = Partial<Omit<A, 'does' | 'who' | 'body' | 'tokens'>>
/** Access with the type of those who may use the route, from which the type of its caller follows. */
type For<A extends Access, W, M> = A & {
  readonly who: W
  readonly onBehalf: M extends { readonly onBehalf: infer O } ? O : 'possible'
}

export const reads = <W extends Who, const M extends More<ReadAccess>>(
  who: W,
  access: Tokens['access'],
  more?: M,
) => {
  const usual = { does: 'read', who, tokens: { shortLived: true, access }, onBehalf: 'possible' } as const
  return { ...usual, ...more } as For<ReadAccess, W, M>
}

export const changes = <W extends Who, const M extends More<ChangeAccess>>(
  who: W,
  access: Tokens['access'],
  body: Body,
  more?: M,
) => {
  const usual = { ...reads(who, access), does: 'change', tokens: { shortLived: false, access } } as const
  return { ...usual, csrf: 'required', body, ...more } as For<ChangeAccess, W, M>
}

export const withoutCsrf = (not: string, access: ChangeAccess): ChangeAccess => ({ ...access, csrf: { not } })

export const acceptsShortLived = <A extends Access>(access: A): A =>
  access.tokens === 'ignored' ? access : { ...access, tokens: { ...access.tokens, shortLived: true } }

export const refusesShortLived = <A extends Access>(access: A): A =>
  access.tokens === 'ignored' ? access : { ...access, tokens: { ...access.tokens, shortLived: false } }

/** Access to a route outside the scope that authenticates the caller. */
export const outside = (who: Who = 'anybody'): ReadAccess => ({
  does: 'read',
  who,
  tokens: 'ignored',
  onBehalf: 'ignored',
})

const of = (types: readonly string[], limit: number): TakenBody => ({ types, limit, optional: false })
export const jsonOf = (limit = smallBody): TakenBody => of(['application/json'], limit)
export const patchOf = (limit = smallBody): TakenBody =>
  of(['application/json-patch+json', 'application/json'], limit)
export const urisOf = (limit = smallBody): TakenBody => of(['text/uri-list'], limit)
export const formOf = (limit = smallBody): TakenBody => of(['application/x-www-form-urlencoded'], limit)
/** A body that may be missing. */
export const optional = (body: TakenBody): TakenBody => ({ ...body, optional: true })

/** The body that the handler takes, if it takes one. */
export const takenBody = (access: Access): TakenBody | undefined =>
  access.does !== 'read' && typeof access.body === 'object' ? access.body : undefined

/** True if the caller must be logged in before the handler runs. */
export const needsLogin = ({ who }: Access): boolean =>
  typeof who === 'object' ? who.login : who !== 'anybody'

/** True if the guard refuses a short-lived token. */
export const takesNoShortLived = ({ tokens }: Access): boolean => tokens !== 'ignored' && !tokens.shortLived

/** True if the route needs a CSRF pair. */
export const needsCsrf = (access: Access): boolean => access.does !== 'read' && access.csrf === 'required'

/** The method that the scope of an access token must allow. */
export const methodNeeded = (access: Access, method: string): string =>
  access.does === 'change' ? method : 'GET'
