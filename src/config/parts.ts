import { ConfigError } from './file.ts'
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

export const uploadsOf = ({ required }: Values): UploadLimits => ({
  size: required('CARREL_UPLOAD_SIZE') * megabyte,
  quota: required('CARREL_UPLOAD_QUOTA') * megabyte,
  count: required('CARREL_UPLOAD_COUNT'),
  free: required('CARREL_UPLOAD_FREE') * megabyte,
  lifetime: required('CARREL_UPLOAD_LIFETIME') * 3_600_000,
})

const megabyte = 1024 * 1024
