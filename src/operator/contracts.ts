import { AccessTokenOf } from '../authn/schemas.ts'
import type { Contracts } from '../http/contract.ts'
import {
  always,
  answer,
  closed,
  count,
  flag,
  json,
  named,
  nothing,
  oneOf,
  orNull,
  pageOf,
  paging,
  parameter,
  Type,
  text,
  time,
  uuid,
} from '../http/schema.ts'
import { Figures } from './figures-schema.ts'

const tag = 'Operation'

const Finding = named('Finding', {
  level: oneOf('ok', 'note', 'warning', 'error'),
  about: text,
  what: text,
  advice: Type.Optional(orNull(text)),
})
const Report = named('Report', { counts: Type.Record(text, count), findings: Type.Array(Finding) })

const Explained = named('ExplainedSignOn', {
  provider: text,
  signature: orNull(text),
  subject: orNull(text),
  email: orNull(text),
  emailIgnored: orNull(text),
  outcome: text,
  why: orNull(text),
  eperson: orNull(closed({ uuid, email: text })),
  specialGroups: Type.Array(text),
})

const Backup = named('Backup', {
  name: text,
  complete: flag,
  fault: orNull(text),
  made: orNull(time),
  carrel: orNull(text),
  bytes: orNull(count),
  contents: orNull(count),
  lost: orNull(count),
})

const Right = named('Right', {
  may: flag,
  because: Type.Union([text, Type.Null()], { description: 'The rule that lets them.' }),
})
const rights = { read: Right, write: Right }
const Access = named(
  'Access',
  {
    eperson: closed({ uuid, email: text, canLogIn: flag }),
    administrator: flag,
    address: orNull(text),
    method: orNull(text),
    groups: Type.Array(
      closed({
        uuid,
        name: text,
        because: Type.Array(
          Type.Union([
            closed({ how: always('member') }),
            closed({ how: always('group'), group: text }),
            closed({ how: always('address'), ranges: Type.Array(text) }),
            closed({ how: always('method'), method: text }),
          ]),
        ),
      }),
    ),
    groupsTotal: count,
    entities: Type.Array(closed({ name: text, ...rights })),
    entitiesTotal: count,
    items: count,
    files: count,
    object: Type.Optional(
      Type.Union([
        closed({ uuid, type: always('item'), withdrawn: flag, discoverable: flag, ...rights }),
        closed({ uuid, type: always('bitstream'), item: uuid, ...rights }),
      ]),
    ),
    record: Type.Optional(closed({ entity: text, key: Type.Optional(text), ...rights })),
  },
  'What somebody would see, and by which rule.',
)

const givenTo = {
  group: closed({ uuid, name: text }),
  sessions: Type.Optional(
    Type.Array(
      closed({
        method: text,
        begun: time,
        lastUsed: time,
        lastNetwork: orNull(text),
        gives: oneOf('yes', 'perhaps'),
      }),
      { description: 'Of the eperson: those to which the rule gives the group.' },
    ),
  ),
}
const ofAttribute = { how: always('attribute'), provider: text, method: text, attribute: text }
const SpecialGroupRules = named('SpecialGroupRules', {
  rules: Type.Array(
    Type.Union([
      closed({ ...givenTo, how: always('address'), ranges: Type.Array(text) }),
      closed({ ...givenTo, how: always('method'), method: text }),
      closed({ ...givenTo, ...ofAttribute, value: text }),
      closed({ ...givenTo, ...ofAttribute, pattern: text }),
    ]),
  ),
})

const Identity = named('LinkedIdentity', {
  eperson: uuid,
  email: text,
  provider: text,
  subject: text,
  linked: time,
})

export const contracts = {
  runDoctor: {
    summary: 'What carrel doctor says',
    tag,
    caller: 'administrator',
    answers: { 200: answer('The findings.', json(Report)) },
    problems: ['bad-parameter'],
  },
  checkSignOn: {
    summary: 'What carrel sso check says',
    tag,
    caller: 'administrator',
    answers: { 200: answer('The findings.', json(Report)) },
    problems: ['bad-parameter', 'not-found'],
  },
  explainSignOn: {
    summary: 'What a login at a provider would do',
    description: 'Either `attributes` or `assertion`. Nobody is logged in.',
    tag,
    caller: 'administrator',
    body: json(
      named('SignOnQuestion', {
        provider: Type.Optional(orNull(text)),
        entityId: Type.Optional(orNull(text)),
        attributes: Type.Optional(orNull(Type.Record(text, Type.Unknown()))),
        assertion: Type.Optional(orNull(text)),
      }),
    ),
    answers: { 200: answer('What it would do.', json(Explained)) },
    problems: ['bad-parameter', 'not-found', 'explanation-refused', 'short-lived-token-refused'],
  },
  showFigures: {
    summary: 'The figures of the metrics as JSON',
    tag,
    caller: 'administrator',
    answers: { 200: answer('Of all event loops together.', json(Figures)) },
    problems: ['bad-parameter'],
  },
  listBackups: {
    summary: 'Backups, and whether one is being made',
    tag,
    caller: 'administrator',
    answers: {
      200: answer(
        'Those in the folder.',
        json(closed({ configured: flag, process: orNull(count), backups: Type.Array(Backup) })),
      ),
    },
    problems: ['bad-parameter'],
  },
  showAccess: {
    summary: 'What an eperson would see, and by which rule',
    tag,
    caller: 'administrator',
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
    tag,
    caller: 'administrator',
    query: { eperson: parameter(uuid, 'Whose sessions are shown with each rule that gives them its group.') },
    answers: {
      200: answer('As the configuration has them.', json(SpecialGroupRules)),
    },
    problems: ['bad-parameter', 'not-found'],
  },
  listAllAccessTokens: {
    summary: 'Everybody’s access tokens',
    tag,
    caller: 'administrator',
    query: paging,
    answers: { 200: answer('A page.', json(pageOf('tokens', AccessTokenOf, 'AccessTokensOfAllPage'))) },
    problems: ['bad-parameter'],
  },
  endAllSessions: {
    summary: 'End the sessions of everybody',
    tag,
    caller: 'administrator',
    answers: { 204: nothing('They have ended, the caller’s too.') },
    problems: ['short-lived-token-refused'],
  },
  rotateSecret: {
    summary: 'Sign with a new secret',
    tag,
    caller: 'administrator',
    answers: { 200: answer('How many secrets are accepted now.', json(closed({ accepted: count }))) },
    problems: ['secret-set', 'short-lived-token-refused'],
  },
  listIdentities: {
    summary: 'Who is linked to an identity at a provider',
    tag,
    caller: 'administrator',
    query: paging,
    answers: { 200: answer('A page.', json(pageOf('identities', Identity, 'LinkedIdentityPage'))) },
    problems: ['bad-parameter'],
  },
  unlinkIdentity: {
    summary: 'Unlink an eperson from their identity at a provider',
    tag,
    caller: 'administrator',
    answers: { 204: nothing('Their tokens have ended, too.') },
    problems: ['not-found', 'short-lived-token-refused'],
  },
} as const satisfies Contracts
