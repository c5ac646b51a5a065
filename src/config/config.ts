import { join, resolve } from 'node:path'
import { memo } from '../lib/memo.ts'
import { type LoginMethod, passwordMethod } from '../model/accounts.ts'
import type { KeptVersionLimits } from '../model/kept-versions.ts'
import { ConfigError, type IpGroup, type MethodGroup, specialGroups } from './file.ts'
import { type BucketServer, type FilesPlace, filesPlace } from './files-place.ts'
import {
  type DatabaseConfig,
  databaseOf,
  keptVersionsOf,
  type Look,
  lookOf,
  type MailConfig,
  mailOf,
  megabyte,
  type SecondFactorConfig,
  type StopTimes,
  secondFactorOf,
  stopOf,
  uploadsOf,
} from './parts.ts'
import { providersIn, type SingleSignOnConfig } from './providers.ts'
import { readSignOn } from './read-providers.ts'
import type { FilesSentBy } from './settings.ts'
import { type Environment, readValues, type Values } from './values.ts'

/**
 * Settings (D3), in two steps: `values.ts` reads each of them, from the environment and, where it has none,
 * from the file that CARREL_CONFIG names; `toConfig` combines the values into what the rest of the code uses.
 */
export type Config = Readonly<{
  database: DatabaseConfig
  dataFolder: string
  files: FilesPlace
  /** The place of files if nodes share it: on PostgreSQL, where `CARREL_FILES` names one; otherwise null. */
  sharedFiles: FilesPlace | null
  bucketServer: BucketServer
  /** Maximum size of all files together in bytes; null for no limit. */
  filesQuota: number | null
  filesSentBy: FilesSentBy
  host: string
  port: number
  /** Public address without a trailing slash; every link starts with it (P3). */
  baseUrl: string
  /** The path of `baseUrl`, without a trailing slash: '' or '/server'. */
  basePath: string
  /** Path of the query endpoints, below `baseUrl` (P2). */
  queryBase: string
  /** Lifetime of login tokens in seconds. */
  tokenLifetime: number
  /**
   * Time in seconds from the login, after which tokens can't be refreshed any more; null for no end (T11).
   */
  sessionLifetime: number | null
  /** Maximum lifetime of access tokens for programs in seconds; 0 if there are none (K1). */
  accessTokenLifetime: number
  /** Lifetime of short-lived tokens in seconds, at most 2 (T2). */
  shortTokenLifetime: number
  /** Time in seconds during which a download can be resumed (F3). */
  leaseLifetime: number
  /** Signing secrets, newest first; empty if the store keeps a generated one (T7). */
  tokenSecrets: readonly string[]
  /** True if the console is served at `/` (CO1). */
  console: boolean
  look: Look
  loginOnBehalfOf: boolean
  onBehalfOfReason: 'optional' | 'required'
  /** True if DSpace's interface asks epersons to accept the end user agreement. */
  endUserAgreement: boolean
  logoutPageUrl: string | null
  allowedOrigins: readonly string[]
  trustedProxies: readonly string[]
  /** Hosts that requests may name besides that of `baseUrl` and loopback addresses (E4). */
  allowedHosts: readonly string[]
  /** Metadata fields of items that only administrators see (Q19). */
  hiddenMetadata: readonly string[]
  realm: string
  csrfCookie: string
  csrfHeader: string
  /** Secret that opens `GET /metrics`; null if only this machine may read it (D5). */
  metricsSecret: string | null
  /** Number of event loops that answer requests. */
  workers: number
  /** Maximum time in seconds for a whole request to arrive. */
  requestTimeout: number
  /** True if the service is ready only when it has the files of all fields. */
  warm: boolean
  stop: StopTimes
  /** Maximum size in bytes of records that are sent to be imported. */
  importSize: number
  passwordConcurrency: number
  passwordQueue: number
  /** Maximum size in bytes of orders and records that are kept in memory. */
  cacheSize: number
  /** Maximum number of long listings that a node sends at a time. */
  maxListings: number
  /** Time in ms after which a client that accepts none of a listing is disconnected. */
  listingPatience: number
  /** Maximum time in ms for a whole listing. */
  listingTimeLimit: number
  /** Time limit of a statement of a query endpoint, in ms. */
  statementTimeout: number
  /** Time in days for which events of the audit trail are kept; null for ever (D9). */
  eventsRetention: number | null
  /** Maximum size in bytes of the events that a client may repeat at any speed (D9). */
  eventsSize: number
  /** Limits of the versions that imports have replaced and that can be restored (docs/decisions/0071). */
  keptVersions: KeptVersionLimits
  /** Settings of mail; null if none is sent. */
  mail: MailConfig | null
  uploads: ReturnType<typeof uploadsOf>
  /** The place of backups that are made over HTTP; null if none can be made. */
  backups: FilesPlace | null
  logLevel: 'silent' | 'error' | 'warn' | 'info'
  ipGroups: readonly IpGroup[]
  methodGroups: readonly MethodGroup[]
  /** Login methods, in the order of WWW-Authenticate. */
  loginMethods: readonly LoginMethod[]
  singleSignOn: SingleSignOnConfig | null
}> &
  SecondFactorConfig

/**
 * Makes the configuration.
 * @param values what was read from the environment
 * @returns the configuration, frozen
 * @throws ConfigError naming the first key that is wrong
 */
export function toConfig(env: Environment, values: Values = readValues(env)): Config {
  const { structured, value, required, wrong } = values
  const [first] = wrong
  if (first) throw first

  const port = required('CARREL_PORT')
  const baseUrl = value('CARREL_BASE_URL') ?? `http://localhost:${port}`
  const allowedOrigins = value('CARREL_ALLOWED_ORIGINS') ?? []
  const trustedProxies = value('CARREL_TRUSTED_PROXIES') ?? []
  const places = placesOf(values)
  refuseSender(places.filesSentBy, places.files, trustedProxies)
  const { methods, singleSignOn } = readSignOn(structured.singleSignOn, {
    file: env.CARREL_CONFIG ?? '',
    env,
    baseUrl,
    allowedOrigins,
    complain: (where, what) =>
      new ConfigError(`singleSignOn${where === '' ? '' : `.${where}`}: ${what} (in ${env.CARREL_CONFIG})`),
  })
  const groups = specialGroups(structured, methods)
  refuseTooManyGroups(groups.methodGroups, singleSignOn)
  const database = databaseOf(values)
  return Object.freeze({
    database,
    ...places,
    sharedFiles: database.kind === 'postgres' && value('CARREL_FILES') !== null ? places.files : null,
    host: required('CARREL_HOST'),
    port,
    baseUrl,
    basePath: new URL(baseUrl).pathname.replace(/\/+$/, ''),
    queryBase: required('CARREL_QUERY_BASE'),
    tokenLifetime: required('CARREL_TOKEN_LIFETIME'),
    sessionLifetime: value('CARREL_SESSION_LIFETIME'),
    accessTokenLifetime: required('CARREL_ACCESS_TOKEN_LIFETIME'),
    shortTokenLifetime: required('CARREL_SHORT_TOKEN_LIFETIME'),
    leaseLifetime: required('CARREL_LEASE_LIFETIME'),
    tokenSecrets: value('CARREL_TOKEN_SECRET') ?? [],
    console: required('CARREL_CONSOLE') === 'true',
    look: lookOf(values),
    ...secondFactorOf(values, methods),
    loginOnBehalfOf: required('CARREL_LOGIN_ON_BEHALF_OF') === 'true',
    endUserAgreement: required('CARREL_END_USER_AGREEMENT') === 'true',
    onBehalfOfReason: required('CARREL_ON_BEHALF_OF_REASON'),
    logoutPageUrl: value('CARREL_LOGOUT_PAGE_URL'),
    allowedOrigins,
    trustedProxies,
    allowedHosts: value('CARREL_ALLOWED_HOSTS') ?? [],
    hiddenMetadata: required('CARREL_HIDDEN_METADATA'),
    realm: required('CARREL_REALM'),
    csrfCookie: required('CARREL_CSRF_COOKIE'),
    csrfHeader: required('CARREL_CSRF_HEADER'),
    metricsSecret: value('CARREL_METRICS_SECRET'),
    workers: workersFor(required('CARREL_WORKERS'), database),
    requestTimeout: required('CARREL_REQUEST_TIMEOUT'),
    warm: required('CARREL_WARM') === 'true',
    stop: stopOf(values),
    importSize: required('CARREL_IMPORT_SIZE') * megabyte,
    passwordConcurrency: required('CARREL_PASSWORD_CONCURRENCY'),
    passwordQueue: required('CARREL_PASSWORD_QUEUE'),
    maxListings: required('CARREL_LISTINGS'),
    listingPatience: required('CARREL_LISTING_PATIENCE') * 1000,
    listingTimeLimit: required('CARREL_LISTING_TIME_LIMIT') * 1000,
    statementTimeout: required('CARREL_STATEMENT_TIMEOUT') * 1000,
    cacheSize: required('CARREL_CACHE_SIZE') * megabyte,
    eventsRetention: value('CARREL_EVENTS_RETENTION'),
    eventsSize: required('CARREL_EVENTS_SIZE') * megabyte,
    keptVersions: keptVersionsOf(values),
    mail: mailOf(values, baseUrl),
    uploads: uploadsOf(values, places.files),
    logLevel: required('CARREL_LOG_LEVEL'),
    ...groups,
    loginMethods: methods,
    singleSignOn,
  })
}

/** Reads the places of data, files and backups, and what is said of files. */
function placesOf({ value, required }: Values) {
  const dataFolder = resolve(required('CARREL_DATA'))
  const pathStyle = value('CARREL_FILES_PATH_STYLE')
  const bucketServer = {
    endpoint: value('CARREL_FILES_ENDPOINT'),
    region: value('CARREL_FILES_REGION'),
    pathStyle: pathStyle === null ? null : pathStyle === 'true',
  }
  const backups = value('CARREL_BACKUPS')
  return {
    dataFolder,
    filesQuota: inBytes(value('CARREL_FILES_QUOTA')),
    files: filesPlace(value('CARREL_FILES') ?? join(dataFolder, 'files'), bucketServer),
    bucketServer,
    filesSentBy: required('CARREL_FILES_SENT_BY'),
    backups: backups === null ? null : filesPlace(backups, bucketServer),
  }
}

const inBytes = (megabytes: number | null) => (megabytes === null ? null : megabytes * megabyte)

function refuseSender({ kind }: FilesSentBy, files: FilesPlace, trustedProxies: readonly string[]): void {
  if (kind === 'carrel') return
  if (kind === 'redirect') {
    if (files.kind === 'bucket') return
    throw new ConfigError(
      'CARREL_FILES_SENT_BY: redirect needs a bucket; set CARREL_FILES to s3://bucket/prefix',
    )
  }
  if (files.kind === 'bucket')
    throw new ConfigError(
      'CARREL_FILES_SENT_BY: a proxy sends files from a folder; for a bucket, it is carrel or redirect',
    )
  // Any other client would get a header in place of the file.
  if (trustedProxies.length === 0)
    throw new ConfigError(
      'CARREL_FILES_SENT_BY: set CARREL_TRUSTED_PROXIES to the address of the proxy as well',
    )
}

/**
 * Limits the event loops to those that can share the port and the connections to the database
 * (docs/decisions/0018).
 */
function workersFor(wanted: number, database: DatabaseConfig): number {
  if (process.platform !== 'linux') return 1
  return database.kind === 'embedded' ? wanted : Math.min(wanted, database.poolSize)
}

/** Maximum number of groups that fit into a token without exceeding its size limit (T8). */
const maxGroups = 100

function refuseTooManyGroups(
  methodGroups: readonly MethodGroup[],
  singleSignOn: SingleSignOnConfig | null,
): void {
  const ofMethod = (method: string) =>
    methodGroups.filter(one => one.method === method).map(({ group }) => group)
  const ways = [
    ['specialGroups.method', ofMethod(passwordMethod)] as const,
    ...providersIn(singleSignOn).map(
      ({ id, scheme, groups }) =>
        [
          `singleSignOn: the provider ${id}`,
          [...ofMethod(scheme), ...groups.map(({ group }) => group)],
        ] as const,
    ),
  ]
  for (const [what, names] of ways)
    if (new Set(names).size > maxGroups)
      throw new ConfigError(
        `${what} can give an eperson more than ${maxGroups} special groups, the most that a token can hold`,
      )
}

export type SpecialGroupConfig = Pick<Config, 'ipGroups' | 'methodGroups' | 'singleSignOn'>

/** Lists all special groups: given by network, by login method or by the attributes of a provider. */
export const specialGroupNames = memo((rules: SpecialGroupConfig): ReadonlySet<string> => {
  const { ipGroups, methodGroups, singleSignOn } = rules
  const all = [...ipGroups, ...methodGroups, ...providersIn(singleSignOn).flatMap(({ groups }) => groups)]
  return new Set(all.map(({ group }) => group))
})
