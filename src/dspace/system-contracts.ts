import type { Contracts } from '../http/contract.ts'
import { Eperson } from '../http/resources/schemas.ts'
import {
  always,
  answer,
  closed,
  count,
  embeds,
  flag,
  json,
  Link,
  links,
  listOf,
  named,
  nothing,
  oneOf,
  orNull,
  pageOf,
  parameter,
  TemplatedLink,
  Type,
  text,
  time,
  uri,
  uuid,
} from '../http/schema.ts'

export const tag = 'Alerts, audit and health'

const Alert = named('Alert', {
  alertId: Type.Integer(),
  message: text,
  active: flag,
  countdownTo: orNull(time),
  allowSessions: oneOf('all', 'current', 'admin'),
  type: always('systemwidealert'),
  _links: links('self'),
})
const AlertPage = pageOf('systemwidealerts', Alert, 'AlertPage')
const WantedAlert = Type.Object(
  {
    message: Type.String({ maxLength: 2_000, format: 'unicode' }),
    active: Type.Optional(orNull(flag)),
    allowSessions: Type.Optional(orNull(oneOf('all', 'current', 'admin'))),
    countdownTo: Type.Optional(orNull(text)),
  },
  { $id: 'WantedAlert' },
)

const AuditEvent = named('AuditEvent', {
  id: text,
  epersonUUID: orNull(uuid),
  subjectUUID: orNull(uuid),
  subjectType: orNull(oneOf('EPERSON', 'GROUP', 'ITEM', 'BITSTREAM')),
  objectUUID: Type.Null(),
  objectType: Type.Null(),
  eventType: text,
  timeStamp: time,
  detail: orNull(text),
  metadataField: Type.Null(),
  value: orNull(text),
  authority: Type.Null(),
  confidence: Type.Null(),
  place: Type.Null(),
  action: orNull(text),
  checksum: Type.Null(),
  type: always('auditevent'),
  _links: links('eperson', 'object', 'subject', 'self'),
  _embedded: embeds('eperson', 'object', 'subject'),
})
const AuditEventPage = pageOf('auditevents', AuditEvent, 'AuditEventPage')
const sort = parameter(text, '`timeStamp,asc` for the oldest first.')

const state = closed({
  status: oneOf('UP', 'DOWN'),
  details: closed({ engine: Type.Optional(text), error: Type.Optional(text) }),
})
const Health = named('Health', {
  status: oneOf('UP', 'UP_WITH_ISSUES', 'DOWN'),
  components: closed({
    store: state,
    files: state,
    workers: closed({
      status: oneOf('UP', 'UP_WITH_ISSUES'),
      details: closed({ running: count, wanted: count, replaced: count }),
    }),
  }),
})

export const Root = named('Root', {
  type: always('root'),
  _links: Type.Intersect([
    Type.Object({ self: Link, authn: Link, query: Link, items: Link, csrf: Link }),
    Type.Record(Type.String(), Type.Union([Link, TemplatedLink])),
  ]),
})

export const contracts = {
  showRoot: {
    summary: 'Links to everything',
    tag: 'Start',
    answers: { 200: answer('The links.', json(Root)) },
  },
  showAuthn: {
    summary: 'Links of authentication',
    tag: 'Authentication',
    answers: {
      200: answer(
        'The links.',
        json(
          closed({
            type: always('authn'),
            _links: links('login', 'logout', 'status', 'shortlivedtokens', 'sessions', 'tokens', 'self'),
          }),
        ),
      ),
    },
  },
  issueCsrf: {
    summary: 'A new CSRF pair',
    tag: 'Start',
    answers: { 204: { description: 'The pair is in the headers.' } },
  },
  listAlerts: {
    summary: 'The alert, active or not',
    ...listOf(AlertPage),
  },
  listActiveAlerts: {
    summary: 'The alert while it is active',
    ...listOf(AlertPage),
  },
  showAlert: {
    summary: 'An alert',
    answers: { 200: answer('The alert.', json(Alert)) },
    problems: ['not-found'],
  },
  addAlert: {
    summary: 'Add the alert',
    body: json(WantedAlert),
    answers: { 201: answer('The alert.', json(Alert), { Location: uri }) },
    problems: ['change-refused'],
  },
  changeAlert: {
    summary: 'Change the alert',
    body: json(WantedAlert),
    answers: { 200: answer('The alert.', json(Alert)) },
    problems: ['not-found', 'change-refused'],
  },
  listAuditEvents: {
    summary: 'The audit trail, newest first',
    ...listOf(AuditEventPage, { sort }),
  },
  searchAuditEvents: {
    summary: 'The audit trail of one object',
    ...listOf(AuditEventPage, { object: parameter(text), sort }),
  },
  showAuditEvent: {
    summary: 'An event of the audit trail',
    answers: { 200: answer('The event.', json(AuditEvent)) },
    problems: ['bad-parameter', 'not-found'],
  },
  showEpersonOfAuditEvent: {
    summary: 'The eperson who acted',
    answers: { 200: answer('The eperson.', json(Eperson)), 204: nothing('Nobody, or they are deleted.') },
    problems: ['bad-parameter', 'not-found'],
  },
  showPartOfAuditEvent: (part: string) => ({
    operationId: `show${part.charAt(0).toUpperCase()}${part.slice(1)}OfAuditEvent`,
    summary: `The ${part} of an event as an object: none`,
    answers: { 204: nothing('Always.') },
    problems: ['bad-parameter', 'not-found'],
  }),
  showActuator: {
    summary: 'Links of health',
    answers: {
      200: answer(
        'The links.',
        json(closed({ type: always('actuator'), _links: links('self', 'health', 'info') })),
      ),
    },
  },
  showHealth: {
    summary: 'State of the store, the files and the workers',
    answers: { 200: answer('Also when something is down.', json(Health)) },
  },
  showInfo: {
    summary: 'Versions',
    answers: {
      200: answer(
        'Of Carrel and of what it runs on.',
        json(
          closed({
            app: closed({ name: text, version: text, address: text }),
            node: closed({ name: text, version: text, platform: text, arch: text }),
            store: closed({ engine: text }),
          }),
        ),
      ),
    },
  },
} as const satisfies Contracts
