import type { Contracts } from '../http/contract.ts'
import { answer, json, listOf, nothing, uri } from '../http/schema.ts'
import {
  Challenge,
  EnrolledFactor,
  Enrolment,
  Factor,
  FactorPage,
  NewFactor,
  Proved,
  RecoveryCodes,
  RenamedFactor,
  WantedChallenge,
  WantedFactor,
} from './factor-schemas.ts'

const proving = ['factor-refused', 'proof-refused', 'too-many-attempts', 'busy'] as const

export const tag = 'Authentication'

export const contracts = {
  askChallenge: {
    summary: 'A challenge for a passkey',
    description:
      'Without members: to log in with a passkey that stands alone. With `ticket`: for the second step of a login. With `purpose`: for a change of factors.',
    body: json(WantedChallenge),
    answers: { 200: answer('Valid for two minutes.', json(Challenge)) },
    problems: ['access-denied', 'authentication-required', 'factor-refused', 'login-failed'],
  },
  listFactors: {
    summary: 'The caller’s second factors',
    ...listOf(FactorPage),
  },
  showFactor: {
    summary: 'One of the caller’s second factors',
    answers: { 200: answer('The factor.', json(Factor)) },
    problems: ['not-found'],
  },
  beginEnrolment: {
    summary: 'Begin to enrol a second factor',
    body: json(WantedFactor),
    answers: { 201: answer('What the app or the browser needs, for ten minutes.', json(Enrolment)) },
    problems: ['access-denied', 'authentication-required', 'login-failed', ...proving],
  },
  addFactor: {
    summary: 'Finish enrolling a second factor',
    body: json(EnrolledFactor),
    answers: {
      201: answer('The factor. The first one brings recovery codes.', json(NewFactor), { Location: uri }),
    },
    problems: ['authentication-required', 'factor-refused'],
  },
  renameFactor: {
    summary: 'Rename one of the caller’s second factors',
    body: json(RenamedFactor),
    answers: { 200: answer('The factor.', json(Factor)) },
    problems: ['not-found', ...proving],
  },
  removeFactor: {
    summary: 'Remove one of the caller’s second factors',
    body: json(Proved),
    answers: { 204: nothing('It is gone; with the last one, the recovery codes are, too.') },
    problems: ['not-found', ...proving],
  },
  renewRecoveryCodes: {
    summary: 'Replace the caller’s recovery codes',
    body: json(Proved),
    answers: { 200: answer('The new ones.', json(RecoveryCodes)) },
    problems: proving,
  },
  listFactorsOf: {
    summary: 'The second factors of an eperson',
    tag: 'Epersons and groups',
    ...listOf(FactorPage),
    problems: ['not-found'],
  },
  resetFactorsOf: {
    summary: 'Remove all second factors of an eperson',
    tag: 'Epersons and groups',
    body: json(Proved),
    answers: { 204: nothing('They are gone, and the eperson’s sessions and access tokens have ended.') },
    problems: ['not-found', 'access-denied', ...proving],
  },
} as const satisfies Contracts
