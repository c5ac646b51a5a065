import type { Contract, Contracts } from '../http/contract.ts'
import type { ProblemCode } from '../http/problems.ts'
import { answer, closed, count, Json, json, nothing, parameter, Type, text } from '../http/schema.ts'
import { EntityDescription, EntityRecord, Explanation, Records } from './schemas.ts'

export const tag = 'Queries'
const flag = parameter(Type.Boolean())
const whole = Type.Integer({ minimum: 0 })

/** Parameters of every list of records, in the address and by POST. */
const asked = {
  query: parameter(text, 'An AST as JSON. At the query base also PQL.'),
  order_by: parameter(text, 'A JSON array such as `[{"field": "name", "order": "desc"}]`.'),
  limit: parameter(Type.Integer({ minimum: 1 }), 'Records at most.'),
  offset: parameter(whole, 'Records that are left out first.'),
  include_total: parameter(Type.Boolean(), 'Whether `X-Records` tells how many there are.'),
  pretty: flag,
  explain: parameter(text, '`plan`, or `analyze` for administrators, instead of the records.'),
  timeout: parameter(Type.Number({ minimum: 0 }), 'Seconds.'),
  snapshot: parameter(text, 'The `X-Snapshot` of an earlier answer, to list the same records again.'),
  origin: parameter(text, 'Ignored: what clients of PuppetDB say of themselves.'),
}

const Asked = Type.Record(text, Type.Unknown(), {
  $id: 'QueryParameters',
  description: 'The parameters of the address as members. `query` and `order_by` may be JSON by themselves.',
})
export const questions = { 'application/json': Asked, 'application/x-www-form-urlencoded': Asked }

const conditional = { 'If-None-Match': parameter(text) }
const headers = {
  ETag: Type.Optional(text),
  Link: Type.Optional(Type.String({ description: 'RFC 8288: first, prev, next and last.' })),
  'X-Records': Type.Optional(count),
  'X-Snapshot': Type.Optional(
    Type.String({ description: 'The state of the records, for the parameter `snapshot`.' }),
  ),
}
const unchanged = nothing('They have not changed.', { ETag: text })

const refused = [
  'bad-parameter',
  'authentication-required',
  'access-denied',
  'unknown-entity',
  'not-acceptable',
  'query-timeout',
  'snapshot-expired',
] as const satisfies readonly ProblemCode[]

/** Problems of requests with a body, which can be a form even in a GET. */
const ofForms = ['body-too-large', 'unsupported-media-type', 'request-timeout'] as const

interface Listing {
  readonly operationId: string
  readonly summary: string
  readonly tag?: Contract['tag']
  readonly query?: Contract['query']
  readonly body?: Parameters<typeof json>[0]
  readonly description?: string
}

/** Describes a list of records by GET or by POST. */
const listing = (method: 'GET' | 'POST', one: Listing): Contract => ({
  operationId: method === 'GET' ? one.operationId : `${one.operationId}ByPost`,
  summary: one.summary,
  ...(one.description === undefined ? {} : { description: one.description }),
  ...(one.tag && { tag: one.tag }),
  query: { ...asked, ...one.query },
  ...(method === 'GET' ? { headers: conditional } : { body: questions }),
  answers: {
    200: answer(
      'The records, or what `explain` asks for.',
      {
        'application/json': Type.Union([one.body ?? Records, Explanation]),
        'application/x-ndjson': Type.String({ description: 'A record on each line.' }),
        'text/csv': Type.String({ description: 'RFC 4180, with the names of the fields first.' }),
      },
      headers,
    ),
    304: unchanged,
  },
  problems: [...refused, ...ofForms],
})

/**
 * Names an operation. PuppetDB's clients may write `_` for `-` in an address, which is an operation of its
 * own.
 */
const named = (start: string, path: string) =>
  start +
  path.replace(/(?:^|[/_-])(\w)/g, (_, letter: string) => letter.toUpperCase()) +
  (path.includes('_') ? 'Underscored' : '')

export const contracts = {
  query: (method: 'GET' | 'POST') =>
    listing(method, {
      operationId: 'query',
      summary: 'Answer a query, or list the entities that the caller may read',
      query: { ast_only: parameter(Type.Boolean(), 'Whether the query is shown as AST instead.') },
      body: Type.Union([Type.Array(EntityDescription), Records, Type.Array(Json)]),
    }),
  listRecords: (method: 'GET' | 'POST') =>
    listing(method, { operationId: 'listRecords', summary: 'The records of an entity, or those of a query' }),
  listFactNames: (method: 'GET' | 'POST', path: string) =>
    listing(method, {
      operationId: named('list', path),
      summary: 'The names of all facts',
      tag: 'PuppetDB',
      body: Type.Array(Type.Union([text, Type.Null()])),
    }),
  countEvents: (method: 'GET' | 'POST', path: string): Contract => {
    const isAggregate = path.includes('aggregate')
    const numbers = { failures: count, successes: count, noops: count, skips: count }
    return {
      operationId: named('count', path) + (method === 'POST' ? 'ByPost' : ''),
      summary: isAggregate
        ? 'How many subjects have events of each kind'
        : 'How many events there are of each kind',
      tag: 'PuppetDB',
      query: {
        ...asked,
        summarize_by: parameter(text, '`certname`, `containing_class`, `resource`; with commas between.'),
        count_by: parameter(text, '`resource` or `certname`.'),
        counts_filter: parameter(text, 'A condition such as `[">", "failures", 0]`.'),
      },
      ...(method === 'GET' ? {} : { body: questions }),
      answers: {
        200: answer(
          'The counts.',
          json(
            Type.Array(
              closed(
                isAggregate
                  ? { summarize_by: text, ...numbers, total: count }
                  : {
                      subject_type: text,
                      subject: Type.Object({ title: Type.Union([text, Type.Null()]) }),
                      ...numbers,
                    },
              ),
            ),
          ),
          { 'X-Records': Type.Optional(count) },
        ),
      },
      problems: [...refused, ...ofForms],
    }
  },
  showRecord: {
    summary: 'One record, or those of an address of PuppetDB',
    description: 'The key; several fields of a key have a comma between them.',
    query: {
      ...asked,
      history: parameter(
        Type.Boolean(),
        'The changes of the record instead, newest first, for those who may write it.',
      ),
      before: parameter(count, 'The `id` of a change: only earlier ones.'),
    },
    headers: conditional,
    answers: {
      200: answer(
        'The record, with `ETag`.',
        {
          'application/json': Type.Union([EntityRecord, Records, Explanation]),
          'application/x-ndjson': text,
          'text/csv': text,
        },
        headers,
      ),
      304: nothing('It has not changed.', { ETag: text }),
    },
    problems: [...refused, ...ofForms, 'not-found', 'not-writable'],
  },
  followChanges: {
    operationId: 'followChanges',
    summary: 'What has changed since a snapshot',
    description:
      'With `text/event-stream`, a stream that goes on: each event has a snapshot as its `id`, and the first one without `since` tells the current one as an event `snapshot`. Without `since`, other types get the record with the key `changes`.',
    query: { since: parameter(text, 'A snapshot, or `now`.') },
    headers: {
      ...conditional,
      'Last-Event-ID': parameter(text, 'The id of the last event; it counts instead of `since`.'),
    },
    answers: {
      200: answer(
        'The changes.',
        {
          'application/x-ndjson': Type.String({
            description:
              'A change on each line: `change` (`added`, `changed`, `deleted`), `key`, and the `record` unless it was deleted. The last line has the `snapshot` to go on with.',
          }),
          'text/event-stream': Type.String({ description: 'Such changes as data of events.' }),
          'application/json': EntityRecord,
        },
        { ETag: Type.Optional(text), 'X-Accel-Buffering': Type.Optional(text) },
      ),
      304: unchanged,
    },
    problems: [
      'bad-parameter',
      'authentication-required',
      'access-denied',
      'unknown-entity',
      'not-found',
      'not-acceptable',
      'snapshot-expired',
      'busy',
    ],
  },
  listRelated: {
    ...listing('GET', {
      operationId: 'listRelated',
      summary: 'The records of another entity that belong to a record',
    }),
    problems: [...refused, ...ofForms, 'not-found'],
  },
  listRelatedBelow: {
    ...listing('GET', {
      operationId: 'listRelatedBelow',
      summary: 'Those of them with a value, as PuppetDB has it for facts and resources',
      tag: 'PuppetDB',
    }),
    problems: [...refused, ...ofForms, 'not-found'],
  },
  showQueryVersion: {
    summary: 'The version of PuppetDB whose queries these are',
    tag: 'PuppetDB',
    answers: {
      200: answer('The versions.', json(closed({ version: text, product: text, product_version: text }))),
    },
  },
  showLatestQueryVersion: {
    summary: 'Newest version, which is never known',
    tag: 'PuppetDB',
    answers: {
      200: answer(
        'The version of PuppetDB whose queries these are.',
        json(closed({ newer: Type.Boolean({ const: false }), version: text, product: text })),
      ),
    },
  },
  showServerTime: {
    summary: 'The time',
    tag: 'PuppetDB',
    answers: {
      200: answer(
        'The time of the service.',
        json(closed({ server_time: Type.String({ format: 'date-time' }) })),
      ),
    },
  },
} as const satisfies Contracts
