import type { Contracts } from '../http/contract.ts'
import { Eperson, SpecialGroupPage } from '../http/resources/schemas.ts'
import {
  always,
  answer,
  closed,
  JsonPatch,
  json,
  links,
  nothing,
  oneOf,
  paging,
  parameter,
  Type,
  text,
  uri,
} from '../http/schema.ts'
import {
  AccessToken,
  AccessTokenPage,
  Login,
  NewAccessToken,
  Registration,
  Session,
  SessionPage,
  ShortLivedToken,
  Status,
  WantedAccessToken,
} from './schemas.ts'

/** Headers of an answer that brings a new CSRF pair. */
const pair = { 'DSPACE-XSRF-TOKEN': text, 'Set-Cookie': text }
const maybe = Type.Optional(text)
const ended = (what: string) => ({ 204: nothing(what) })
const token = parameter(text, 'The token of a mail.')

export const contracts = {
  logIn: {
    summary: 'Log in, refresh a token, or trade a single sign-on',
    description:
      'With `user` and `password`: a new session. With a bearer token and no body: a new token of the same session. With the cookie of a single sign-on and no body: its session.',
    tag: 'Authentication',
    body: { 'application/x-www-form-urlencoded': Login },
    answers: { 200: nothing('The token is in the header.', { Authorization: text, ...pair }) },
    problems: [
      'login-failed',
      'logins-closed',
      'on-behalf-of-refused',
      'short-lived-token-refused',
      'too-many-attempts',
      'busy',
      'directory-unavailable',
      'account-refused',
    ],
  },
  logOut: {
    summary: 'End every token of the caller',
    tag: 'Authentication',
    answers: {
      204: nothing('They have ended. Acting on behalf of somebody ends nothing.', { ...pair, Link: maybe }),
      302: nothing('The same, where CARREL_LOGOUT_PAGE_URL is set.', { ...pair, Location: uri, Link: maybe }),
    },
  },
  showStatus: {
    summary: 'Who is asking',
    tag: 'Authentication',
    answers: { 200: answer('Also without a token.', json(Status), { 'WWW-Authenticate': maybe }) },
  },
  listSpecialGroups: {
    summary: 'The special groups of the caller',
    tag: 'Authentication',
    query: paging,
    answers: { 200: answer('A page.', json(SpecialGroupPage)) },
    problems: ['bad-parameter'],
  },
  issueShortLivedToken: {
    summary: 'A token for an address that is opened without headers',
    tag: 'Authentication',
    answers: { 200: answer('Valid for two seconds.', json(ShortLivedToken)) },
    problems: ['short-lived-token-refused'],
  },
  listSessions: {
    summary: 'Where the caller is logged in',
    tag: 'Authentication',
    query: paging,
    answers: { 200: answer('A page.', json(SessionPage)) },
    problems: ['bad-parameter', 'short-lived-token-refused'],
  },
  showSession: {
    summary: 'One of the caller’s sessions',
    tag: 'Authentication',
    answers: { 200: answer('The session.', json(Session)) },
    problems: ['not-found', 'short-lived-token-refused'],
  },
  endOtherSessions: {
    summary: 'End all sessions of the caller but the one that asks',
    tag: 'Authentication',
    answers: ended('They have ended.'),
    problems: ['short-lived-token-refused'],
  },
  endSession: {
    summary: 'End one of the caller’s sessions',
    tag: 'Authentication',
    answers: ended('It has ended.'),
    problems: ['not-found', 'short-lived-token-refused'],
  },
  listAccessTokens: {
    summary: 'The caller’s access tokens',
    tag: 'Authentication',
    query: paging,
    answers: { 200: answer('A page.', json(AccessTokenPage)) },
    problems: ['bad-parameter', 'short-lived-token-refused'],
  },
  addAccessToken: {
    summary: 'Make an access token for a program',
    tag: 'Authentication',
    body: json(WantedAccessToken),
    answers: {
      201: answer('With its secret, which is shown only now.', json(NewAccessToken), { Location: uri }),
    },
    problems: ['access-denied', 'access-token-invalid', 'short-lived-token-refused'],
  },
  showAccessToken: {
    summary: 'One of the caller’s access tokens',
    tag: 'Authentication',
    answers: { 200: answer('Without its secret.', json(AccessToken)) },
    problems: ['not-found', 'short-lived-token-refused'],
  },
  revokeAccessToken: {
    summary: 'Revoke one of the caller’s access tokens',
    tag: 'Authentication',
    answers: ended('It opens nothing any more.'),
    problems: ['not-found', 'short-lived-token-refused'],
  },
  showRegistrations: {
    summary: 'Links of registration',
    tag: 'Epersons and groups',
    answers: {
      200: answer(
        'The links.',
        json(closed({ type: always('registrations'), _links: links('self', 'findByToken') })),
      ),
    },
  },
  requestRegistration: {
    summary: 'Ask for a mail with a link',
    description: 'The answer is the same for every address.',
    tag: 'Epersons and groups',
    query: {
      accountRequestType: parameter(oneOf('register', 'forgot'), 'A new account, or a new password.'),
    },
    body: json(Type.Object({ email: Type.String({ format: 'email', maxLength: 254 }) })),
    answers: { 201: nothing('A mail is sent, if there is anything to send.', pair) },
    problems: ['bad-parameter', 'registration-refused', 'short-lived-token-refused', 'too-many-attempts'],
  },
  findRegistration: {
    summary: 'What the token of a mail is for',
    tag: 'Epersons and groups',
    query: { token: { ...token, required: true } },
    answers: { 200: answer('Whose it is.', json(Registration)) },
    problems: ['bad-parameter', 'not-found'],
  },
  changeEperson: {
    summary: 'Change a password, or an eperson',
    description:
      'Epersons change their own password and profile, administrators everything of everybody. With the token of a mail, a forgotten password is set.',
    tag: 'Epersons and groups',
    query: { token },
    body: Object.fromEntries(
      ['application/json-patch+json', 'application/json'].map(type => [type, JsonPatch]),
    ),
    answers: {
      200: answer('The eperson. After a change of password, with a new CSRF pair.', json(Eperson), {
        'DSPACE-XSRF-TOKEN': maybe,
        'Set-Cookie': maybe,
      }),
    },
    problems: [
      'bad-parameter',
      'authentication-required',
      'access-denied',
      'wrong-password',
      'short-lived-token-refused',
      'not-found',
      'patch-refused',
      'change-refused',
      'password-refused',
      'mail-token-refused',
      'too-many-attempts',
      'busy',
    ],
  },
  endSessionsOf: {
    summary: 'End all sessions of an eperson',
    tag: 'Epersons and groups',
    answers: ended('They have ended.'),
    problems: ['not-found', 'short-lived-token-refused'],
  },
  listAccessTokensOf: {
    summary: 'An eperson’s access tokens',
    tag: 'Epersons and groups',
    query: paging,
    answers: { 200: answer('A page.', json(AccessTokenPage)) },
    problems: ['bad-parameter', 'not-found', 'short-lived-token-refused'],
  },
  revokeAccessTokensOf: {
    summary: 'Revoke all access tokens of an eperson',
    tag: 'Epersons and groups',
    answers: ended('They open nothing any more.'),
    problems: ['not-found', 'short-lived-token-refused'],
  },
  revokeAccessTokenOf: {
    summary: 'Revoke an access token of an eperson',
    tag: 'Epersons and groups',
    answers: ended('It opens nothing any more.'),
    problems: ['not-found', 'short-lived-token-refused'],
  },
} as const satisfies Contracts
