import { type BucketPlace, placeText } from '../config/files-place.ts'
import { FilesUnavailable, MisconfiguredFiles } from '../lib/errors.ts'

/** True if there is no such object or upload. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && ['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name)

/** Errors by which a server says that the settings are wrong. An answer to HEAD has only a status. */
const wrong: Readonly<Record<string, string>> = {
  NoSuchBucket: 'there is no such bucket',
  InvalidAccessKeyId:
    'the server does not know the access key; see whether the credentials are those of this server',
  SignatureDoesNotMatch: 'the secret of the access key is wrong',
  CredentialsProviderError:
    'there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role',
  ExpiredToken: 'the credentials have expired',
  InvalidToken: 'the session token of the credentials is wrong',
  AccessDenied:
    'the credentials give no right to this; they must be allowed to list the bucket, and to read, write and delete in it',
  PermanentRedirect: 'the bucket is in another region; set CARREL_FILES_REGION',
  AuthorizationHeaderMalformed: 'the region is wrong; set CARREL_FILES_REGION',
  '301': 'the bucket is in another region; set CARREL_FILES_REGION',
  '403': 'the credentials are wrong, or give no right to this',
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
  const known =
    wrong[error.name] ??
    wrong[`${status}`] ??
    (/region/i.test(error.message) ? 'there is no region; set CARREL_FILES_REGION' : undefined)
  if (known !== undefined && (status === undefined || status < 500))
    return new MisconfiguredFiles(`${where}: ${known} (${error.name})`, cause)
  const reason =
    code ??
    (error.name === 'TimeoutError' || error.name === 'AbortError' ? 'it does not answer in time' : error.name)
  return new FilesUnavailable(
    `${where} can't be used: ${reason}${status === undefined ? '' : ` (status ${status})`}; it is tried again with each request`,
    cause,
  )
}
