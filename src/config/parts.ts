import { readFileSync, statSync } from 'node:fs'
import { readDatabaseAddress } from '../lib/database-address.ts'
import { isMissing } from '../lib/system-errors.ts'
import { type LoginMethod, passwordMethod } from '../model/accounts.ts'
import type { SecondFactorSetting } from '../model/factors.ts'
import type { KeptVersionLimits } from '../model/kept-versions.ts'
import { ConfigError } from './file.ts'
import { type FilesPlace, maxBucketFile } from './files-place.ts'
import type { Values } from './values.ts'

export type MailConfig = Readonly<{
  /** Address of the mail server, with the password. */
  smtpUrl: string
  /** True if a server without TLS gets no mail. */
  requireTls: boolean
  from: Readonly<{ name: string; address: string }>
  /** Address of the user interface, without a trailing slash. */
  uiUrl: string
  /** True if people may register, and not only set a new password. */
  registration: boolean
  /** Domains of email addresses that may register, in lower case; empty for all. */
  registrationDomains: readonly string[]
}>

export function mailOf({ value, required }: Values, baseUrl: string): MailConfig | null {
  const smtpUrl = value('CARREL_SMTP_URL')
  if (smtpUrl === null) return null
  const from = value('CARREL_MAIL_FROM')
  if (!from) throw new ConfigError('CARREL_MAIL_FROM: with CARREL_SMTP_URL, it must be set as well')
  return {
    smtpUrl,
    requireTls: required('CARREL_SMTP_TLS') === 'required',
    from,
    uiUrl: value('CARREL_UI_URL') ?? new URL(baseUrl).origin,
    registration: required('CARREL_REGISTRATION') === 'true',
    registrationDomains: required('CARREL_REGISTRATION_DOMAINS'),
  }
}

/** Limits of uploads in bytes, except for `count`, and for `lifetime` in ms. */
export type UploadLimits = Readonly<{
  size: number
  quota: number
  count: number
  free: number
  lifetime: number
}>

export const uploadsOf = ({ required }: Values, { kind }: FilesPlace): UploadLimits => ({
  size: Math.min(
    required('CARREL_UPLOAD_SIZE') * megabyte,
    kind === 'bucket' ? maxBucketFile : Number.POSITIVE_INFINITY,
  ),
  quota: required('CARREL_UPLOAD_QUOTA') * megabyte,
  count: required('CARREL_UPLOAD_COUNT'),
  free: required('CARREL_UPLOAD_FREE') * megabyte,
  lifetime: required('CARREL_UPLOAD_LIFETIME') * 3_600_000,
})

/** Times in ms: from SIGTERM until no more connections are taken, and then for requests under way. */
export type StopTimes = Readonly<{ delay: number; grace: number }>

export const stopOf = ({ required }: Values): StopTimes => ({
  delay: required('CARREL_DRAIN_DELAY') * 1000,
  grace: required('CARREL_STOP_GRACE') * 1000,
})

/** The repository's own name, logo and color in the console. */
export interface Look {
  readonly name: string
  /** A color as `#rrggbb`; null for that of the console. */
  readonly color: string | null
  readonly logo: Logo | null
}

interface Logo {
  readonly type: string
  readonly bytes: Uint8Array
}

/** Maximum size in bytes of a logo, which each visitor loads. */
const largestLogo = 512 * 1024

export function lookOf({ value, required }: Values): Look {
  const path = value('CARREL_LOGO')
  return {
    name: required('CARREL_NAME'),
    color: value('CARREL_COLOR'),
    logo: path === null ? null : readLogo(path),
  }
}

function readLogo(path: string): Logo {
  const refuse = (what: string) =>
    new ConfigError(`CARREL_LOGO: ${path} ${what}; it takes a PNG, JPEG, WebP or SVG file of up to 512 kB`)
  let bytes: Buffer
  try {
    const { size } = statSync(path)
    if (size > largestLogo) throw refuse(`has ${size} bytes`)
    bytes = readFileSync(path)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw refuse(isMissing(error) ? "doesn't exist" : "can't be read")
  }
  const type = pictureType(bytes)
  if (type === undefined) throw refuse('is no such picture')
  return { type, bytes }
}

/** Returns the type of a picture by its first bytes, whatever its name is. */
function pictureType(bytes: Buffer): string | undefined {
  const begins = bytes.toString('latin1', 0, 12)
  if (begins.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^RIFF.{4}WEBP/s.test(begins)) return 'image/webp'
  const text = bytes.toString('utf8')
  return /^\uFEFF?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<svg[\s/>]/s.test(text) ? 'image/svg+xml' : undefined
}

export interface SecondFactorConfig {
  /** The epersons who need a second factor to log in (L12). `off` without logins that could need it. */
  readonly secondFactor: SecondFactorSetting
  /** `all`: a directory and single sign-on need it, too. */
  readonly secondFactorLogins: 'password' | 'all'
}

export function secondFactorOf({ required }: Values, methods: readonly LoginMethod[]): SecondFactorConfig {
  const secondFactorLogins = required('CARREL_SECOND_FACTOR_LOGINS')
  const isPossible = secondFactorLogins === 'all' || methods.includes(passwordMethod)
  return { secondFactorLogins, secondFactor: isPossible ? required('CARREL_SECOND_FACTOR') : 'off' }
}

export type DatabaseConfig =
  | Readonly<{ kind: 'embedded' }>
  | Readonly<{
      kind: 'postgres'
      url: string
      replicaUrl: string | null
      poolSize: number
      queue: number
    }>

export function databaseOf({ value, required }: Values): DatabaseConfig {
  const url = value('CARREL_DATABASE_URL')
  const replicaUrl = value('CARREL_DATABASE_REPLICA_URL')
  if (url === null && replicaUrl !== null)
    throw new ConfigError('CARREL_DATABASE_REPLICA_URL: set CARREL_DATABASE_URL to the primary, as well')
  for (const key of ['CARREL_DATABASE_URL', 'CARREL_DATABASE_REPLICA_URL'] as const) {
    const address = readDatabaseAddress(value(key) ?? '')
    if (typeof address === 'string') throw new ConfigError(`${key}: ${address}`)
  }
  const [poolSize, queue] = [required('CARREL_DATABASE_POOL_SIZE'), required('CARREL_DATABASE_QUEUE')]
  return url === null ? { kind: 'embedded' } : { kind: 'postgres', url, replicaUrl, poolSize, queue }
}

export const keptVersionsOf = ({ required }: Values): KeptVersionLimits => ({
  days: required('CARREL_KEPT_VERSIONS'),
  bytes: required('CARREL_KEPT_VERSIONS_SIZE') * megabyte,
  held: {
    time: required('CARREL_SNAPSHOT_TIME') * 60_000,
    bytes: required('CARREL_SNAPSHOT_SIZE') * megabyte,
  },
})

export const megabyte = 1024 * 1024
