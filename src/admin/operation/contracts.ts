import { AccessTokenOf } from '../../authn/schemas.ts'
import type { Contracts } from '../../http/contract.ts'
import {
  answer,
  closed,
  count,
  flag,
  json,
  listOf,
  named,
  nothing,
  orNull,
  pageOf,
  parameter,
  Type,
  text,
  uuid,
} from '../../http/schema.ts'
import {
  Access,
  Backup,
  Explained,
  Figures,
  Identity,
  Providers,
  Report,
  SignOnReport,
  SpecialGroupRules,
} from './schemas.ts'

export const tag = 'Operation'

export const contracts = {
  runDoctor: {
    summary: 'The findings of carrel doctor',
    answers: { 200: answer('The findings.', json(Report)) },
    problems: ['bad-parameter'],
  },
  checkSignOn: {
    summary: 'The findings of carrel sso check',
    answers: { 200: answer('The findings.', json(SignOnReport)) },
    problems: ['bad-parameter'],
  },
  explainSignOn: {
    summary: 'The outcome of a login at a provider, without one',
    description: 'Either `attributes` or `assertion`. Nobody is logged in.',
    body: json(
      named('SignOnQuestion', {
        provider: Type.Optional(orNull(text)),
        entityId: Type.Optional(orNull(text)),
        attributes: Type.Optional(orNull(Type.Record(text, Type.Unknown()))),
        assertion: Type.Optional(orNull(text)),
      }),
    ),
    answers: { 200: answer('What it would do.', json(Explained)) },
    problems: ['bad-parameter', 'not-found', 'explanation-refused'],
  },
  showFigures: {
    summary: 'The figures of the metrics as JSON',
    answers: { 200: answer('Of all event loops together.', json(Figures)) },
    problems: ['bad-parameter'],
  },
  listBackups: {
    summary: 'Backups, and whether one is being made',
    answers: {
      200: answer(
        'Those in the folder.',
        json(closed({ configured: flag, process: orNull(count), backups: Type.Array(Backup) })),
      ),
    },
    problems: ['bad-parameter'],
  },
  showAccess: {
    summary: 'The rights of an eperson, and the rules that give them',
    query: {
      address: parameter(text, 'Where they would come from.'),
      method: parameter(text, 'How they would have logged in.'),
      object: parameter(uuid, 'Of an item or a file.'),
      entity: parameter(text),
      key: parameter(text, 'Of a record of the entity.'),
    },
    answers: { 200: answer('Their groups, entities, items and files.', json(Access)) },
    problems: ['bad-parameter', 'not-found'],
  },
  listSpecialGroupRules: {
    summary: 'The rules that give special groups',
    query: { eperson: parameter(uuid, 'Whose sessions are shown with each rule that gives them its group.') },
    answers: {
      200: answer('As the configuration has them.', json(SpecialGroupRules)),
    },
    problems: ['bad-parameter', 'not-found'],
  },
  listAllAccessTokens: {
    summary: 'Everybody’s access tokens',
    ...listOf(pageOf('tokens', AccessTokenOf, 'AccessTokensOfAllPage')),
  },
  endAllSessions: {
    summary: 'End the sessions of everybody',
    answers: { 204: nothing('They have ended, the caller’s too.') },
  },
  rotateSecret: {
    summary: 'Sign with a new secret',
    answers: { 200: answer('How many secrets are accepted now.', json(closed({ accepted: count }))) },
    problems: ['secret-set'],
  },
  listIdentities: {
    summary: 'Epersons linked to identities at providers',
    ...listOf(pageOf('identities', Identity, 'LinkedIdentityPage'), {
      eperson: parameter(uuid, 'Those of this eperson alone.'),
    }),
  },
  listProviders: {
    summary: 'The providers of single sign-on',
    answers: { 200: answer('Those that are switched on.', json(Providers)) },
    problems: ['bad-parameter'],
  },
  linkIdentity: {
    summary: 'Link an eperson to a subject of a provider',
    description: 'From then on, a login there is one of the eperson. `entityId` is for federations.',
    body: json(named('WantedIdentity', { subject: text, entityId: Type.Optional(orNull(text)) })),
    answers: {
      200: answer('They were linked already.', json(Identity)),
      201: answer('They are linked.', json(Identity)),
    },
    problems: ['not-found', 'change-refused'],
  },
  unlinkIdentity: {
    summary: 'Unlink an eperson from their identity at a provider',
    answers: { 204: nothing('Their tokens have ended, too.') },
    problems: ['not-found'],
  },
} as const satisfies Contracts
