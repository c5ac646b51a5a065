import {
  always,
  closed,
  count,
  flag,
  named,
  oneOf,
  orNull,
  Type,
  text,
  time,
  uuid,
} from '../../http/schema.ts'

/** Schemas of answers to operators, and of their questions. */

const Finding = named('Finding', {
  level: oneOf('ok', 'note', 'warning', 'error'),
  about: text,
  what: text,
  advice: Type.Optional(orNull(text)),
  code: Type.String({ description: 'The kind of finding, for programs; it is stable.' }),
  values: Type.Record(text, Type.Union([text, Type.Number(), Type.Null(), Type.Array(text)]), {
    description: 'What the words say, by name; the name of a quantity ends with its unit.',
  }),
})
export const Report = named('Report', { counts: Type.Record(text, count), findings: Type.Array(Finding) })

export const SignOnReport = named('SignOnReport', {
  configured: Type.Boolean({
    description: 'Single sign-on is set up. If it is not, there is nothing to find.',
  }),
  counts: Type.Record(text, count),
  findings: Type.Array(Finding),
})

export const Explained = named('ExplainedSignOn', {
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

export const Backup = named('Backup', {
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
export const Access = named(
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
  'The rights of an eperson, and the rules that give them.',
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
export const SpecialGroupRules = named('SpecialGroupRules', {
  rules: Type.Array(
    Type.Union([
      closed({ ...givenTo, how: always('address'), ranges: Type.Array(text) }),
      closed({ ...givenTo, how: always('method'), method: text }),
      closed({ ...givenTo, ...ofAttribute, value: text }),
      closed({ ...givenTo, ...ofAttribute, pattern: text }),
    ]),
  ),
})

export const Providers = named('SignOnProviders', {
  providers: Type.Array(
    closed({
      id: text,
      name: text,
      kind: oneOf('saml', 'oidc', 'proxy', 'ldap'),
      method: Type.String({ description: 'The way to log in, as sessions and special groups name it.' }),
      federation: flag,
    }),
  ),
})

export const Identity = named('LinkedIdentity', {
  eperson: uuid,
  email: text,
  provider: text,
  subject: text,
  linked: time,
})

const seconds = Type.Number({ minimum: 0 })
const Duration = named('Duration', {
  count,
  sum: seconds,
  p50: orNull(seconds),
  p90: orNull(seconds),
  p99: orNull(seconds),
})
const totals = Type.Record(text, Type.Number())
const answered = { open: Type.Number(), answered: totals, duration: Duration }

/** The figures that `admin/metrics/figures.ts` makes. Labels of the build and of pools are those of the metrics. */
export const Figures = Type.Object(
  {
    time,
    started: time,
    workers: closed({
      running: count,
      wanted: count,
      replaced: count,
      loops: Type.Array(closed({ worker: count, heapBytes: count, delay: Duration })),
    }),
    processor: closed({ seconds }),
    memory: closed({
      residentBytes: count,
      cacheBytes: count,
      cacheEntries: count,
      cacheMaxBytes: count,
    }),
    openFiles: count,
    storeBytes: totals,
    eventsBytes: count,
    eventsMaxBytes: count,
    logins: Type.Array(
      closed({
        method: text,
        success: Type.Optional(count),
        failure: Type.Optional(count),
        throttled: count,
      }),
    ),
    tokensRefused: Type.Array(closed({ kind: text, reasons: totals })),
    requests: closed({
      ...answered,
      routes: Type.Array(closed({ route: text, method: text, ...answered })),
    }),
    downloadsOpen: Type.Number(),
    listingsOpen: Type.Number(),
    queues: Type.Array(
      closed({
        queue: text,
        running: Type.Number(),
        waiting: Type.Number(),
        refused: count,
        waited: Duration,
      }),
    ),
    connections: Type.Array(
      Type.Object(
        { pool: text, max: count, waiting: Type.Number() },
        { additionalProperties: Type.Number() },
      ),
    ),
  },
  { $id: 'Figures', additionalProperties: text },
)
