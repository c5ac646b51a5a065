import { type Finding as AnyFinding, findingsIn, type Said } from '../../lib/findings.ts'
import { quantity } from '../../lib/quantities.ts'

/** One result of `carrel sso check`. `about` is a provider's id, or `carrel`. */
export type Finding = Omit<AnyFinding, 'advice'>
export type Found = Omit<Finding, 'about'>

/**
 * The English words of the findings, by their codes. A code is stable, and no other finding of `carrel doctor`
 * has it.
 */
export const words = {
  'sign-on-base-url-plain': ({ baseUrl }: { baseUrl: string }) =>
    `CARREL_BASE_URL is ${baseUrl}: passwords and tokens that are sent over http can be read on the network`,
  'provider-switched-off': ({ provider }: { provider: string }) =>
    `the provider ${provider} is switched off: its scheme is not among methods`,
  'sign-on-origins-none': () =>
    'CARREL_ALLOWED_ORIGINS is empty: after a login, browsers can return only to the service itself',
  'sign-on-origin-cross-site-plain': ({ origin, baseUrl }: { origin: string; baseUrl: string }) =>
    `${origin} is a different site from ${baseUrl}, and over http browsers do not send the login cookies across sites: use https, or the same host name`,
  'sign-on-origin-plain': ({ origin }: { origin: string }) =>
    `${origin} in CARREL_ALLOWED_ORIGINS is http: tokens that are sent there can be read on the network`,
  'return-address': ({ address }: Address) => `browsers return to ${address} by default`,
  'saml-entity-id': ({ entityId, address }: Address & { entityId: string }) =>
    `SAML entity id ${entityId}, metadata at ${address}`,
  'saml-key-none': () =>
    'no saml.privateKey: requests are not signed, and encrypted assertions cannot be read',

  'accounts-linked-only': () =>
    'neither create nor email.match is on: only epersons who are already linked can log in',
  'email-match-unverified': () =>
    'email.match with email.verified "always": anyone who can set an address at the provider can take over the eperson with that address',
  'email-claim-needed': () =>
    'creates epersons only if a claim says that their address is verified; some providers never send that claim',
  'special-groups-none': () => 'gives no special groups',

  'proxy-accepted': ({ subject, addresses }: { subject: string; addresses: readonly string[] }) =>
    `accepts ${subject} from ${addresses.join(', ')}, with the shared secret`,
  'login-path-unknown': ({ address }: Address) =>
    `${address} cannot be reached from this machine, so it is not known whether the proxy guards it`,
  'login-path-unguarded': ({ address }: Address) =>
    `the proxy does not ask for a login at ${address}: it must guard exactly this path, or loginUrl must be set`,
  'login-path-guarded': ({ address }: Address) => `${address} leads to a login`,

  'directory-unencrypted': ({ host }: { host: string }) =>
    `${host}: passwords are sent unencrypted (allowUnencrypted)`,
  'directory-anonymous': () =>
    'searches anonymously, which many directories do not allow: bindDn names an account',
  'directory-name': ({ dn }: { dn: string }) =>
    `logs people in as ${dn}; only a login shows whether there are such entries`,
  'directory-subject-dn': () =>
    'attributes.subject is the DN: it changes when a person is renamed, and the next person of that name gets their eperson',
  'directory-email-match': () =>
    'email.match: anyone who can set an address in the directory can take over the eperson with that address, unless they have a password here',
  'directory-filter-wide': ({ server }: Server) =>
    `${server}: the search finds a person by a name that is not theirs; is {user} in the filter where it counts?`,
  'directory-searched': ({ server }: Server) => `${server}: a search works`,
  'directory-reached': ({ server }: Server) => `${server}: can be reached`,
  'directory-refused': ({ server, reason }: Server & { reason: string }) => `${server}: ${reason}`,

  'issuer-found': ({ issuer }: { issuer: string }) => `issuer ${issuer}`,
  'issuer-refused': ({ issuer, reason }: { issuer: string; reason: string }) =>
    `issuer ${issuer}: ${reason} (asked at /.well-known/openid-configuration below it)`,
  'pkce-not-announced': () => 'it does not announce PKCE with S256',
  'scope-not-announced': ({ scope }: { scope: string }) => `it does not announce the scope ${scope}`,
  'acr-not-announced': ({ acr }: { acr: string }) => `it does not announce the acr ${acr}`,
  'user-info-none': () => 'it has no userinfo endpoint, and userInfo is on',
  'claims-not-announced': ({ claims }: { claims: readonly string[] }) =>
    `it does not announce the claims ${claims.join(', ')}: they may need a scope, a mapping there, or userInfo`,
  'claims-unknown': ({ claims }: { claims: readonly string[] }) =>
    `does not announce what it says about people; the configuration takes ${claims.join(', ')}`,
  'algorithms-unusable': ({ algorithms }: { algorithms: readonly string[] }) =>
    `it signs ID tokens only with ${algorithms.join(', ')}: set RS256 or ES256 for this client there`,
  'keys-published': ({ keys }: { keys: number }) => `publishes ${quantity(keys, 'key')}`,
  'keys-unreadable': ({ address }: Address) => `its keys cannot be read at ${address}`,
  'login-page-unreachable': () => 'its login page cannot be reached from this machine',
  'redirect-uri-accepted': ({ address }: Address) => `did not refuse the redirect URI ${address}`,
  'redirect-uri-unknown': ({ address }: Address) =>
    `it does not know the redirect URI ${address}: register exactly that`,
  'client-refused': ({ clientId, status }: { clientId: string; status: number }) =>
    `it refuses the client ${clientId} (status ${status}): is it registered there?`,
  'credentials-accepted': () => 'accepts the client’s credentials',
  'credentials-other-way': ({ authentication }: { authentication: string }) =>
    `it accepts the client’s credentials only another way: set clientAuthentication to "${authentication}"`,
  'credentials-refused': () =>
    'it refuses clientId with clientSecret: check both; neither basic nor post authentication works',
  'credentials-unknown': ({ answer }: { answer: string }) =>
    `its token endpoint answered ${answer} to an invalid code; expected invalid_grant`,
  'logout-page-none': () => 'has no logout page',
  'logout-page': ({ address }: Address) =>
    `has a logout page; register ${address} as post-logout redirect URI`,
  'back-channel-logout': ({ address }: Address) => `has back-channel logout; register ${address}`,
  'front-channel-logout': ({ address }: Address) =>
    `has front-channel logout; register ${address}, with its session (sid) required`,
  'front-channel-logout-not-announced': () =>
    'frontChannelLogout is on, and it does not announce front-channel logout with a session (sid)',
  'front-channel-logout-off': () =>
    'has front-channel logout only: its logouts end nothing here unless frontChannelLogout is on',

  'metadata-by-query': ({ place }: { place: string }) =>
    `stands for the identity providers that ${place} knows; none was asked for`,
  'metadata-unreadable': ({ place, reason }: { place: string; reason: string }) =>
    `the metadata ${place}: ${reason}`,
  'metadata-signed': () => 'the signature of its metadata is checked',
  'metadata-not-checked': () =>
    'no metadataCertificate: the signature of its metadata is not checked, so the server that it comes from decides who logs in',
  'metadata-expired': ({ date }: Dated) => `the metadata expired on ${date}: fetch it again`,
  'metadata-expires': ({ date }: Dated) => `the metadata expires on ${date}`,
  'metadata-without-end': () =>
    'its metadata has no validUntil: an old copy of it would be accepted for ever',
  'federation-empty': () => 'its metadata describes no SAML 2.0 identity provider',
  'federation-none-admitted': () => 'its rules let in none of the identity providers in its metadata',
  'federation-admitted': ({ providers }: { providers: number }) => `lets in ${providers} identity providers`,
  'federation-twice': ({ providers, such }: Some) =>
    `${providers} identity providers come twice and may not log anybody in, such as ${such.join(', ')}`,
  'federation-unusable': ({ providers, such }: Some) =>
    `${providers} identity providers cannot be used, such as ${such.join(', ')}`,
  'federation-unscoped': ({ providers }: { providers: number }) =>
    `${providers} of them have no scope: their scoped attributes and e-mail addresses are ignored`,
  'entity-id': ({ entityId, name }: { entityId: string; name: string | null }) =>
    `entity id ${entityId}${name === null ? '' : ` (${name})`}`,
  'entity-id-own': () =>
    'its entity id is the same as saml.entityId: the metadata is Carrel’s own, not the provider’s',
  'signed-requests-required': () => 'it requires signed requests, and saml.privateKey is not set',
  'name-id-transient': () =>
    'nameIdFormat asks for transient NameIDs, which are different at each login: set another one, or attributes.subject to an attribute',
  'name-ids-transient-only': () =>
    'it offers only transient NameIDs, which are different at each login, and the subject is the NameID: set attributes.subject to an attribute, or let the provider offer persistent NameIDs and fetch its metadata again',
  'name-id-not-announced': ({ format, announced }: { format: string; announced: readonly string[] }) =>
    `it does not announce the nameIdFormat ${format}, only ${announced.join(', ')}`,
  'name-ids-transient-first': ({ better }: { better: string }) =>
    `it offers several NameID formats, transient first, and the subject is the NameID: set nameIdFormat to ${better}`,
  'attributes-not-announced': ({ attributes }: { attributes: readonly string[] }) =>
    `its metadata announces attributes, but not ${attributes.join(', ')}: see what it sends, and set attributes`,
  'single-logout': () => 'has single logout',
  'single-logout-none': () => 'has no single logout by redirect',
  'response-cross-site-plain': ({ host }: { host: string }) =>
    `over http browsers do not send the login cookie when ${host}, a different site, posts its response: set CARREL_BASE_URL to https://…`,
  'address-plain': ({ address }: Address) => `its address ${address} is http`,

  'address-unreachable': ({ address }: Address) =>
    `${address} cannot be reached from this machine; browsers must be able to reach it`,
  'clock-ahead': (clock: Clock) =>
    `the clock here is ${clock.seconds} s ahead of the provider’s; ${clock.allowedSeconds} s are allowed: use NTP on both sides`,
  'clock-behind': (clock: Clock) =>
    `the clock here is ${clock.seconds} s behind the provider’s; ${clock.allowedSeconds} s are allowed: use NTP on both sides`,
  'certificate-expired': ({ certificate, date }: Certificate) => `${certificate} expired on ${date}`,
  'certificate-early': ({ certificate, date }: Certificate) => `${certificate} is valid only from ${date}`,
  'certificate-expires': ({ certificate, date }: Certificate) => `${certificate} expires on ${date}`,
  'certificate-valid': ({ certificate, date }: Certificate) => `${certificate} is valid until ${date}`,
  'certificate-weak': ({ certificate, bits }: { certificate: string; bits: number }) =>
    `${certificate} has a key of only ${bits} bits`,
} as const satisfies Readonly<Record<string, (values: never) => Said>>

type Address = { readonly address: string }
type Server = { readonly server: string }
/** `date` is a day in UTC, such as 2026-05-01. */
type Dated = { readonly date: string }
type Certificate = Dated & { readonly certificate: string }
type Some = { readonly providers: number; readonly such: readonly string[] }
type Clock = { readonly seconds: number; readonly allowedSeconds: number }

/** Makes what was found; `checkSignOn` says about whom. */
export const { ok, warning, error } = findingsIn(words)('')
