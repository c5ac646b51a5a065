import { type Check, type Format, schemaChecks } from '../lib/json-schema.ts'
import { administratorGroup, passwordMethod } from '../model/accounts.ts'
import {
  type AnyProvider,
  allowedAddress,
  type Condition,
  type GroupRule,
  isLoopback,
  type LdapConfig,
  type OidcConfig,
  type ProxyConfig,
  type SamlConfig,
  type SingleSignOnConfig,
} from './providers.ts'
import { type DirectoryBlock, readDirectory } from './read-directory.ts'
import { readSamlProvider, type SamlMembers } from './read-saml-provider.ts'
import {
  type Complain,
  readSaml,
  readSecret,
  type SamlBlock,
  type SecretPlace,
  type Surroundings,
} from './read-secrets.ts'
import { isRange } from './settings.ts'
import { allProviderSchemas, signOnSchema, takenSchemes } from './single-sign-on-schema.ts'

/** The block as it is in the file, once the schema has let it through and filled in the defaults. */
interface Block {
  readonly methods?: readonly string[]
  readonly defaultRedirectUrl?: string
  readonly saml: SamlBlock
  readonly providers: readonly unknown[]
}

type InFileRule<T extends Condition> = Omit<T, 'matches'> & {
  readonly value?: string
  readonly pattern?: string
}
type InFile<T extends AnyProvider | DirectoryBlock> = Omit<
  T,
  'groups' | 'require' | 'secret' | 'clientSecret' | 'name'
> & {
  readonly name?: string
  readonly require: readonly InFileRule<Condition>[]
  readonly groups: readonly InFileRule<GroupRule>[]
  readonly secret?: SecretPlace
  readonly clientSecret?: SecretPlace
}
type ProviderBlock =
  | (Omit<InFile<SamlConfig>, keyof SamlMembers> & SamlMembers)
  | InFile<OidcConfig>
  | InFile<ProxyConfig>
  | InFile<DirectoryBlock>

const regex: Format = { accepts: isPattern, takes: 'a regular expression' }
const compiled = schemaChecks({ formats: { regex }, useDefaults: true })

/**
 * Compiles the schemas, only if there is a block to check: that takes longer than most commands, and 10 MB.
 */
const compile = () => ({
  checkBlock: compiled(signOnSchema),
  checkProvider: new Map(
    Object.entries(allProviderSchemas).map(([kind, schema]) => [kind, compiled(schema)]),
  ),
})

let validators: ReturnType<typeof compile> | undefined

/** @returns the login methods in order, and the single sign-on configuration; null if the file has none */
export function readSignOn(
  given: unknown,
  surroundings: Surroundings,
): { readonly methods: readonly string[]; readonly singleSignOn: SingleSignOnConfig | null } {
  if (given === undefined) return { methods: [passwordMethod], singleSignOn: null }
  const { baseUrl, allowedOrigins, complain } = surroundings
  validators ??= compile()
  const { checkBlock, checkProvider } = validators
  const block = checked<Block>(given, checkBlock, '', complain)
  const providers = block.providers.map((one, at) => {
    const where = `providers[${at}]`
    const kind = (one as { kind?: unknown } | null)?.kind
    const check = typeof kind === 'string' ? checkProvider.get(kind) : undefined
    if (!check) throw complain(`${where}.kind`, `must be one of ${[...checkProvider.keys()].join(', ')}`)
    return readProvider(checked<ProviderBlock>(one, check, where, complain), where, surroundings)
  })
  for (const [at, { id }] of providers.entries())
    if (providers.findIndex(one => one.id === id) !== at)
      throw complain(`providers[${at}].id`, `${id} is used twice`)
  const directories = providers.filter(isDirectory)
  // The directory that gets a password must not depend on the answer of another one (docs/decisions/0033).
  if (directories.length > 1)
    throw complain(`providers[${providers.findLastIndex(isDirectory)}]`, 'only one may be of kind ldap')

  const schemes = [...new Set(providers.map(({ scheme }) => scheme))]
  const known = [passwordMethod, ...schemes]
  const methods = block.methods ?? known
  const unknown = methods.find(method => !known.includes(method))
  if (unknown !== undefined)
    throw complain('methods', `${JSON.stringify(unknown)} is not one of ${known.join(', ')}`)

  const defaultRedirectUrl = block.defaultRedirectUrl ?? `${allowedOrigins[0] ?? baseUrl}/`
  if (allowedAddress(defaultRedirectUrl, { allowedOrigins, baseUrl }) === undefined)
    throw complain(
      'defaultRedirectUrl',
      `${JSON.stringify(defaultRedirectUrl)} must be an address whose origin is in CARREL_ALLOWED_ORIGINS`,
    )
  const saml = readSaml(block.saml, surroundings)
  // Providers of a disabled scheme are not offered.
  const [offered, off] = [true, false].map(isOffered =>
    providers.filter(({ scheme }) => methods.includes(scheme) === isOffered),
  )
  const switchedOff = off?.map(({ id }) => id) ?? []
  const browsers = offered?.filter(one => !isDirectory(one)) ?? []
  const directory = offered?.find(isDirectory) ?? null
  return { methods, singleSignOn: { defaultRedirectUrl, saml, providers: browsers, directory, switchedOff } }
}

const isDirectory = (one: AnyProvider): one is LdapConfig => one.kind === 'ldap'

function readProvider(given: ProviderBlock, where: string, surroundings: Surroundings): AnyProvider {
  const { complain } = surroundings
  const { groups, require, secret, clientSecret, ...block } = given
  const common = {
    name: given.id,
    ...block,
    require: require.map((rule, at) => readCondition(rule, `${where}.require[${at}]`, complain)),
    groups: readRules(groups, `${where}.groups`, complain),
  }
  if (common.kind !== 'ldap' && takenSchemes.includes(common.scheme.toLowerCase()))
    throw complain(`${where}.scheme`, `${common.scheme} is a reserved name`)
  if (common.email.verified === 'claim' && common.attributes.emailVerified === undefined)
    throw complain(`${where}.email.verified`, 'is claim, so attributes.emailVerified must name the claim')
  const secretAt = (place: SecretPlace | undefined, name: string) =>
    place === undefined ? null : readSecret(place, `${where}.${name}`, surroundings)
  switch (common.kind) {
    case 'saml':
      return readSamlProvider(common, where, surroundings)
    case 'oidc':
      if (!common.issuer.startsWith('https:') && !isLoopback(common.issuer))
        throw complain(
          `${where}.issuer`,
          'must begin with https://; http is accepted for loopback addresses only',
        )
      return { ...common, clientSecret: secretAt(clientSecret, 'clientSecret') } as OidcConfig
    case 'ldap':
      return readDirectory(common, where, surroundings)
    case 'proxy':
      return readProxy(common, secretAt(secret, 'secret') ?? '', where, complain)
  }
}

/** Headers that clients send themselves, so they cannot be trusted to identify a user. */
const headersOfClients =
  /^(authorization|cookie|host|origin|referer|user-agent|accept.*|content-.*|x-forwarded-(for|host|proto|port)|x-xsrf-token|x-on-behalf-of.*)$/

function readProxy(
  given: Omit<ProxyConfig, 'secret'>,
  secret: string,
  where: string,
  complain: Complain,
): ProxyConfig {
  for (const address of given.addresses) {
    if (!isRange(address)) throw complain(`${where}.addresses`, `${address} is not an address or network`)
    if (address.endsWith('/0')) throw complain(`${where}.addresses`, `${address} covers every address`)
  }
  if (!/^[!-~][ -~]{14,}[!-~]$/.test(secret))
    throw complain(
      `${where}.secret`,
      'must be at least 16 characters of printable ASCII, without spaces at either end',
    )
  const secretHeader = given.secretHeader.toLowerCase()
  for (const header of [
    ...Object.values(given.attributes),
    ...[...given.groups, ...given.require].map(one => one.attribute),
  ]) {
    const name = header.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name))
      throw complain(`${where}.attributes`, `${JSON.stringify(header)} is not a header name`)
    if (name === secretHeader || headersOfClients.test(name))
      throw complain(`${where}.attributes`, `${header} is a header with another meaning`)
  }
  return { ...given, secret, secretHeader }
}

function readRules(rules: readonly InFileRule<GroupRule>[], where: string, complain: Complain): GroupRule[] {
  return rules.map(({ group, ...rule }, at) => {
    // A login method must never make administrators.
    if (group.trim().toLowerCase() === administratorGroup.toLowerCase())
      throw complain(`${where}[${at}].group`, `may not be ${administratorGroup}`)
    return { group, ...readCondition(rule, `${where}[${at}]`, complain) }
  })
}

function readCondition(
  { attribute, value, pattern }: InFileRule<Condition>,
  where: string,
  complain: Complain,
): Condition {
  if (value !== undefined && pattern === undefined) return { attribute, matches: value }
  if (pattern === undefined || value !== undefined) throw complain(where, 'needs either a value or a pattern')
  return { attribute, matches: new RegExp(`^(?:${pattern})$`, 'u') }
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(`^(?:${pattern})$`, 'u')
    return true
  } catch {
    return false
  }
}

/** Requires a value that the schema describes. The error leaves out the value, which may be a secret. */
function checked<T>(given: unknown, check: Check, where: string, complain: Complain): T {
  const fault = check(given)
  if (!fault) return given as T
  const { path, isUnknown, wrong } = fault
  const way = isUnknown ? path.slice(0, -1) : path
  const place = way.map(part => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join('')
  throw complain(`${where}${place}`.replace(/^\./, ''), isUnknown ? `${path.at(-1)} ${wrong}` : wrong)
}
