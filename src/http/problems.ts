import { accessTokenProblems } from './access-token-problems.ts'
import { entityProblems } from './entity-problems.ts'
import { itemProblems } from './item-problems.ts'
import { mailProblems } from './mail-problems.ts'
import { operatorProblems } from './operator-problems.ts'
import { recordProblems } from './record-problems.ts'
import { signOnProblems } from './sign-on-problems.ts'
import { uploadProblems } from './upload-problems.ts'

/**
 * The one catalogue of errors (contract E1). Every error that a client can get is an entry here. A thrown `Problem` becomes
 * `application/problem+json` in one place (`answer-problems.ts`), and `docs/reference/problems.md` is generated from this.
 */
interface Entry {
  readonly status: number
  readonly title: string
  /** For the documentation: when it happens, and what to do. */
  readonly help: string
}

export const problems = {
  'bad-request': {
    status: 400,
    title: 'The request is malformed',
    help: 'The request line, a header or the body does not have the form that HTTP or this API requires. The detail says what is wrong.',
  },
  'bad-parameter': {
    status: 400,
    title: 'A query parameter is not valid',
    help: 'The members `parameter`, `value`, `position`, `legal` and `nearest` say which one, where in it, and what would be right. Of more than 50 legal values, `legal` lists the first 50 and says how many more there are.',
  },
  'bad-on-behalf-of': {
    status: 400,
    title: 'X-On-Behalf-Of does not name an eperson',
    help: 'The header takes the UUID of one eperson who exists and may log in.',
  },
  'reason-required': {
    status: 400,
    title: 'Acting on behalf of someone needs a reason',
    help: 'This service is configured to require the header X-On-Behalf-Of-Reason (free text) with every X-On-Behalf-Of.',
  },
  ...signOnProblems,
  'login-failed': {
    status: 401,
    title: 'Login failed',
    help: 'The credentials or the token were not accepted. `WWW-Authenticate` lists the ways to log in.',
  },
  'logins-closed': {
    status: 403,
    title: 'Only administrators can log in at the moment',
    help: 'An active system-wide alert allows no other logins; `GET /api/system/systemwidealerts/search/active` has its message. The credentials were right. Try again when the alert is gone.',
  },
  'authentication-required': {
    status: 401,
    title: 'Authentication is required',
    help: 'Send `Authorization: Bearer <token>` with a token that is valid: not expired, and not ended by a logout.',
  },
  'csrf-cookie-missing': {
    status: 403,
    title: 'The CSRF cookie is missing',
    help: 'Use the new pair of this response, or get one from `GET /api/security/csrf`. Send its value both as the cookie and in the header X-XSRF-TOKEN.',
  },
  'csrf-header-missing': {
    status: 403,
    title: 'The CSRF header is missing',
    help: 'Send the value of the CSRF cookie in the header X-XSRF-TOKEN, too.',
  },
  'csrf-mismatch': {
    status: 403,
    title: 'The CSRF cookie and header differ',
    help: 'The cookie and the header must have the same value. Use the newest one that the service issued.',
  },
  'csrf-not-ours': {
    status: 403,
    title: 'The CSRF value was not issued here',
    help: 'The value is not signed by this service. Use the new pair of this response.',
  },
  'origin-not-allowed': {
    status: 403,
    title: 'The origin is not allowed',
    help: 'Pages of this origin may not call the service. The operator lists the allowed ones in CARREL_ALLOWED_ORIGINS.',
  },
  'short-lived-token-refused': {
    status: 403,
    title: 'This endpoint does not accept short-lived tokens',
    help: 'Login, refresh, short-lived tokens and changing a password do not take `?authentication-token=`. Send a login token in the Authorization header.',
  },
  'on-behalf-of-refused': {
    status: 403,
    title: 'Acting on behalf of this eperson is refused',
    help: 'Only administrators may act on behalf of others, and only if the service allows it (CARREL_LOGIN_ON_BEHALF_OF). Nobody may act as an administrator, log in as somebody else, or change somebody else’s password.',
  },
  'wrong-password': {
    status: 403,
    title: 'The current password is wrong',
    help: 'To change a password, send the current one as `current_password`. A token alone is not enough.',
  },
  'access-denied': {
    status: 403,
    title: 'Access is denied',
    help: 'The token is valid, but this eperson does not have the right to do this.',
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    help: 'Start at `GET /api`, which links to everything there is.',
  },
  'unknown-entity': {
    status: 404,
    title: 'There is no such entity',
    help: 'The member `legal` lists the entities that the caller may read; `GET {query_base}` describes them.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed here',
    help: 'The header Allow lists the methods that are allowed.',
  },
  'not-acceptable': {
    status: 406,
    title: 'None of the accepted media types can be sent',
    help: 'The member `legal` lists the media types that can be sent.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    help: 'The whole request must arrive within 30 seconds, or what CARREL_REQUEST_TIMEOUT says.',
  },
  'precondition-failed': {
    status: 412,
    title: 'The precondition does not hold',
    help: 'What is at this address has changed since the client got the ETag that it sent in If-Match, or there is something already where If-None-Match asked for nothing. Get it again; download a file again from the start.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    help: 'The maximum is 16 kB, 256 kB for messages of identity providers and descriptions of entities, 1 MiB for queries and for single records, and CARREL_IMPORT_SIZE for the records of an import.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type of the body is not supported',
    help: 'Login takes `application/x-www-form-urlencoded`. Changing a password takes `application/json-patch+json` or `application/json`. Queries, records and descriptions of entities take `application/json`. Patches of records take `application/json-patch+json` or `application/merge-patch+json`. An empty body, or `{}`, may also be JSON.',
  },
  'range-not-satisfiable': {
    status: 416,
    title: 'The range is outside the file',
    help: 'The header Content-Range has the size of the file in bytes. Ranges count from 0.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The expectation cannot be met',
    help: 'The only value of the header Expect that this service takes is 100-continue.',
  },
  'host-not-allowed': {
    status: 421,
    title: 'This service does not answer for this host',
    help: 'The request was sent to a host that is neither that of CARREL_BASE_URL, nor localhost or another loopback address, nor in CARREL_ALLOWED_HOSTS. If it came through a reverse proxy, the proxy should pass on the Host of its clients (nginx: `proxy_set_header Host $host;`), or its own name for the service belongs in CARREL_ALLOWED_HOSTS.',
  },
  ...mailProblems,
  'patch-refused': {
    status: 422,
    title: 'The patch cannot be applied',
    help: 'The body must be a JSON Patch (RFC 6902) of operations that this thing takes. The detail names the operation by its index, from 0, and what would be right. A password is changed by `[{"op": "add", "path": "/password", "value": {"new_password": "…", "current_password": "…"}}]`, by itself.',
  },
  'change-refused': {
    status: 422,
    title: 'The change is refused',
    help: 'The request is well-formed, but what it asks for can’t be, such as a second eperson with the same email address, a group that would be in itself, a service without an administrator, a value that Carrel can’t keep, or more than there may be. The detail says why, and what to change first.',
  },
  ...accessTokenProblems,
  'password-refused': {
    status: 422,
    title: 'The new password is refused',
    help: 'A new password must have 8 to 4,096 characters of any kind. It can’t be one of the most common passwords, or the email address.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    help: 'The maximum for all headers together is 64 kB.',
  },
  'too-many-attempts': {
    status: 429,
    title: 'Too many attempts to log in',
    help: 'Too many wrong passwords came for this account or from this network. Try again after the number of seconds in Retry-After. Networks that the account has logged in from within 90 days are counted by themselves, so somebody elsewhere can’t keep its owner out.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    help: 'This is a fault of the service, not of the request. Tell its operator the member `id`, which is also in the log of the service.',
  },
  busy: {
    status: 503,
    title: 'The service is busy',
    help: 'Too many passwords or messages of identity providers are being checked, too many files are being sent, or too many records are being written. Try again after the number of seconds in Retry-After.',
  },
  'query-timeout': {
    status: 503,
    title: 'The query took too long',
    help: 'It was ended after the number of seconds that the parameter `timeout` gave.',
  },
  'directory-unavailable': {
    status: 503,
    title: 'The directory does not answer',
    help: 'No server of the LDAP directory that verifies this password could be used. The log of the service says why. Try again after the number of seconds in Retry-After.',
  },
  'store-unavailable': {
    status: 503,
    title: 'The store does not answer',
    help: 'The database cannot be reached, is full, or has lost a file. Try again after the number of seconds in Retry-After.',
  },
  ...itemProblems,
  ...recordProblems,
  ...uploadProblems,
  ...operatorProblems,
  ...entityProblems,
} as const satisfies Record<string, Entry>

export type ProblemCode = keyof typeof problems

export interface ProblemExtras {
  readonly headers?: Readonly<Record<string, string>>
  /** Extension members of the body (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** What a handler throws to refuse a request. The client sees `detail`, so it must not contain a secret. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly headers: Readonly<Record<string, string>>
  readonly members: Readonly<Record<string, unknown>>

  constructor(code: ProblemCode, detail: string, extras: ProblemExtras = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.code = code
    this.headers = extras.headers ?? {}
    this.members = extras.members ?? {}
  }

  get status(): number {
    return problems[this.code].status
  }
}
