/**
 * The one catalogue of errors (contract E1). Everything that a client can be refused for is an entry here;
 * the HTTP side turns a thrown `Problem` into `application/problem+json` in one place, and
 * `docs/reference/problems.md` is checked against this list by a test.
 */
interface Entry {
  readonly status: number
  readonly title: string
  /** For the reader of the documentation: when it happens and what helps. */
  readonly help: string
}

export const problems = {
  'bad-request': {
    status: 400,
    title: 'The request is malformed',
    help: 'Something in the request line, a header or the body is not of the form that HTTP or this API asks for. The detail says what.',
  },
  'bad-parameter': {
    status: 400,
    title: 'A query parameter is not valid',
    help: 'The members `parameter`, `value`, `position`, `legal` and `nearest` say which one, where in it, and what would be right. Of more than 50 legal values, `legal` lists the first 50 and says how many more there are.',
  },
  'bad-on-behalf-of': {
    status: 400,
    title: 'X-On-Behalf-Of does not name an eperson',
    help: 'The header takes the uuid of one existing eperson.',
  },
  'reason-required': {
    status: 400,
    title: 'Acting on behalf of someone needs a reason',
    help: 'This service is configured to ask for the header X-On-Behalf-Of-Reason (free text) with every X-On-Behalf-Of.',
  },
  'redirect-not-allowed': {
    status: 400,
    title: 'The address to return to is not allowed',
    help: 'After single sign-on a browser is sent only to origins in CARREL_ALLOWED_ORIGINS, or of the service itself. Nothing was begun.',
  },
  'sign-on-not-begun': {
    status: 400,
    title: 'This login was not begun here',
    help: 'What the identity provider sent belongs to no login that this browser has begun within the last 15 minutes, or to one that is finished. Begin again.',
  },
  'logout-not-understood': {
    status: 400,
    title: 'The logout message is not acceptable',
    help: 'A logout that an identity provider asks for must be signed by it, recent, and meant for this service. Nobody was logged out.',
  },
  'login-failed': {
    status: 401,
    title: 'Login failed',
    help: 'The credentials or the token were not accepted. `WWW-Authenticate` lists the ways to log in.',
  },
  'sign-on-refused': {
    status: 401,
    title: 'Single sign-on failed',
    help: 'The identity provider did not log you in, or what it sent can not be accepted. The log of the service says why.',
  },
  'authentication-required': {
    status: 401,
    title: 'Authentication is required',
    help: 'Send `Authorization: Bearer <token>` with a token that has neither expired nor been logged out.',
  },
  'csrf-cookie-missing': {
    status: 403,
    title: 'The CSRF cookie is missing',
    help: 'Get a pair from `GET /api/security/csrf`, or use the one that comes with this answer: send the value both as the cookie and in the header X-XSRF-TOKEN.',
  },
  'csrf-header-missing': {
    status: 403,
    title: 'The CSRF header is missing',
    help: 'Repeat the value of the CSRF cookie in the header X-XSRF-TOKEN.',
  },
  'csrf-mismatch': {
    status: 403,
    title: 'CSRF cookie and header differ',
    help: 'Cookie and header must carry the same value; use the newest that the service handed out.',
  },
  'csrf-not-ours': {
    status: 403,
    title: 'The CSRF value was not issued here',
    help: 'The value is not signed by this service. Use the pair that comes with this answer.',
  },
  'origin-not-allowed': {
    status: 403,
    title: 'The origin is not allowed',
    help: 'Pages of this origin may not call the service. The operator lists the allowed ones in CARREL_ALLOWED_ORIGINS.',
  },
  'short-lived-token-refused': {
    status: 403,
    title: 'A short-lived token does not open this endpoint',
    help: 'Logging in, refreshing, making short-lived tokens and changing a password need a login token in the Authorization header; `?authentication-token=` is refused there.',
  },
  'on-behalf-of-refused': {
    status: 403,
    title: 'Acting on behalf of this eperson is refused',
    help: 'Only an administrator may act on behalf of someone, only if the service allows it (CARREL_LOGIN_ON_BEHALF_OF), never at login, never as another administrator, and nobody’s password is changed that way.',
  },
  'account-refused': {
    status: 403,
    title: 'There is no account for you here',
    help: 'The identity provider vouches for you, but no eperson could be found or created. The operator decides who may log in; the log says which rule it was.',
  },
  'wrong-password': {
    status: 403,
    title: 'The current password is wrong',
    help: 'Whoever changes a password shows to know the one that counts now, as `current_password`; a token alone is not enough.',
  },
  'access-denied': {
    status: 403,
    title: 'Access is denied',
    help: 'The token is valid, but this eperson may not do that.',
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    help: 'Start at `GET /api`, which links what there is.',
  },
  'unknown-entity': {
    status: 404,
    title: 'There is no such entity',
    help: 'The member `legal` lists the entities that the caller may read; `GET {query_base}` describes them.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed here',
    help: 'The header Allow lists the methods that are.',
  },
  'not-acceptable': {
    status: 406,
    title: 'None of the accepted media types can be sent',
    help: 'The member `legal` lists what can be.',
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    help: 'The whole request must arrive within 30 seconds.',
  },
  'precondition-failed': {
    status: 412,
    title: 'The precondition does not hold',
    help: 'The header If-Match names another file than there is now. Fetch it anew.',
  },
  'body-too-large': {
    status: 413,
    title: 'The body is too large',
    help: 'Bodies of this API are at most 16 kB, messages of identity providers at most 256 kB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type of the body is not supported',
    help: 'Credentials are sent as `application/x-www-form-urlencoded`, a change of a password as `application/json` or `application/json-patch+json`; an empty body or `{}` may also be called JSON.',
  },
  'range-not-satisfiable': {
    status: 416,
    title: 'The range is outside of the file',
    help: 'The header Content-Range says how many bytes the file has; ranges count from 0.',
  },
  'expectation-failed': {
    status: 417,
    title: 'The expectation can not be met',
    help: 'The header Expect takes 100-continue only.',
  },
  'patch-refused': {
    status: 422,
    title: 'The patch is not one that can be applied',
    help: 'An eperson takes one operation: `[{"op": "add", "path": "/password", "value": {"new_password": "…", "current_password": "…"}}]`.',
  },
  'password-refused': {
    status: 422,
    title: 'The new password is refused',
    help: 'A new password has at least 8 characters, whichever they are.',
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    help: 'Headers together are at most 64 kB.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    help: 'A fault of the service, not of the request. The member `id` is also in the log of the service: tell its operator.',
  },
  'provider-unavailable': {
    status: 502,
    title: 'The identity provider does not answer',
    help: 'The service could not reach the identity provider, or did not understand it. Try again later, or log in another way.',
  },
  busy: {
    status: 503,
    title: 'The service is busy',
    help: 'Too many passwords are being checked, or files being sent, at once. Repeat after the seconds in Retry-After.',
  },
  'store-unavailable': {
    status: 503,
    title: 'The store does not answer',
    help: 'The database is out of reach or has no room. Repeat after the seconds in Retry-After.',
  },
} as const satisfies Record<string, Entry>

export type ProblemCode = keyof typeof problems

export interface ProblemExtras {
  readonly headers?: Readonly<Record<string, string>>
  /** Extension members of the body (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** What a handler throws to refuse a request. `detail` is shown to the client: no secret belongs in it. */
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
