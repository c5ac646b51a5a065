import { type BucketPlace, placeText } from '../config/files-place.ts'
import { FilesFull, FilesUnavailable, MisconfiguredFiles, UnknownRequest } from '../lib/errors.ts'

/** True if there is no such object or upload. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name)

const otherRegion = 'the bucket is in another region; set CARREL_FILES_REGION'
const wrongRegion = 'the region is wrong; set CARREL_FILES_REGION'
const otherKey =
  'the server does not know the access key; see whether the credentials are those of this server'
const noCredentials =
  'there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role'
const isFull = 'the bucket is full; delete files, or have its quota or its disks enlarged'

/** Codes of errors that say the settings are wrong, with what would be right. */
const wrong: Readonly<Record<string, string>> = {
  NoSuchBucket: 'there is no such bucket',
  InvalidBucketName: 'the name of the bucket is not one that the server takes',
  InvalidAccessKeyId: otherKey,
  // Some servers answer so to a key that they don't know.
  SignatureDoesNotMatch:
    'the secret of the access key is wrong, or the server does not know the access key; see whether both are those of this server',
  CredentialsProviderError: noCredentials,
  MissingSecurityHeader: noCredentials,
  ExpiredToken: 'the credentials have expired',
  InvalidToken: 'the session token of the credentials is wrong',
  AccessDenied:
    'the credentials give no right to this; they must be allowed to list the bucket, and to read, write and delete in it',
  AllAccessDisabled: 'the account of the bucket is disabled; ask its operator',
  AccountProblem: 'the account of the bucket has a problem; ask its operator',
  NotSignedUp: 'the account of the credentials may not use this service; ask its operator',
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: wrongRegion,
  InvalidRegion: wrongRegion,
  IllegalLocationConstraintException: wrongRegion,
}

/** Codes of errors whose cause passes, or is cured at the bucket. */
const passing: Readonly<Record<string, string>> = {
  InvalidObjectState:
    'an object was moved to an archive; have it restored, and see that no rule of the bucket archives objects',
  RequestTimeTooSkewed: 'the clock of this machine, or that of the server, is wrong; set it',
  SlowDown: 'it has too many requests',
  MethodNotAllowed: 'the server does not allow a request that Carrel needs',
}

/** Codes of servers that are full, which have many. */
const full =
  /^(QuotaExceeded|\w*Quota\w*Exceeded|InsufficientStorage|XMinioStorageFull|XMinioAdminBucketQuotaExceeded|NotEnoughSpace|EDQUOT|ENOSPC)$/i

/** Causes of answers that have no code, such as those to HEAD. */
const byStatus: Readonly<Record<number, string>> = {
  301: otherRegion,
  307: otherRegion,
  400: 'the server refuses the request, most often since the region is wrong; set CARREL_FILES_REGION',
  401: 'the credentials are wrong',
  403: 'the credentials are wrong, or give no right to this',
}

/** Says what is wrong, without the server's message, which may hold parts of credentials. */
export function translate(error: unknown, place: BucketPlace): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const { $metadata, code } = error as Error & {
    readonly $metadata?: { readonly httpStatusCode?: number }
    readonly code?: string
  }
  const status = $metadata?.httpStatusCode
  // The message of a cause is logged; an answer's is the server's.
  const cause = status === undefined ? { cause: error } : {}
  const { endpoint } = place
  const where = `${placeText(place)}${endpoint === null ? '' : ` at ${endpoint}`}`
  if (status === 507 || full.test(error.name))
    return new FilesFull(`${where}: ${isFull} (${error.name})`, cause)
  if (status === 501)
    return new UnknownRequest(`${where}: the server does not know a request that Carrel needs (status 501)`)
  const known =
    wrong[error.name] ??
    (/^Unknown(Error)?$/.test(error.name) && status !== undefined ? byStatus[status] : undefined) ??
    (/region/i.test(error.message) ? 'there is no region; set CARREL_FILES_REGION' : undefined)
  if (known !== undefined && (status === undefined || status < 500))
    return new MisconfiguredFiles(`${where}: ${known} (${error.name})`, cause)
  const reason =
    passing[error.name] ??
    code ??
    (error.name === 'TimeoutError' || error.name === 'AbortError' ? 'it does not answer in time' : error.name)
  return new FilesUnavailable(
    `${where} can't be used: ${reason}${status === undefined ? '' : ` (status ${status})`}; it is tried again with each request`,
    cause,
  )
}
