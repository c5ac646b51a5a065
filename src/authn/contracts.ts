import type { Contracts } from '../http/contract.ts'
import { SpecialGroupPage } from '../http/resources/schemas.ts'
import { answer, json, listOf, nothing, Type, text, uri } from '../http/schema.ts'
import {
  AccessToken,
  AccessTokenPage,
  Login,
  NewAccessToken,
  pair,
  Session,
  SessionPage,
  ShortLivedToken,
  Status,
  WantedAccessToken,
} from './schemas.ts'

const maybe = Type.Optional(text)
const ended = (what: string) => ({ 204: nothing(what) })

export const tag = 'Authentication'

export const contracts = {
  logIn: {
    summary: 'Log in, refresh a token, or trade a single sign-on',
    description:
      'With `user` and `password`: a new session. With a bearer token and no body: a new token of the same session. With the cookie of a single sign-on and no body: its session. With `link`: the session of a login link (`carrel open`).',
    body: { 'application/x-www-form-urlencoded': Login },
    answers: { 200: nothing('The token is in the header.', { Authorization: text, ...pair }) },
    problems: [
      'login-failed',
      'second-factor-required',
      'second-factor-enrolment-required',
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
    answers: {
      204: nothing('They have ended. Acting on behalf of another user ends nothing.', {
        ...pair,
        Link: maybe,
      }),
      302: nothing('The same, where CARREL_LOGOUT_PAGE_URL is set.', { ...pair, Location: uri, Link: maybe }),
    },
  },
  showStatus: {
    summary: 'The caller of the request',
    answers: { 200: answer('Also without a token.', json(Status), { 'WWW-Authenticate': maybe }) },
  },
  listSpecialGroups: {
    summary: 'The special groups of the caller',
    ...listOf(SpecialGroupPage),
  },
  issueShortLivedToken: {
    summary: 'A token for an address that is opened without headers',
    answers: { 200: answer('Valid for two seconds.', json(ShortLivedToken)) },
  },
  listSessions: {
    summary: 'Where the caller is logged in',
    ...listOf(SessionPage),
  },
  showSession: {
    summary: 'One of the caller’s sessions',
    answers: { 200: answer('The session.', json(Session)) },
    problems: ['not-found'],
  },
  endOtherSessions: {
    summary: 'End all sessions of the caller but the one that asks',
    answers: ended('They have ended.'),
  },
  endSession: {
    summary: 'End one of the caller’s sessions',
    answers: ended('It has ended.'),
    problems: ['not-found'],
  },
  listAccessTokens: {
    summary: 'The caller’s access tokens',
    ...listOf(AccessTokenPage),
  },
  addAccessToken: {
    summary: 'Make an access token for a program',
    body: json(WantedAccessToken),
    answers: {
      201: answer('With its secret, which is shown only now.', json(NewAccessToken), { Location: uri }),
    },
    problems: ['access-denied', 'access-token-invalid', 'second-factor-missing'],
  },
  showAccessToken: {
    summary: 'One of the caller’s access tokens',
    answers: { 200: answer('Without its secret.', json(AccessToken)) },
    problems: ['not-found'],
  },
  revokeAccessToken: {
    summary: 'Revoke one of the caller’s access tokens',
    answers: ended('It opens nothing any more.'),
    problems: ['not-found'],
  },
} as const satisfies Contracts
