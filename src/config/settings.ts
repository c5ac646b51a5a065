import { isIPv4, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { readDatabaseAddress } from '../lib/database-address.ts'
import { isFilesPlace, isFolder, placesTaken } from './files-place.ts'

/** A setting (D3): what it takes, its default, and how it is parsed. */
interface Setting<T> {
  readonly takes: string
  /** The default, as the documentation shows it; null if the setting has none. */
  readonly fallback: string | null
  readonly read: (text: string) => T | undefined
  /** True for a secret: it may also be in a file, and no message shows it. */
  readonly isSecret?: true
}

/** The key of the path of a file with this secret. */
export const fileKeyOf = (key: string): string => `${key}_FILE`

const setting = <T>(
  takes: string,
  fallback: string | null,
  read: (text: string) => T | undefined,
): Setting<T> => ({ takes, fallback, read })
const secret = <T>(takes: string, read: (text: string) => T | undefined): Setting<T> => ({
  ...setting(takes, null, read),
  isSecret: true,
})

const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}
const decimal = (min: number, max: number) => (text: string) => {
  const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}
const oneOf =
  <const T extends string>(...legal: T[]) =>
  (text: string) =>
    legal.find(one => one === text)
const list = (text: string) =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
const listOf = (legal: (part: string) => boolean) => (text: string) => {
  const parts = list(text)
  return parts.every(legal) ? parts : undefined
}
const httpUrl = (text: string) => {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) return undefined
  return text.replace(/\/+$/, '')
}
const isOrigin = (text: string) => URL.parse(text)?.origin === text && /^https?:/.test(text)
const isMetadataField = (text: string) => /^[\w-]+(\.[\w-]+){1,2}$/.test(text)
const headerName = (text: string) => (/^[A-Za-z0-9-]{1,64}$/.test(text) ? text : undefined)
const postgresUrl = (text: string) => (readDatabaseAddress(text) === undefined ? undefined : text)
const textOf = (text: string) => text

const repositoryName = (text: string) => {
  const name = text.trim()
  return name !== '' && [...name].length <= 60 && !/\p{C}/u.test(name) ? name : undefined
}

const smtpUrl = (text: string) => {
  const url = URL.parse(text)
  return url && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && url.hash === '' && url.search === ''
    ? text
    : undefined
}

/** Reads an address, with or without a name before it: `Archive <archive@example.edu>`. */
const sender = (text: string) => {
  const found = /^(?:([^<>"\\\p{Cc}]{1,100}?) *<)?([^\s@<>"(),:;]+@[^\s@<>"(),:;]+)(>)?$/u.exec(text)
  const [, name, address = '', closing] = found ?? []
  return found && (name === undefined) === (closing === undefined) && address.length <= 254
    ? { name: name ?? '', address }
    : undefined
}

const isDomain = (text: string) => /^[\w-]+(\.[\w-]+)+$/.test(text)

/**
 * True for `${NAME}` as it was written, if nothing has replaced it by its value: such a secret can be guessed
 * by anyone.
 */
export const isPlaceholder = (secret: string): boolean => /^\s*\$\{[^}]*\}\s*$/.test(secret)

/**
 * The sender of the contents of files (F4): Carrel, the proxy in front of it, which learns the file from a
 * header, or the bucket.
 */
export type FilesSentBy =
  | Readonly<{ kind: 'carrel' }>
  /** `location` is an internal location of the proxy, with a slash at both ends. */
  | Readonly<{ kind: 'x-accel-redirect'; location: string }>
  | Readonly<{ kind: 'x-sendfile' }>
  /** The bucket, at an address that is signed for a short time. */
  | Readonly<{ kind: 'redirect' }>

const filesSentBy = (text: string): FilesSentBy | undefined => {
  if (text === 'carrel' || text === 'x-sendfile' || text === 'redirect') return { kind: text }
  const location = /^x-accel-redirect:((?:\/[\w-][\w.~-]*)+\/)$/.exec(text)?.[1]
  return location === undefined ? undefined : { kind: 'x-accel-redirect', location }
}

/** All settings with a single value, by key. */
export const settings = {
  CARREL_DATA: setting('a folder', './data', text => (isFolder(text) ? text : undefined)),
  CARREL_FILES: setting(
    `the place of files, which all nodes share: ${placesTaken} (not set: files in CARREL_DATA)`,
    null,
    text => (isFilesPlace(text) ? text : undefined),
  ),
  CARREL_FILES_ENDPOINT: setting(
    'http(s):// address of the server of the bucket (not set: that of Amazon)',
    null,
    httpUrl,
  ),
  CARREL_FILES_REGION: setting(
    'region of the bucket, such as eu-central-1 (not set: as AWS_REGION or the file of the AWS tools says, else us-east-1)',
    null,
    text => (/^[\w-]{1,64}$/.test(text) ? text : undefined),
  ),
  CARREL_FILES_PATH_STYLE: setting(
    'true if the bucket is in the path of addresses, false if in their host (not set: true with CARREL_FILES_ENDPOINT)',
    null,
    oneOf('true', 'false'),
  ),
  CARREL_FILES_QUOTA: setting(
    'how many megabytes all files may have together, 1 to 1000000000; files that are sent beyond are refused (not set: no limit)',
    null,
    wholeNumber(1, 1_000_000_000),
  ),
  CARREL_FILES_SENT_BY: setting(
    'carrel; redirect for a bucket that sends them itself; or what the reverse proxy understands: x-sendfile, or x-accel-redirect and an internal location of its own, such as x-accel-redirect:/carrel-files/',
    'carrel',
    filesSentBy,
  ),
  CARREL_DATABASE_URL: secret(
    'postgres://user:password@host:port/database, also with several hosts and with target_session_attrs (not set: the embedded store in CARREL_DATA)',
    postgresUrl,
  ),
  CARREL_DATABASE_REPLICA_URL: secret(
    'the same for a replica that query endpoints may read from',
    postgresUrl,
  ),
  CARREL_DATABASE_POOL_SIZE: setting(
    'the maximum number of connections per node for each of accounts, pages, and listings of tables, 1 to 1000',
    '8',
    wholeNumber(1, 1_000),
  ),
  CARREL_DATABASE_QUEUE: setting(
    'the maximum number of requests that wait for a connection, 0 to 100000; others get 503',
    '500',
    wholeNumber(0, 100_000),
  ),
  CARREL_HOST: setting('an address to listen on', '127.0.0.1', text => text || undefined),
  CARREL_PORT: setting('a port number, 0 to 65535 (0: any free port)', '8080', wholeNumber(0, 65_535)),
  CARREL_BASE_URL: setting(
    'the public http(s) address of the service, without query or fragment',
    null,
    httpUrl,
  ),
  CARREL_QUERY_BASE: setting(
    'a path that ends in the segment v4, such as /pdb/query/v4',
    '/api/query/v4',
    text => (/^(\/[A-Za-z0-9._~-]+)*\/v4$/.test(text) ? text : undefined),
  ),
  CARREL_TOKEN_LIFETIME: setting('seconds, 1 to 31536000', '1800', decimal(1, 31_536_000)),
  CARREL_SESSION_LIFETIME: setting(
    'how long after a login its tokens can be refreshed in seconds, 1 to 3153600000 (not set: without end)',
    null,
    decimal(1, 3_153_600_000),
  ),
  CARREL_ACCESS_TOKEN_LIFETIME: setting(
    'how long access tokens for programs live at most in seconds, 60 to 315360000, or 0: there are none',
    '31536000',
    text => (text === '0' ? 0 : wholeNumber(60, 315_360_000)(text)),
  ),
  CARREL_SHORT_TOKEN_LIFETIME: setting('seconds, 1.9 to 2', '2', decimal(1.9, 2)),
  CARREL_LEASE_LIFETIME: setting(
    'how long a download can be resumed after its start in seconds, 1 to 86400',
    '1800',
    wholeNumber(1, 86_400),
  ),
  CARREL_TOKEN_SECRET: secret(
    'one or more secrets of at least 32 characters, separated by commas, the newest first',
    text => {
      const parts = list(text)
      return parts.length > 0 && parts.every(part => part.length >= 32 && !isPlaceholder(part))
        ? parts
        : undefined
    },
  ),
  CARREL_CONSOLE: setting('true or false', 'true', oneOf('true', 'false')),
  CARREL_NAME: setting(
    "the repository's own name, which the console shows, up to 60 characters",
    'Carrel',
    repositoryName,
  ),
  CARREL_LOGO: setting(
    'a PNG, JPEG, WebP or SVG file of up to 512 kB, which the console shows beside the name',
    null,
    textOf,
  ),
  CARREL_COLOR: setting(
    'the color of links and buttons of the console, such as #7a1f3d; they stay readable, so it becomes darker or lighter where it must',
    null,
    text => (/^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : undefined),
  ),
  CARREL_SECOND_FACTOR: setting(
    'who needs a second factor to log in with a password: off, optional, administrators or everybody',
    'optional',
    oneOf('off', 'optional', 'administrators', 'everybody'),
  ),
  CARREL_SECOND_FACTOR_LOGINS: setting(
    'which logins need it: password, or all, so that a directory and single sign-on do, too',
    'password',
    oneOf('password', 'all'),
  ),
  CARREL_LOGIN_ON_BEHALF_OF: setting('true or false', 'false', oneOf('true', 'false')),
  CARREL_ON_BEHALF_OF_REASON: setting('optional or required', 'optional', oneOf('optional', 'required')),
  CARREL_END_USER_AGREEMENT: setting('true or false', 'false', oneOf('true', 'false')),
  CARREL_LOGOUT_PAGE_URL: setting('an http(s) address', null, text =>
    /^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined,
  ),
  CARREL_ALLOWED_ORIGINS: setting(
    'origins such as https://ui.example.edu, separated by commas',
    '',
    listOf(isOrigin),
  ),
  CARREL_TRUSTED_PROXIES: setting(
    'IP addresses or networks (10.0.0.0/8) of reverse proxies, separated by commas',
    '',
    listOf(part => isRange(part)),
  ),
  CARREL_ALLOWED_HOSTS: setting(
    'names or addresses without ports, separated by commas, that requests may have in Host besides the host of CARREL_BASE_URL and loopback addresses',
    '',
    listOf(part => /^([\w-]+(\.[\w-]+)*|\[[\da-fA-F:.]+\])$/.test(part)),
  ),
  CARREL_HIDDEN_METADATA: setting(
    'metadata fields of items that only administrators see, such as dc.description.provenance, separated by commas, or none',
    'dc.description.provenance',
    text => (text === 'none' ? [] : listOf(isMetadataField)(text)),
  ),
  CARREL_REALM: setting('a name in printable ASCII', 'Carrel', text =>
    /^[ -~]{1,100}$/.test(text) ? text : undefined,
  ),
  CARREL_CSRF_COOKIE: setting('a cookie name (letters, digits, -)', 'DSPACE-XSRF-COOKIE', headerName),
  CARREL_CSRF_HEADER: setting('a header name (letters, digits, -)', 'DSPACE-XSRF-TOKEN', headerName),
  CARREL_METRICS_SECRET: secret(
    'a secret of at least 32 characters (letters, digits, - . _ ~ + / =), for GET /metrics from other machines or beside a proxy',
    text => (/^[A-Za-z0-9._~+/=-]{32,4096}$/.test(text) ? text : undefined),
  ),
  CARREL_WORKERS: setting(
    'the number of threads that answer requests, 1 to 64, or automatic (the processors, at most 8); at most CARREL_DATABASE_POOL_SIZE with a database, and always 1 on systems other than Linux',
    'automatic',
    text => (text === 'automatic' ? Math.min(8, availableParallelism()) : wholeNumber(1, 64)(text)),
  ),
  CARREL_REQUEST_TIMEOUT: setting(
    'how long a whole request may take to arrive in seconds, 1 to 3600',
    '30',
    wholeNumber(1, 3_600),
  ),
  CARREL_WARM: setting(
    'true or false: whether a node is ready only when it has what is derived of the fields of imported entities on its disk, or after ten minutes',
    'false',
    oneOf('true', 'false'),
  ),
  CARREL_DRAIN_DELAY: setting(
    'for how many seconds after SIGTERM the service goes on taking connections while /health/ready is 503, 0 to 3600: behind a load balancer, as long as it takes to notice',
    '0',
    wholeNumber(0, 3_600),
  ),
  CARREL_STOP_GRACE: setting(
    'how many seconds requests under way may then go on, 0 to 86400; others are cut',
    '10',
    wholeNumber(0, 86_400),
  ),
  CARREL_IMPORT_SIZE: setting(
    'the maximum size of records that are sent to be imported, as they are sent, in megabytes, 1 to 1000000',
    '4096',
    wholeNumber(1, 1_000_000),
  ),
  CARREL_PASSWORD_CONCURRENCY: setting(
    'the maximum number of passwords hashed at once, 1 to 64, or automatic (one less than the processors, 1 to 4)',
    'automatic',
    text =>
      text === 'automatic' ? Math.max(1, Math.min(4, availableParallelism() - 1)) : wholeNumber(1, 64)(text),
  ),
  CARREL_PASSWORD_QUEUE: setting(
    'the maximum number of logins that wait for hashing, 0 to 100000',
    '100',
    wholeNumber(0, 100_000),
  ),
  CARREL_LISTINGS: setting(
    'the maximum number of long listings that are sent at a time, 1 to 10000; others wait',
    '32',
    wholeNumber(1, 10_000),
  ),
  CARREL_LISTING_PATIENCE: setting(
    'after how many seconds a client that accepts none of a listing, or of any other response but a file, is disconnected, 1 to 3600',
    '60',
    wholeNumber(1, 3_600),
  ),
  CARREL_LISTING_TIME_LIMIT: setting(
    'after how many seconds a client is disconnected even if its listing is not complete, 1 to 86400',
    '3600',
    wholeNumber(1, 86_400),
  ),
  CARREL_STATEMENT_TIMEOUT: setting(
    'the time limit of a statement of a query endpoint in seconds, 0.1 to 86400',
    '30',
    decimal(0.1, 86_400),
  ),
  CARREL_CACHE_SIZE: setting(
    'the maximum size of the cache of orders and records in megabytes, 1 to 100000',
    '128',
    wholeNumber(1, 100_000),
  ),
  // Settings of mail (docs/decisions/0045).
  CARREL_SMTP_URL: secret(
    'the mail server as smtp://user:password@host:port, or smtps:// for TLS from the start (not set: no mail, so no registration and no forgotten passwords)',
    smtpUrl,
  ),
  CARREL_SMTP_TLS: setting(
    'required, or optional: what smtp:// does if the server offers no STARTTLS; on this machine it is always optional',
    'required',
    oneOf('required', 'optional'),
  ),
  CARREL_MAIL_FROM: setting('the sender, such as Archive <archive@example.edu>', null, sender),
  CARREL_UI_URL: setting(
    'the http(s) address of the user interface, to which links in mails lead (not set: the origin of CARREL_BASE_URL)',
    null,
    httpUrl,
  ),
  CARREL_REGISTRATION: setting(
    'true or false: whether anybody may register, if mail is configured',
    'true',
    oneOf('true', 'false'),
  ),
  CARREL_REGISTRATION_DOMAINS: setting(
    'domains of email addresses that may register, separated by commas (empty: all)',
    '',
    text => {
      const domains = list(text).map(domain => domain.toLowerCase())
      return domains.every(isDomain) ? domains : undefined
    },
  ),
  CARREL_EVENTS_RETENTION: setting(
    'how many days the events of the audit trail are kept, 1 to 36500 (not set: for ever)',
    null,
    wholeNumber(1, 36_500),
  ),
  CARREL_EVENTS_SIZE: setting(
    'megabytes of the audit trail for events that a client may repeat at any speed: refreshes, short-lived tokens, downloads, requests on behalf of others, failures; above it, the oldest of these are removed; 1 to 10000000',
    '2048',
    wholeNumber(1, 10_000_000),
  ),
  CARREL_KEPT_VERSIONS: setting(
    'how many days a version of an entity that an import has replaced can be restored, 0 to 3650 (0: none is kept)',
    '7',
    wholeNumber(0, 3_650),
  ),
  CARREL_KEPT_VERSIONS_SIZE: setting(
    'megabytes of all versions that are kept; above it, the oldest of them are removed; 1 to 10000000',
    '10240',
    wholeNumber(1, 10_000_000),
  ),
  CARREL_SNAPSHOT_TIME: setting(
    'minutes for which the state of a list that a snapshot names can be read after it has changed, 0 to 1440 (0: lists have no snapshots)',
    '15',
    wholeNumber(0, 1_440),
  ),
  CARREL_SNAPSHOT_SIZE: setting(
    'megabytes of all replaced versions that are held for snapshots; above it, the oldest of them are removed; 1 to 10000000',
    '4096',
    wholeNumber(1, 10_000_000),
  ),
  // Settings of uploads and of what is started over HTTP (docs/decisions/0042).
  CARREL_UPLOAD_SIZE: setting(
    'megabytes of a file that is sent, in one piece or in many: a file of an item, an archive, an upload; 1 to 10000000',
    '102400',
    wholeNumber(1, 10_000_000),
  ),
  CARREL_UPLOAD_QUOTA: setting(
    'how much the uploads of one eperson may be together in megabytes, 1 to 10000000',
    '204800',
    wholeNumber(1, 10_000_000),
  ),
  CARREL_UPLOAD_COUNT: setting(
    'how many uploads one eperson may have, 1 to 10000',
    '100',
    wholeNumber(1, 10_000),
  ),
  CARREL_UPLOAD_FREE: setting(
    'how much of the disk of CARREL_DATA uploads leave free in megabytes, 0 to 10000000',
    '1024',
    wholeNumber(0, 10_000_000),
  ),
  CARREL_UPLOAD_LIFETIME: setting(
    'after how many hours without a new byte an upload is removed, 1 to 8760',
    '168',
    wholeNumber(1, 8_760),
  ),
  CARREL_BACKUPS: setting(
    `the place into which administrators may make backups over HTTP: ${placesTaken} (not set: they may not)`,
    null,
    text => (isFilesPlace(text) ? text : undefined),
  ),
  CARREL_LOG_LEVEL: setting('silent, error, warn or info', 'warn', oneOf('silent', 'error', 'warn', 'info')),
  CARREL_CONFIG: setting('the path of a JSON file with these keys and the structured ones', null, textOf),
} satisfies Record<`CARREL_${string}`, Setting<unknown>>

export type SettingKey = keyof typeof settings

/** Structured keys, which only the file can have, each with an example for the message about a wrong one. */
export const structuredSettings = {
  specialGroups:
    '{"ip": [{"group": "Campus", "ranges": ["10.0.0.0/8", "!10.9.0.0/16"]}], "method": [{"group": "Local", "method": "password"}]}',
  singleSignOn:
    '{"providers": [{"id": "company", "kind": "oidc", "issuer": "https://id.example.org", "clientId": "carrel"}]}',
}

/** True for an IPv4 or IPv6 address, alone or with a prefix length. */
export function isRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1
  return (
    bits > 0 &&
    rest.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
  )
}

/** The keys of all secrets. */
export const secretKeys: ReadonlySet<SettingKey> = new Set(
  (Object.keys(settings) as SettingKey[]).filter(key => (settings[key] as Setting<unknown>).isSecret),
)
