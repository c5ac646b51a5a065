import { isLoopbackName } from '../lib/addresses.ts'

/** Single sign-on in the configuration file, checked against the published schema, with secrets read in. */
export interface SingleSignOnConfig {
  readonly defaultRedirectUrl: string
  readonly saml: SamlServiceProvider
  readonly providers: readonly ProviderConfig[]
  /** The directory that verifies passwords besides the service itself; null if there is none. */
  readonly directory: LdapConfig | null
  /** Ids of providers whose scheme is not among the login methods. */
  readonly switchedOff: readonly string[]
}

export interface SamlServiceProvider {
  readonly entityId: string
  /** Key and certificate in PEM; null if requests aren't signed and nothing can be decrypted. */
  readonly keys: { readonly privateKey: string; readonly certificate: string } | null
  /** Tolerated clock skew in seconds. */
  readonly clockSkew: number
}

/** Lists all providers that are switched on, in no particular order. */
export const providersIn = (config: SingleSignOnConfig | null): readonly AnyProvider[] =>
  config === null ? [] : [...config.providers, ...(config.directory === null ? [] : [config.directory])]

/** A provider to which browsers are sent. */
export type ProviderConfig = SamlConfig | OidcConfig | ProxyConfig
/** A provider that can authenticate a user. */
export type AnyProvider = ProviderConfig | LdapConfig

interface Provider {
  readonly id: string
  readonly name: string
  /** The scheme in WWW-Authenticate, which is also the login method. */
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

/** Requirements for a sign-on at the provider itself (docs/decisions/0032). */
interface Freshness {
  /** Maximum time in seconds since the person signed in there. */
  readonly maxAge?: number
  /** True if the provider may be asked without showing anything to the user. */
  readonly silent: boolean
}

export interface SamlConfig extends Provider, Freshness {
  readonly kind: 'saml'
  readonly metadata: MetadataConfig
  readonly entityId?: string
  readonly nameIdFormat?: string
  /** Classes of AuthnContext, one of which is required. */
  readonly authnContext?: readonly string[]
  /** Rules of a federation: the entry stands for all identity providers in its metadata that they let in. */
  readonly federation?: FederationConfig
}

/** The place of a SAML provider's metadata. */
export type MetadataConfig = {
  /**
   * Certificates in PEM, with a key of which the metadata must be signed. If empty, the signature isn't
   * checked.
   */
  readonly certificates: readonly string[]
} & (
  | { readonly from: 'file'; readonly path: string }
  /** @property refresh in seconds */
  | { readonly from: 'address'; readonly url: string; readonly refresh: number }
  /** A metadata query server (MDQ) is asked for one entity at a time. */
  | { readonly from: 'query'; readonly url: string }
)

export interface FederationConfig {
  /** Authorities, one of which must have registered the identity provider; null for any. */
  readonly requireRegistrationAuthority: readonly string[] | null
  /** Entity attributes, all of which the identity provider must have. */
  readonly requireEntityAttributes: readonly { readonly name: string; readonly value: string }[]
  /** Address of an external discovery service. */
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
  /** Values of the claim `acr`, one of which is required. */
  readonly acrValues?: readonly string[]
  readonly frontChannelLogout: boolean
  /** The `typ` that a logout token needs. */
  readonly logoutTokenType: 'logout+jwt' | 'any'
  readonly parameters: Readonly<Record<string, string>>
}

export interface ProxyConfig extends Provider {
  readonly kind: 'proxy'
  readonly addresses: readonly string[]
  /** Name of the header with the secret, in lower case. */
  readonly secretHeader: string
  readonly secret: string
  readonly separator: string
  readonly loginUrl?: string
  readonly logoutUrl?: string
}

export interface LdapConfig extends Provider {
  readonly kind: 'ldap'
  /** Servers of the same directory, in the order in which they are asked. */
  readonly servers: readonly LdapServer[]
  readonly find: FindByName | FindBySearch
  /** Search for the groups that name a person; null if the person's entry names them. */
  readonly groupSearch: SearchPlace | null
  /** The only trusted certificates (PEM); null for those that Node trusts. */
  readonly ca: string | null
  /** Time limit for one login at one server, in ms. */
  readonly timeout: number
  /** Maximum number of logins at the directory at the same time. */
  readonly connections: number
}

export interface LdapServer {
  readonly host: string
  readonly port: number
  readonly security: 'tls' | 'start-tls' | 'none'
}

/** Finds an entry by its name, which contains what the person types. */
interface FindByName {
  readonly kind: 'name'
  /** A DN with `{user}`. */
  readonly dn: string
}

/** Finds an entry by a search. */
interface FindBySearch extends SearchPlace {
  readonly kind: 'search'
  /** The account that searches; null for an anonymous search. */
  readonly account: { readonly dn: string; readonly password: string } | null
}

interface SearchPlace {
  /** The DN below which entries are searched. */
  readonly base: string
  /** A filter with `{user}`, or with `{dn}` for groups. */
  readonly filter: string
}

/** True for an address on this machine, where http is as good as https. */
export const isLoopback = (url: string): boolean => isLoopbackName(URL.parse(url)?.hostname ?? '')

/** Maximum length in characters of an address that is kept in a cookie. */
const longestAddress = 2_000

/**
 * Reads an address to which a browser may be sent (X2): its origin must be on the list. The address is read
 * by the URL parser that browsers use, and the result is what was read, so that no two readings can differ.
 * @returns undefined for any other address
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
