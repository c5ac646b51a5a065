/**
 * The one catalog of errors (contract E1): every error that a client can get is an entry here. A thrown
 * `Problem` becomes `application/problem+json` in one place (`answer-problems.ts`), and
 * `docs/reference/problems.md` is generated from this.
 */
interface Entry {
  readonly status: number
  readonly title: string
  /** The text for the documentation: when the problem occurs, and what to do. */
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
  'snapshot-expired': {
    status: 410,
    title: 'The snapshot is no longer kept',
    help: 'What the parameter `snapshot` names is kept for some minutes after it has changed (CARREL_SNAPSHOT_TIME). Send the request without the parameter, and go on with the `X-Snapshot` of that answer. A program that follows changes (`since`) reads the records again.',
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
  'redirect-not-allowed': {
    status: 400,
    title: 'The address to return to is not allowed',
    help: 'After single sign-on, a browser is sent only to origins in CARREL_ALLOWED_ORIGINS, or to the service itself. No login was started.',
  },
  'sign-on-not-begun': {
    status: 400,
    title: 'This login was not started here',
    help: 'The message of the identity provider does not belong to a login that this browser started within the last 15 minutes, or that login is finished. Start again.',
  },
  'logout-not-understood': {
    status: 400,
    title: 'The logout message is not valid',
    help: 'A logout message of an identity provider must be signed by the provider, recent, and addressed to this service. Nobody was logged out, and the provider could not be told. Open this service and log out there.',
  },
  'sign-on-refused': {
    status: 401,
    title: 'Single sign-on failed',
    help: 'The identity provider did not log you in, or its response is not valid. The log of the service says why.',
  },
  'account-refused': {
    status: 403,
    title: 'There is no account for you here',
    help: 'The identity provider knows you, but this service has no eperson for you and did not create one. The operator decides who may log in; the log of the service names the rule.',
  },
  'provider-unavailable': {
    status: 502,
    title: 'The identity provider does not answer',
    help: 'The service could not reach the identity provider, or could not read its response. Try again later, or log in another way.',
  },
  'login-failed': {
    status: 401,
    title: 'Login failed',
    help: 'The credentials or the token were not accepted. `WWW-Authenticate` lists the ways to log in.',
  },
  'second-factor-required': {
    status: 401,
    title: 'A second factor is required',
    help: 'The password was right, but the account also has a second factor. The member `factors` names the kinds (`totp`, `webauthn`, `recovery`), as `WWW-Authenticate` does, and `ticket` stands for the password once, for three minutes: send it to `POST {api}/authn/login` as a form with one of `totp`, `webauthn` or `recovery`. A wrong or used code gets this answer, too. Elsewhere, without `ticket`: the session began without the factor, and what was asked needs it (CARREL_SECOND_FACTOR). Log in again with it.',
  },
  'second-factor-enrolment-required': {
    status: 401,
    title: 'The account needs a second factor and has none',
    help: 'The operator demands a second factor of this account (CARREL_SECOND_FACTOR). Enrol one with `POST {api}/authn/factors/enrolments`, with the member `ticket` in place of a session; it is valid for fifteen minutes. The console does this after the login form. Elsewhere, without `ticket`: log in again, and enrol one.',
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
    help: 'Only administrators may act on behalf of others, and only if the service allows it (CARREL_LOGIN_ON_BEHALF_OF). Nobody may act as an administrator, log in as someone else, or change someone else’s password.',
  },
  'wrong-password': {
    status: 403,
    title: 'The current password is wrong',
    help: 'To change a password, send the current one as `current_password`. A token alone is not enough.',
  },
  'proof-refused': {
    status: 403,
    title: 'The proof of a factor is missing or wrong',
    help: 'Changes of factors need a fresh proof in the member `proof`: a code, a recovery code or an answer of a passkey; while there is no factor, the password, or without one a login of the last ten minutes. The member `factors` lists what is taken. A code works once.',
  },
  'second-factor-missing': {
    status: 403,
    title: 'The session began without the second factor',
    help: 'Access tokens are made only in a session that began with the second factor, if the account has one or must have one. Log out, and log in again with it.',
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
  'mail-token-refused': {
    status: 400,
    title: 'The link of the mail is not valid',
    help: 'A link in a mail works once, for one hour, and only for what it was sent for. Ask for another one.',
  },
  'registration-refused': {
    status: 403,
    title: 'Nobody can register with this address',
    help: 'The operator decides whether people may register, and with email addresses of which domains (CARREL_REGISTRATION, CARREL_REGISTRATION_DOMAINS).',
  },
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
  'factor-refused': {
    status: 422,
    title: 'The factor cannot be taken',
    help: 'The description of the factor is not valid, the enrolment is too old or was begun by another, the first code or the answer of the passkey is wrong, or there are as many factors as there may be (ten, two of them TOTP). The detail says which.',
  },
  'access-token-refused': {
    status: 403,
    title: 'The access token is not for this',
    help: 'An access token does only what its scope says. Whatever it says, none logs in, makes tokens, acts on behalf of someone, or changes passwords, epersons and groups: use a login token.',
  },
  'access-token-invalid': {
    status: 422,
    title: 'No such access token can be made',
    help: 'The detail says which member of the body is wrong, and what would be right.',
  },
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
    help: 'Too many wrong passwords came for this account or from this network. Try again after the number of seconds in Retry-After. Networks that the account has logged in from within 90 days are counted by themselves, so someone elsewhere can’t keep its owner out.',
  },
  'internal-error': {
    status: 500,
    title: 'The service failed',
    help: 'This is a fault of the service, not of the request. Tell its operator the member `requestId`, which is also in the log of the service.',
  },
  busy: {
    status: 503,
    title: 'The service is busy',
    help: 'Too many passwords or messages of identity providers are being checked, too many files are being sent or are open, too many records are being written, or the service is starting or stopping. Try again after the number of seconds in Retry-After.',
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
  'files-unavailable': {
    status: 503,
    title: 'The files can’t be reached',
    help: 'The bucket with the contents of files does not answer, or refuses the service. The log of the service says why. Everything else goes on. Try again after the number of seconds in Retry-After.',
  },
  'files-full': {
    status: 507,
    title: 'The files have no more room',
    help: 'All files together may have as many megabytes as the operator allows (CARREL_FILES_QUOTA), and as the bucket has room for. Delete some, or ask the operator for more.',
  },
  'not-writable': {
    status: 403,
    title: 'Records of this entity can’t be written',
    help: 'Single records are written in imported entities that an administrator has opened for writing, with `carrel entity writers`, and only by those whom the rule names.',
  },
  'record-refused': {
    status: 422,
    title: 'The record is refused',
    help: 'The entity can’t have the record that the request makes: the detail says which field, or which operation of a patch, is wrong, and the members `pointer`, `operation` and `nearest` say it to programs. Nothing was changed.',
  },
  'record-referenced': {
    status: 409,
    title: 'Other records reference the record',
    help: 'A field of another record has the key of this one, and is declared to reference it. The member `referenced` names the entity, the field and the first of these records; change or delete them first.',
  },
  'upload-offset': {
    status: 409,
    title: 'The upload goes on at another offset',
    help: 'Ask `HEAD` of the upload for its Upload-Offset, and send the bytes from there on.',
  },
  'tus-version': {
    status: 412,
    title: 'The version of tus is missing or unknown',
    help: 'Send `Tus-Resumable: 1.0.0` with every request to an upload.',
  },
  'process-state': {
    status: 422,
    title: 'The process is in another state',
    help: 'What has ended can’t be cancelled, what runs can’t be removed, and only some processes can be resumed. The detail says which it is.',
  },
  'upload-in-use': {
    status: 423,
    title: 'The upload is in use',
    help: 'Another request sends this upload, or something is made of it. Try again after the number of seconds in Retry-After.',
  },
  'no-room': {
    status: 507,
    title: 'There is no room for it',
    help: 'The uploads of this eperson, or the disk, can’t take so much. The detail says which limit it is (CARREL_UPLOAD_…). Remove uploads that are not needed any more.',
  },
  'secret-set': {
    status: 409,
    title: 'The secret is set by the configuration',
    help: 'Where CARREL_TOKEN_SECRET sets the secret that signs tokens, only the operator can change it, on every node: the new one and a comma before the old one.',
  },
  'explanation-refused': {
    status: 422,
    title: 'The login can’t be explained',
    help: 'The body, the provider or the assertion isn’t what it has to be; the detail says what would be right. Nobody is logged in by this, and nothing is changed.',
  },
  'entity-conflict': {
    status: 409,
    title: 'The entity does not allow this',
    help: 'The name belongs to a built-in entity or to one of another kind, or an import of the entity is under way. The detail says which.',
  },
  'entity-refused': {
    status: 422,
    title: 'The description of the entity cannot be taken',
    help: 'The member `member` is a JSON pointer to what is wrong in the body; `legal` and `nearest` say what would be right.',
  },
} as const satisfies Record<string, Entry>

export type ProblemCode = keyof typeof problems

export interface ProblemExtras {
  readonly headers?: Readonly<Record<string, string>>
  /** Extension members of the body (RFC 9457 §3.2). */
  readonly members?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** Thrown by a handler to refuse a request. The client sees `detail`, so it must not contain a secret. */
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
