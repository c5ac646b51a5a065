import { isLoopbackName } from '../lib/addresses.ts'

/** Single sign-on as the configuration file has it: checked against the published schema, secrets read in. */
export interface SingleSignOnConfig {
  readonly defaultRedirectUrl: string
  readonly saml: SamlServiceProvider
  readonly providers: readonly ProviderConfig[]
  /** Who verifies passwords besides the service itself. */
  readonly directory: LdapConfig | null
  /** Ids of those whose scheme is not among the methods. */
  readonly switchedOff: readonly string[]
}

export interface SamlServiceProvider {
  readonly entityId: string
  /** Both PEM; null: requests aren't signed and nothing can be decrypted. */
  readonly keys: { readonly privateKey: string; readonly certificate: string } | null
  /** Seconds. */
  readonly clockSkew: number
}

/** All that are switched on, in no particular order. */
export const providersIn = (config: SingleSignOnConfig | null): readonly AnyProvider[] =>
  config === null ? [] : [...config.providers, ...(config.directory === null ? [] : [config.directory])]

/** Where browsers are sent. */
export type ProviderConfig = SamlConfig | OidcConfig | ProxyConfig
/** Who can vouch for somebody. */
export type AnyProvider = ProviderConfig | LdapConfig

interface Provider {
  readonly id: string
  readonly name: string
  /** Of WWW-Authenticate, and so the login method. */
  readonly scheme: string
  readonly attributes: {
    readonly subject: string
    readonly email?: string
    readonly firstName?: string
    readonly lastName?: string
    readonly emailVerified?: string
  }
  readonly email: {
    readonly verified: 'always' | 'claim' | 'scope' | 'never'
    readonly domains?: readonly string[]
    readonly match: boolean
  }
  readonly create: boolean
  readonly require: readonly Condition[]
  readonly groups: readonly GroupRule[]
}

export interface GroupRule extends Condition {
  readonly group: string
}

export interface Condition {
  readonly attribute: string
  /** The value, or a pattern of the whole value. */
  readonly matches: string | RegExp
}

/** What is asked of a sign-on at the provider itself (docs/decisions/0032). */
interface Freshness {
  /** Seconds since the person signed in there. */
  readonly maxAge?: number
  /** Whether it may be asked without showing anything. */
  readonly silent: boolean
}

export interface SamlConfig extends Provider, Freshness {
  readonly kind: 'saml'
  readonly metadata: MetadataConfig
  readonly entityId?: string
  readonly nameIdFormat?: string
  /** Classes of AuthnContext, one of which is required. */
  readonly authnContext?: readonly string[]
  /** It stands for all identity providers in its metadata that these rules let in. */
  readonly federation?: FederationConfig
}

/** Where the metadata of a SAML provider is. */
export type MetadataConfig = {
  /** PEM: one of their keys must have signed it. Empty: the signature isn't checked. */
  readonly certificates: readonly string[]
} & (
  | { readonly from: 'file'; readonly path: string }
  /** @property refresh in seconds */
  | { readonly from: 'address'; readonly url: string; readonly refresh: number }
  /** MDQ: one entity a request. */
  | { readonly from: 'query'; readonly url: string }
)

export interface FederationConfig {
  /** One of these must have registered it; null: any. */
  readonly requireRegistrationAuthority: readonly string[] | null
  /** It must have all of these. */
  readonly requireEntityAttributes: readonly { readonly name: string; readonly value: string }[]
  /** Of an external discovery service. */
  readonly discoveryUrl?: string
  /** Attributes whose values end in @ and a scope. */
  readonly scopedAttributes: readonly string[]
}

export interface OidcConfig extends Provider, Freshness {
  readonly kind: 'oidc'
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | null
  readonly clientAuthentication: 'basic' | 'post'
  readonly scopes: readonly string[]
  readonly userInfo: boolean
  /** One of these is required as the claim `acr`. */
  readonly acrValues?: readonly string[]
  readonly frontChannelLogout: boolean
  /** The `typ` that a logout token needs. */
  readonly logoutTokenType: 'logout+jwt' | 'any'
  readonly parameters: Readonly<Record<string, string>>
}

export interface ProxyConfig extends Provider {
  readonly kind: 'proxy'
  readonly addresses: readonly string[]
  /** In lower case. */
  readonly secretHeader: string
  readonly secret: string
  readonly separator: string
  readonly loginUrl?: string
  readonly logoutUrl?: string
}

export interface LdapConfig extends Provider {
  readonly kind: 'ldap'
  /** All of the same directory, in the order in which they are asked. */
  readonly servers: readonly LdapServer[]
  readonly find: FindByName | FindBySearch
  /** Finds the groups that name a person; null: the person's entry names them. */
  readonly groupSearch: SearchPlace | null
  /** Certificates (PEM) that are trusted, and no others; null: those that Node trusts. */
  readonly ca: string | null
  /** How long one server may take for one login, in ms. */
  readonly timeout: number
  /** How many logins may be at the directory at a time. */
  readonly connections: number
}

export interface LdapServer {
  readonly host: string
  readonly port: number
  readonly security: 'tls' | 'start-tls' | 'none'
}

/** The name of an entry contains what the person types. */
export interface FindByName {
  readonly kind: 'name'
  /** A DN with `{user}`. */
  readonly dn: string
}

/** A search finds the entry. */
export interface FindBySearch extends SearchPlace {
  readonly kind: 'search'
  /** Who searches; null: nobody in particular. */
  readonly account: { readonly dn: string; readonly password: string } | null
}

export interface SearchPlace {
  /** A DN. */
  readonly base: string
  /** With `{user}`, or `{dn}` for groups. */
  readonly filter: string
}

/** Whether an address is on this machine, where http is as good as https. */
export const isLoopback = (url: string): boolean => isLoopbackName(URL.parse(url)?.hostname ?? '')

/** Of an address that is kept in a cookie. */
const longestAddress = 2_000

/**
 * Where a browser may be sent (X2): only to origins on the list. The address is read by the URL parser that browsers
 * use, and what is given back is what was read, so that no two readings can differ.
 */
export function allowedAddress(
  given: string,
  { allowedOrigins, baseUrl }: { readonly allowedOrigins: readonly string[]; readonly baseUrl: string },
): string | undefined {
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol)) return undefined
  if (url.origin !== new URL(baseUrl).origin && !allowedOrigins.includes(url.origin)) return undefined
  const isPlain = url.username === '' && url.password === '' && url.href.length <= longestAddress
  return isPlain && /^https?:\/\/[^\\\s\p{Cc}]+$/iu.test(given) ? url.href : undefined
}
