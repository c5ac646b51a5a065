import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { administratorGroup, passwordMethod } from '../caller.ts'
import { providerSchemas } from './provider-schemas.ts'
import { isRange } from './settings.ts'
import {
  type Condition,
  type GroupRule,
  isLoopback,
  type OidcConfig,
  type ProviderConfig,
  type ProxyConfig,
  type SamlConfig,
  type SamlServiceProvider,
  type SignOnConfig,
} from './sign-on.ts'
import { signOnSchema } from './sign-on-schema.ts'

/** The block as it is in the file, once the schema has let it through and filled in the defaults. */
interface Block {
  readonly methods?: readonly string[]
  readonly defaultRedirectUrl?: string
  readonly saml: {
    readonly entityId?: string
    readonly privateKey?: SecretPlace
    readonly certificate?: SecretPlace
    readonly clockSkew: number
  }
  readonly providers: readonly unknown[]
}

type SecretPlace = { readonly env: string } | { readonly file: string }
type InFileRule<T extends Condition> = Omit<T, 'matches'> & {
  readonly value?: string
  readonly pattern?: string
}
type InFile<T extends ProviderConfig> = Omit<T, 'groups' | 'require' | 'secret' | 'clientSecret' | 'name'> & {
  readonly name?: string
  readonly require: readonly InFileRule<Condition>[]
  readonly groups: readonly InFileRule<GroupRule>[]
  readonly secret?: SecretPlace
  readonly clientSecret?: SecretPlace
}
type ProviderBlock = InFile<SamlConfig> | InFile<OidcConfig> | InFile<ProxyConfig>

/** Compiled where there is a block to check: it takes longer than most commands do. */
function compile() {
  const ajv = new Ajv({ useDefaults: true, allErrors: false, verbose: true, strict: false })
  ajv.addFormat('regex', { type: 'string', validate: isPattern })
  return {
    isBlock: ajv.compile(signOnSchema) as ValidateFunction<Block>,
    isProvider: new Map(
      Object.entries(providerSchemas).map(([kind, schema]) => [kind, ajv.compile<ProviderBlock>(schema)]),
    ),
  }
}

/** Says what is wrong where. */
export type Complain = (where: string, what: string) => Error

interface Surroundings {
  /** Of the configuration file: relative paths begin there. */
  readonly file: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly baseUrl: string
  readonly allowedOrigins: readonly string[]
  readonly complain: Complain
}

/** Groups that one token can hold: with more of them it would outgrow what is taken for a token (T8). */
const mostGroups = 100

/** @returns the ways to log in, in their order, and single sign-on; null where the file has none */
export function readSignOn(
  given: unknown,
  surroundings: Surroundings,
): { readonly methods: readonly string[]; readonly signOn: SignOnConfig | null } {
  if (given === undefined) return { methods: [passwordMethod], signOn: null }
  const { baseUrl, allowedOrigins, complain } = surroundings
  const { isBlock, isProvider } = compile()
  if (!isBlock(given)) throw schemaError(isBlock, '', complain)
  const providers = given.providers.map((one, at) => {
    const where = `providers[${at}]`
    const kind = (one as { kind?: unknown } | null)?.kind
    const validate = typeof kind === 'string' ? isProvider.get(kind) : undefined
    if (!validate) throw complain(`${where}.kind`, `must be one of ${[...isProvider.keys()].join(', ')}`)
    if (!validate(one)) throw schemaError(validate, where, complain)
    return readProvider(one, where, surroundings)
  })
  for (const [at, { id }] of providers.entries())
    if (providers.findIndex(one => one.id === id) !== at)
      throw complain(`providers[${at}].id`, `${id} is there twice`)

  const schemes = [...new Set(providers.map(({ scheme }) => scheme))]
  const known = [passwordMethod, ...schemes]
  const methods = given.methods ?? known
  const unknown = methods.find(method => !known.includes(method))
  if (unknown !== undefined)
    throw complain('methods', `${JSON.stringify(unknown)} is none of ${known.join(', ')}`)

  const defaultRedirectUrl = given.defaultRedirectUrl ?? `${allowedOrigins[0] ?? baseUrl}/`
  const origin = URL.parse(defaultRedirectUrl)?.origin
  if (origin === undefined || ![...allowedOrigins, new URL(baseUrl).origin].includes(origin))
    throw complain(
      'defaultRedirectUrl',
      `the origin of ${defaultRedirectUrl} is not in CARREL_ALLOWED_ORIGINS`,
    )
  const saml = readSaml(given.saml, surroundings)
  // A scheme that is switched off has no door.
  const offered = providers.filter(({ scheme }) => methods.includes(scheme))
  return { methods, signOn: { defaultRedirectUrl, saml, providers: offered } }
}

function readProvider(given: ProviderBlock, where: string, surroundings: Surroundings): ProviderConfig {
  const { complain } = surroundings
  const { groups, require, secret, clientSecret, ...block } = given
  const common = {
    name: given.id,
    ...block,
    require: require.map((rule, at) => readCondition(rule, `${where}.require[${at}]`, complain)),
    groups: readRules(groups, `${where}.groups`, complain),
  }
  if (common.email.verified === 'claim' && common.attributes.emailVerified === undefined)
    throw complain(`${where}.email.verified`, 'is claim: attributes.emailVerified must name what says so')
  const secretAt = (place: SecretPlace | undefined, name: string) =>
    place === undefined ? null : readSecret(place, `${where}.${name}`, surroundings)
  switch (common.kind) {
    case 'saml':
      return { ...common, metadata: resolve(dirname(surroundings.file), common.metadata) } as SamlConfig
    case 'oidc':
      if (!common.issuer.startsWith('https:') && !isLoopback(common.issuer))
        throw complain(`${where}.issuer`, 'must begin with https://; http is for providers on this machine')
      return { ...common, clientSecret: secretAt(clientSecret, 'clientSecret') } as OidcConfig
    case 'proxy': {
      const wrong = common.addresses.find(address => !isRange(address))
      if (wrong !== undefined) throw complain(`${where}.addresses`, `${wrong} is no address or network`)
      const shared = secretAt(secret, 'secret') ?? ''
      if (!/^[!-~][ -~]{14,}[!-~]$/.test(shared))
        throw complain(
          `${where}.secret`,
          'must have 16 characters or more of printable ASCII, no space at its ends',
        )
      return { ...common, secret: shared, secretHeader: common.secretHeader.toLowerCase() } as ProxyConfig
    }
  }
}

function readRules(rules: readonly InFileRule<GroupRule>[], where: string, complain: Complain): GroupRule[] {
  if (new Set(rules.map(({ group }) => group)).size > mostGroups)
    throw complain(where, `name more than ${mostGroups} groups, which is more than a token can hold`)
  return rules.map(({ group, ...rule }, at) => {
    // A way of arriving must never make an administrator.
    if (group === administratorGroup)
      throw complain(`${where}[${at}].group`, `may not be ${administratorGroup}`)
    return { group, ...readCondition(rule, `${where}[${at}]`, complain) }
  })
}

function readCondition(
  { attribute, value, pattern }: InFileRule<Condition>,
  where: string,
  complain: Complain,
): Condition {
  if (value !== undefined && pattern === undefined) return { attribute, matches: one => one === value }
  if (pattern === undefined || value !== undefined) throw complain(where, 'needs either a value or a pattern')
  const whole = new RegExp(`^(?:${pattern})$`, 'u')
  return { attribute, matches: one => whole.test(one) }
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(`^(?:${pattern})$`, 'u')
    return true
  } catch {
    return false
  }
}

function readSaml(given: Block['saml'], surroundings: Surroundings): SamlServiceProvider {
  const { complain, baseUrl } = surroundings
  const entityId = given.entityId ?? `${baseUrl}/api/authn/sso/saml/metadata`
  const { privateKey, certificate, clockSkew } = given
  if (privateKey === undefined && certificate === undefined) return { entityId, keys: null, clockSkew }
  if (privateKey === undefined || certificate === undefined)
    throw complain('saml', 'privateKey and certificate belong together')
  const keys = {
    privateKey: readSecret(privateKey, 'saml.privateKey', surroundings),
    certificate: readSecret(certificate, 'saml.certificate', surroundings),
  }
  let fits: boolean
  try {
    fits = new X509Certificate(keys.certificate).checkPrivateKey(createPrivateKey(keys.privateKey))
  } catch {
    throw complain('saml', 'privateKey and certificate must be PEM, the key without a passphrase')
  }
  if (!fits) throw complain('saml', 'the certificate is not the one of the private key')
  return { entityId, keys, clockSkew }
}

function readSecret(place: SecretPlace, where: string, { file, env, complain }: Surroundings): string {
  if ('env' in place) {
    const value = env[place.env]
    if (!value) throw complain(where, `the environment variable ${place.env} is not set`)
    return value
  }
  try {
    return readFileSync(resolve(dirname(file), place.file), 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw complain(where, `the file ${place.file} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** The environment variables that hold secrets: their names are the operator's. */
export function secretVariables(given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null) return []
  return Object.entries(given).flatMap(([name, value]) =>
    name === 'env' && typeof value === 'string' ? [value] : secretVariables(value),
  )
}

/** The first thing that the schema has against it, in words and without the value, which may be a secret in the wrong place. */
function schemaError(validate: ValidateFunction, where: string, complain: Complain): Error {
  const [error] = validate.errors ?? []
  if (!error) throw new Error('a schema refused something without saying why')
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map(part => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('')
  return complain(`${where}${path}`.replace(/^\./, ''), describe(error))
}

function describe({ keyword, params, message = 'is not valid', parentSchema }: ErrorObject): string {
  const known = Object.keys((parentSchema?.properties ?? {}) as object).join(', ')
  if (keyword === 'additionalProperties')
    return `${params.additionalProperty} is not known; known are ${known}`
  if (keyword === 'type' && known === 'env, file')
    return 'must say where the secret is: {"env": "NAME"} or {"file": "path"}'
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as string[]).join(', ')}`
  if (keyword === 'not') return 'is a name that is taken'
  return message
}
