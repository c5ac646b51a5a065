import type { Said } from '../../lib/findings.ts'
import { quantity } from '../../lib/quantities.ts'

/**
 * The English words of the findings of `carrel doctor`, by their codes. A code is stable: programs know
 * findings by it, and the console has the words of other languages for it
 * (console/src/i18n/finding-words.ts).
 */
export const words = {
  'settings-wrong': ({ reason }: { reason: string }) => [
    reason,
    'correct it: Carrel does not start like this',
  ],
  'store-unreadable': ({ place, reason }: { place: string; reason: string }) => [
    `the store in ${place} can't be read: ${reason}`,
    'see whether the settings name the right one, and run the command as the user of the service',
  ],

  'cookies-secure': ({ baseUrl }: BaseUrl) => `CARREL_BASE_URL is ${baseUrl}: cookies are Secure`,
  'base-url-loopback': ({ baseUrl }: BaseUrl) => [
    `CARREL_BASE_URL is ${baseUrl}: only this machine can use it`,
    'set it to the public address before others use the service',
  ],
  'base-url-plain': ({ baseUrl }: BaseUrl) => [
    `CARREL_BASE_URL is ${baseUrl}: passwords and tokens that are sent over http can be read on the network`,
    'let a proxy terminate TLS, and set CARREL_BASE_URL to https://… (deploy/)',
  ],

  'proxies-everyone': ({ range }: { range: string }) => [
    `CARREL_TRUSTED_PROXIES contains ${range}, which is everyone: any client can claim any address in X-Forwarded-For`,
    'name the address of the proxy alone, such as 127.0.0.1',
  ],
  'proxies-network': ({ range }: { range: string }) => [
    `CARREL_TRUSTED_PROXIES contains ${range}: any client in that network can claim any address`,
    'name the addresses of the proxies alone',
  ],
  'proxy-none': ({ baseUrl }: BaseUrl) => `clients reach Carrel directly at ${baseUrl}`,
  'proxy-not-trusted': ({ baseUrl }: BaseUrl) => [
    `CARREL_BASE_URL is ${baseUrl}, so there is a proxy in front, and CARREL_TRUSTED_PROXIES is empty: every client seems to have the address of the proxy`,
    'set CARREL_TRUSTED_PROXIES to the address of the proxy',
  ],
  'proxies-trusted': ({ ranges }: { ranges: readonly string[] }) =>
    `client addresses are taken from ${ranges.join(', ')}`,
  'proxy-path': ({ path, baseUrl }: BaseUrl & { path: string }) =>
    `the proxy must pass the path ${path} on unchanged, or every login is 403: \`curl -si ${baseUrl}/api/security/csrf\` then shows Path=${path}/api`,
  'proxy-avoidable': ({ host }: { host: string }) => [
    `Carrel listens on ${host}, where clients may get past the proxy and send passwords over plain http`,
    'set CARREL_HOST=127.0.0.1 if the proxy is on this machine; otherwise let only the proxy through the firewall',
  ],

  'origins-none': ({ origin }: { origin: string }) => [
    `CARREL_ALLOWED_ORIGINS is empty: browsers may call the API only from pages of ${origin}`,
    'set it to the origin of the user interface if it differs',
  ],
  'origins-allowed': ({ origins }: { origins: readonly string[] }) =>
    `pages of ${origins.join(', ')} can use the API`,
  'origin-mixed-content': ({ origin, baseUrl }: OriginAndBaseUrl) => [
    `pages of ${origin} can't call ${baseUrl}: browsers block http on an https page`,
    'set CARREL_BASE_URL to https://…, with a proxy that terminates TLS',
  ],
  'origin-cross-site-plain': ({ origin, baseUrl }: OriginAndBaseUrl) => [
    `${origin} is on a different site from ${baseUrl}: over http cookies are SameSite=Lax, so the CSRF cookie is not sent and every POST is 403`,
    'use https, or the same host name for both',
  ],
  'origin-cross-site': ({ origin, baseUrl }: OriginAndBaseUrl) => [
    `${origin} is on a different site from ${baseUrl}: browsers that block third-party cookies (Safari; others by choice) don't send the CSRF cookie`,
    'give both host names under one domain, such as ui.example.edu and repo.example.edu',
  ],
  'origin-loopback': ({ origin }: { origin: string }) => [
    `CARREL_ALLOWED_ORIGINS contains ${origin}: any program that listens there on a user's machine may act in that user's name`,
    'remove it if it is left from development',
  ],
  'origin-plain': ({ origin }: { origin: string }) => [
    `${origin} in CARREL_ALLOWED_ORIGINS is http: tokens that its pages hold can be read on the network`,
    'serve the user interface over https',
  ],

  'folder-private': (folder: Folder) => `other users can't read the ${named(folder)}`,
  'settings-writable': ({ path }: { path: string }) => [
    `every user of this machine can change the settings in ${path}`,
    `chmod o-w ${path}`,
  ],
  'secret-readable': ({ path, mode }: Moded) => [
    `${path} has the mode ${mode}: other users can read the secret, and make tokens of anyone with it and a copy of the store`,
    `chmod 600 ${path}, then \`carrel secret rotate\` and \`carrel eperson logout --all\`: everyone has to log in again`,
  ],
  'entry-writable': ({ path, mode }: Moded) => [
    `${path} has the mode ${mode}: every user of this machine can change it`,
    `chmod o-rwx ${path}`,
  ],
  'store-readable': ({ path, mode }: Moded) => [
    `${path} has the mode ${mode}: other users can read accounts and the audit trail`,
    `chmod 600 ${path}`,
  ],
  'files-readable': ({ path, mode }: Moded) => [
    `${path} has the mode ${mode}: every user of this machine can read the files`,
    `chmod o-rwx ${path}`,
  ],
  'entry-readable': ({ path, mode }: Moded) => [
    `${path} has the mode ${mode}: every user of this machine can look into it`,
    `chmod o-rwx ${path}`,
  ],
  'owner-differs': ({ path, owner, storeOwner }: { path: string; owner: number; storeOwner: number }) => [
    `${path} belongs to user ${owner}, but carrel.db belongs to user ${storeOwner}: a command was run as another user than the service`,
    'chown both to the user of the service, and run commands as that user',
  ],

  'files-missing': ({ path }: { path: string }) => [
    `the folder of files ${path} is not there, or can't be looked into: downloads fail`,
    'mount or restore it, set CARREL_FILES to where it is, or run the command as the user of the service',
  ],
  'files-not-yet': ({ path }: { path: string }) => [
    `the folder of files ${path} is not there, or can't be looked into`,
    'the first ingest makes it; nodes of one service must share it',
  ],
  'bucket-right': ({ bucket }: { bucket: string }) =>
    `the bucket ${bucket} answers, and keeps and returns what it is sent`,
  'bucket-wrong': ({ bucket, wrong }: { bucket: string; wrong: readonly string[] }) => [
    `the bucket ${bucket} does not do what was asked: ${wrong.join('; ')}`,
    'correct the server, or the cache or gateway in front of it: files that it keeps wrongly are refused',
  ],
  'bucket-lacks': ({ bucket, lacking }: { bucket: string; lacking: string }) =>
    `the bucket ${bucket} lacks something: ${lacking}`,
  'bucket-unavailable': ({ reason }: { reason: string }) => [
    reason,
    'correct it: until then, downloads and uploads are answered with 503',
  ],

  'folder-in-memory': (folder: Folder) => [
    `the ${named(folder)} is in memory: it is gone when the machine restarts`,
    'move it to a disk',
  ],
  'store-on-network': ({ path, fileSystem }: { path: string; fileSystem: string }) => [
    `the data folder ${path} is on a network (${fileSystem}): locks don't hold there, and the store will be damaged`,
    'move it to a disk of this machine; for several machines use PostgreSQL (docs/deployment.md)',
  ],
  'store-in-user-space': ({ path }: { path: string }) => [
    `the data folder ${path} is on a file system in user space (FUSE)`,
    "make sure that it isn't on a network, and that it has POSIX locks and shared memory",
  ],
  'folder-on-disk': (folder: Folder) => `the ${named(folder)} is on a file system of this machine`,
  'folder-on-network': ({ fileSystem, ...folder }: Folder & { fileSystem: string }) =>
    `the ${named(folder)} is on ${fileSystem}`,

  'space-free': ({ freeBytes, sizeBytes, ...folder }: Folder & { freeBytes: number; sizeBytes: number }) => [
    `${mebibytes(freeBytes)} of ${mebibytes(sizeBytes)} are free for the ${named(folder)}`,
    'make room: when the disk is full, whatever writes is answered with 503',
  ],
  'inodes-few': ({ path, free, inodes }: { path: string; free: number; inodes: number }) => [
    `only ${free.toLocaleString('en')} of ${inodes.toLocaleString('en')} inodes are free for ${path}: no more files can be made when they are used up`,
    'remove small files, or recreate the file system with more inodes',
  ],
  'log-size': ({ path, sizeBytes }: { path: string; sizeBytes: number }) =>
    `${path} is ${mebibytes(sizeBytes)}`,
  'log-large': ({ path, sizeBytes }: { path: string; sizeBytes: number }) => [
    `${path} has grown to ${mebibytes(sizeBytes)}: something keeps an old snapshot, such as \`carrel backup\` or another program that reads the store`,
    'restart the service to shrink it; if it grows again, look for what reads the store for long',
  ],

  'schema-newer': () => ['a newer Carrel wrote this store, and this one refuses it', 'use the newer Carrel'],
  'schema-older': () => [
    'an older Carrel wrote this store; the next start or command updates it, and the older one can no longer use it then',
    'make a backup first',
  ],
  'schema-current': () => 'the store has the schema of this Carrel',

  'postgresql-right': (server: Server) => versionOf(server),
  'postgresql-old': (server: Server) => [`${versionOf(server)} is too old`, 'use PostgreSQL 14 or newer'],
  'postgresql-encoding': (server: Server) => [
    versionOf(server),
    'create the database with ENCODING UTF8, and copy the store there',
  ],
  'postgresql-search': (server: Server) => [
    `${versionOf(server)} can't search for words in tables`,
    'use PostgreSQL 17 or newer',
  ],
  'postgresql-unsafe': ({ settings }: { settings: readonly string[] }) => [
    `the server has ${settings.join(', ')}: what was acknowledged may be lost when it fails`,
    'set it to on in postgresql.conf',
  ],
  'standbys-behind': ({ standbys }: { standbys: number }) => [
    `no commit waits for ${quantity(standbys, 'standby')}: one that takes over may lack the last changes, and tokens revoked by them are good again`,
    'set synchronous_standby_names, unless none is ever promoted (docs/deployment.md)',
  ],
  'connection-plain': ({ hosts }: { hosts: readonly string[] }) => [
    `the connection to ${hosts.join(', ')} is not encrypted: passwords' hashes and the signing secret cross the network`,
    'add ?sslmode=verify-full to CARREL_DATABASE_URL',
  ],
  'connections-fit': ({ needed, of, max, nodes }: Limit & { needed: number; nodes: number }) =>
    `a node opens up to ${needed} connections, and the limit of ${limited[of]} is ${max}: room for ${quantity(nodes, 'node')}`,
  'connections-lacking': ({ needed, of, max, fitting }: Limit & { needed: number; fitting: number }) => [
    `a node opens up to ${needed} connections, and the limit of ${limited[of]} is ${max}`,
    `set CARREL_DATABASE_POOL_SIZE to ${fitting} or less, or ${raise[of]}`,
  ],
  'connections-used': ({ used, of, max }: Limit & { used: number }) => [
    `${used} of ${max} connections of ${limited[of]} are in use`,
    `${raise[of]}, or lower CARREL_DATABASE_POOL_SIZE on every node`,
  ],
  'replica-unreachable': ({ reason }: { reason: string }) => [
    `the replica can't be read: ${reason}; the primary answers for it`,
    correctReplica,
  ],
  'replica-unusable': ({ reason }: { reason: string }) => [
    `the replica can't be used: ${reason}`,
    correctReplica,
  ],
  'replica-current': () => 'the replica has all that the primary has',
  'replica-behind': (lag: Lag) => behind(lag),
  'replica-stale': (lag: Lag) => [
    `${behind(lag)}: lists of epersons, groups and events are stale`,
    'check whether replay is paused or a long query holds it up (pg_stat_wal_receiver on the replica)',
  ],

  'clock-behind-database': ({ seconds }: { seconds: number }) => [
    `this clock is ${seconds.toFixed(1)} s behind the database's, ${ofDatabase}`,
    byNtp,
  ],
  'clock-ahead-of-database': ({ seconds }: { seconds: number }) => [
    `this clock is ${seconds.toFixed(1)} s ahead of the database's, ${ofDatabase}`,
    byNtp,
  ],
  'clock-as-database': () => "this clock and the database's agree within a second",
  'clock-behind-trail': ({ seconds }: { seconds: number }) => [
    `this clock is ${seconds.toFixed(1)} s behind the newest event of the audit trail: it was set back, or a node's clock is ahead. Events may be in the wrong order, and access rules with a date may hold too long`,
    byNtp,
  ],
  'clock-not-behind-trail': () => 'this clock is not behind the audit trail',

  'secret-set': () => [
    'CARREL_TOKEN_SECRET sets the secret; its age is unknown here',
    'replace it once a year: the new one and a comma before the old one',
  ],
  'secret-age': ({ days }: { days: number }) => [
    `the secret that signs tokens is ${quantity(days, 'day')} old`,
    '`carrel secret rotate`; nobody is logged out',
  ],
  'sessions-endless': () => [
    'CARREL_SESSION_LIFETIME is not set: a token can be refreshed without end',
    'set it to 43200 (12 hours), so that everybody logs in once a day',
  ],
  'sessions-end': ({ seconds }: { seconds: number }) => `a session ends ${duration(seconds)} after its login`,
  administrators: ({ administrators }: { administrators: number }) =>
    quantity(administrators, 'enabled administrator'),
  'administrators-none': () => ['there is no enabled administrator', '`carrel eperson add <email> --admin`'],
  'backup-unknown': () => [
    'no backup is known; backups by other means are not recorded here',
    'make sure that there is one, and that it can be restored',
  ],
  'backup-age': ({ days }: { days: number }) => [
    `the last backup was made ${ago(days)}`,
    'make one now, and see why none was made since',
  ],
  'trail-size': (size: Size) => `events that repeat take ${megabytes(size)}`,
  'trail-nearly-full': (size: Size) => [
    `events that repeat take ${megabytes(size)}; above that, the oldest of them are removed`,
    'raise CARREL_EVENTS_SIZE, or export events and prune them (`carrel events`)',
  ],
  'snapshots-size': (size: Size) => `replaced versions that are held for snapshots take ${megabytes(size)}`,
  'snapshots-nearly-full': (size: Size) => [
    `replaced versions that are held for snapshots take ${megabytes(size)}; above that, snapshots expire before CARREL_SNAPSHOT_TIME`,
    'raise CARREL_SNAPSHOT_SIZE, or lower CARREL_SNAPSHOT_TIME',
  ],
  'access-tokens-without-factor': ({ secondFactor, emails, more }: TokensWithoutFactor) => [
    `access tokens from before CARREL_SECOND_FACTOR=${secondFactor} go on, though no second factor is enrolled: ${emails.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
    '`carrel access-token list` shows them, and `carrel access-token revoke` ends one',
  ],

  'hashes-many': ({ concurrency, processors }: { concurrency: number; processors: number }) => [
    `CARREL_PASSWORD_CONCURRENCY is ${concurrency}, on a machine with ${quantity(processors, 'processor')}: a burst of logins takes all of them, and other requests wait`,
    'set CARREL_PASSWORD_CONCURRENCY=automatic, or leave it out',
  ],
  'login-queue-long': ({ queue, seconds, fitting }: { queue: number; seconds: number; fitting: number }) => [
    `CARREL_PASSWORD_QUEUE is ${queue}: the last login in a full queue waits for about ${seconds} s`,
    `set it to ${fitting} or less: a client that gets 503 tries again`,
  ],
  'workers-many': ({ workers, processors }: { workers: number; processors: number }) => [
    `CARREL_WORKERS is ${workers}, on a machine with ${quantity(processors, 'processor')}: more threads only cost memory`,
    'set CARREL_WORKERS=automatic, or leave it out',
  ],
  'cache-large': ({ cacheBytes }: { cacheBytes: number }) => [
    `CARREL_CACHE_SIZE is ${Math.round(cacheBytes / mebibyte)} MB, more than half of this machine's memory`,
    'set it to a quarter of the memory or less',
  ],
  'load-right': ({ processors }: { processors: number }) =>
    `threads, queues and cache fit ${quantity(processors, 'processor')}`,

  'metadata-old': ({ days }: { days: number }) => [
    `its metadata was fetched ${ago(days)}`,
    'fetch it again, regularly: a new certificate of the provider is announced there',
  ],
} as const satisfies Readonly<Record<string, (values: never) => Said>>

type BaseUrl = { readonly baseUrl: string }
type OriginAndBaseUrl = BaseUrl & { readonly origin: string }
type Folder = { readonly folder: 'data' | 'files'; readonly path: string }
/** `mode` is octal, such as 0640. */
type Moded = { readonly path: string; readonly mode: string }
type Server = { readonly version: number; readonly encoding: string }
type Limit = { readonly of: 'server' | 'role' | 'database'; readonly max: number }
type Lag = { readonly bytesBehind: number; readonly secondsBehind: number | null }
type Size = { readonly takenBytes: number; readonly maxBytes: number }
type TokensWithoutFactor = {
  readonly secondFactor: string
  readonly emails: readonly string[]
  /** Number of others. */
  readonly more: number
}

const named = ({ folder, path }: Folder) => `${folder === 'data' ? 'data folder' : 'folder of files'} ${path}`

const mebibyte = 1024 ** 2
const mebibytes = (bytes: number) => `${Math.floor(bytes / mebibyte).toLocaleString('en')} MiB`
const megabytes = ({ takenBytes, maxBytes }: Size) =>
  `${inMegabytes(takenBytes)} of ${inMegabytes(maxBytes)} MB`
const inMegabytes = (bytes: number) => (bytes / mebibyte).toLocaleString('en', { maximumFractionDigits: 1 })

const versionOf = ({ version, encoding }: Server) => `PostgreSQL ${version}, ${encoding}`
const limited = { server: 'the server', role: 'this role', database: 'this database' } as const
const raise = {
  server: 'raise max_connections',
  role: 'raise it by ALTER ROLE … CONNECTION LIMIT',
  database: 'raise it by ALTER DATABASE … CONNECTION LIMIT',
} as const
const correctReplica = 'correct CARREL_DATABASE_REPLICA_URL, or leave it out'
const behind = ({ bytesBehind, secondsBehind }: Lag) =>
  `the replica is ${bytesBehind.toLocaleString('en')} bytes behind${secondsBehind === null ? '' : `, its newest change ${secondsBehind} s old`}`
const ofDatabase = 'which Carrel goes by: times in its log are wrong, and single sign-on may fail'
const byNtp = 'set the clock by NTP on every machine (timedatectl set-ntp true)'
const ago = (days: number) => `${days < 1 ? 'less than a day' : quantity(days, 'day')} ago`

/**
 * Writes a duration such as `12 hours`, `1.5 hours`, `90 seconds`: in the largest unit of which there are at
 * least two, or in seconds.
 */
function duration(seconds: number): string {
  const units = [
    [24 * 3_600, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [size, unit] = units.find(([one]) => seconds >= 2 * one) ?? [1, 'second']
  return quantity(Number((seconds / size).toFixed(1)), unit)
}
