import { accessToken } from '../authn/schemas.ts'
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

const own = { tag: 'Operation', caller: 'administrator' } as const
const ended = ['short-lived-token-refused'] as const

const number = Type.Number()
const counts = Type.Record(text, count)
const findings = (finding: ReturnType<typeof named>, levels: readonly string[]) =>
  closed({
    counts: Type.Record(oneOf(...levels), count),
    findings: Type.Array(finding),
  })
const DoctorFinding = named('DoctorFinding', {
  level: oneOf('ok', 'note', 'warning', 'error'),
  about: text,
  what: text,
  advice: orNull(text),
})
const SignOnFinding = named('SignOnFinding', {
  level: oneOf('ok', 'warning', 'error'),
  about: text,
  what: text,
})

const Explanation = named('LoginExplanation', {
  provider: text,
  signature: orNull(text),
  subject: orNull(text),
  email: orNull(text),
  emailIgnored: orNull(text),
  outcome: oneOf('known', 'linked', 'created', 'refused'),
  why: orNull(text),
  eperson: orNull(closed({ uuid, email: text })),
  specialGroups: Type.Array(text),
})
const WantedExplanation = named('WantedLoginExplanation', {
  provider: Type.Optional(orNull(text)),
  entityId: Type.Optional(orNull(text)),
  attributes: Type.Optional(orNull(Type.Record(text, Type.Unknown()))),
  assertion: Type.Optional(orNull(text)),
})

const Durations = named('Durations', {
  count,
  sum: number,
  p50: orNull(number),
  p90: orNull(number),
  p99: orNull(number),
})
const Figures = named('Figures', {
  time,
  started: time,
  version: text,
  node: text,
  store: text,
  workers: closed({
    running: count,
    wanted: count,
    replaced: count,
    loops: Type.Array(closed({ worker: count, heapBytes: number, delay: Durations })),
  }),
  processor: closed({ seconds: number }),
  memory: closed({ residentBytes: number, cacheBytes: number, cacheEntries: number, cacheMaxBytes: number }),
  openFiles: number,
  storeBytes: counts,
  logins: Type.Array(closed({ method: text, success: count, failure: count, throttled: count })),
  tokensRefused: Type.Array(closed({ kind: text, reasons: counts })),
  requests: closed({
    open: number,
    answered: counts,
    duration: Durations,
    routes: Type.Array(
      closed({ route: text, method: text, open: number, answered: counts, duration: Durations }),
    ),
  }),
  downloadsOpen: number,
  listingsOpen: number,
  queues: Type.Array(
    closed({ queue: text, running: number, waiting: number, refused: count, waited: Durations }),
  ),
  connections: Type.Array(closed({ pool: text, max: number, used: number, idle: number, waiting: number })),
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
const Backups = named('Backups', {
  configured: flag,
  process: orNull(count),
  backups: Type.Array(Backup),
})

const Identity = named('LinkedIdentity', {
  eperson: uuid,
  email: text,
  provider: text,
  subject: text,
  linked: time,
})
const OwnedToken = named('OwnedAccessToken', { ...accessToken, eperson: uuid })

const May = named('May', { may: flag, because: orNull(text) })
const Reason = Type.Union([
  closed({ how: always('member') }),
  closed({ how: always('group'), group: text }),
  closed({ how: always('address'), ranges: Type.Array(text) }),
  closed({ how: always('method'), method: text }),
])
const both = { read: May, write: May }
const Access = named('Access', {
  eperson: closed({ uuid, email: text, canLogIn: flag }),
  administrator: flag,
  address: orNull(text),
  method: orNull(text),
  groups: Type.Array(closed({ uuid, name: text, because: Type.Array(Reason) })),
  groupsTotal: count,
  entities: Type.Array(closed({ name: text, ...both })),
  entitiesTotal: count,
  items: count,
  files: count,
  object: Type.Optional(
    Type.Union([
      closed({ uuid, type: always('item'), withdrawn: flag, discoverable: flag, ...both }),
      closed({ uuid, type: always('bitstream'), item: uuid, ...both }),
    ]),
  ),
  record: Type.Optional(closed({ entity: text, key: Type.Optional(text), ...both })),
})

export const contracts = {
  runDoctor: {
    ...own,
    summary: 'What is misconfigured',
    answers: {
      200: answer('All findings.', json(findings(DoctorFinding, ['ok', 'note', 'warning', 'error']))),
    },
    problems: ['bad-parameter'],
  },
  checkSignOn: {
    ...own,
    summary: 'Whether single sign-on is right, as far as the configuration and the providers say',
    answers: { 200: answer('All findings.', json(findings(SignOnFinding, ['ok', 'warning', 'error']))) },
    problems: ['bad-parameter', 'not-found'],
  },
  explainLogin: {
    ...own,
    summary: 'Which eperson and groups attributes or an assertion would give',
    body: json(WantedExplanation),
    answers: { 200: answer('Nobody is logged in by it.', json(Explanation)) },
    problems: [...ended, 'bad-parameter', 'body-too-large', 'explanation-refused', 'not-found'],
  },
  listIdentities: {
    ...own,
    summary: 'Which subject of which provider is which eperson',
    query: paging,
    answers: { 200: answer('A page.', json(pageOf('identities', Identity, 'LinkedIdentityPage'))) },
    problems: ['bad-parameter'],
  },
  removeIdentity: {
    ...own,
    summary: 'Remove an identity of an eperson; their tokens end',
    path: { uuid },
    answers: { 204: nothing('It is removed.') },
    problems: [...ended, 'not-found'],
  },
  showFigures: {
    ...own,
    summary: 'What the service counts',
    answers: { 200: answer('Now.', json(Figures)) },
    problems: ['bad-parameter'],
  },
  listBackups: {
    ...own,
    summary: 'The backups in the operator’s folder',
    answers: { 200: answer('The newest first.', json(Backups)) },
    problems: ['bad-parameter'],
  },
  listAllTokens: {
    ...own,
    summary: 'The access tokens of all epersons',
    query: paging,
    answers: {
      200: answer('Without their secrets.', json(pageOf('tokens', OwnedToken, 'OwnedAccessTokenPage'))),
    },
    problems: ['bad-parameter'],
  },
  endAllSessions: {
    ...own,
    summary: 'End the sessions of everybody',
    answers: { 204: nothing('Nobody is logged in.') },
    problems: ended,
  },
  rotateSecret: {
    ...own,
    summary: 'Sign with a new secret',
    answers: { 200: answer('How many are accepted.', json(closed({ accepted: count }))) },
    problems: [...ended, 'secret-set'],
  },
  showAccess: {
    ...own,
    summary: 'What an eperson would see, and by which rule',
    path: { uuid },
    query: {
      address: parameter(text, 'Of the client.'),
      method: parameter(text, 'How they logged in.'),
      object: parameter(uuid, 'An item or a file.'),
      entity: parameter(text),
      key: parameter(text, 'Of a record of the entity.'),
    },
    answers: { 200: answer('As a request of theirs would be answered now.', json(Access)) },
    problems: ['bad-parameter', 'not-found'],
  },
} as const satisfies Contracts
