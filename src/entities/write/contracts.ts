import type { Contracts } from '../../http/contract.ts'
import type { ProblemCode } from '../../http/problems.ts'
import {
  answer,
  closed,
  count,
  flag,
  JsonPatch,
  json,
  nothing,
  orNull,
  parameter,
  Type,
  text,
  uri,
} from '../../http/schema.ts'
import { EntityRecord } from '../../query/schemas.ts'

export const tag = 'Queries'
const refused = [
  'bad-parameter',
  'access-denied',
  'not-writable',
  'unknown-entity',
  'not-found',
  'precondition-failed',
  'record-refused',
  'change-refused',
] as const satisfies readonly ProblemCode[]
const headers = { 'If-Match': parameter(text), 'If-None-Match': parameter(text) }
const saved = { ETag: text }

const several = {
  query: {
    query: parameter(text),
    dry_run: parameter(flag),
    expected: parameter(count),
    undo: parameter(flag),
  },
  problems: [...refused, 'unsupported-media-type', 'record-referenced'],
} as const satisfies Partial<Contracts[string]>
/**
 * Records to write in one step. `record: null` deletes one; `etag: null` wants none to be there. With
 * `defaults: false`, a new record has no value where it is given none.
 */
const Writes = closed({
  records: Type.Array(
    closed({
      key: text,
      etag: Type.Optional(orNull(text)),
      record: Type.Optional(orNull(EntityRecord)),
      defaults: Type.Optional(flag),
      patch: Type.Optional(Type.Union([EntityRecord, JsonPatch])),
    }),
  ),
})
const Changed = closed({
  count: Type.Integer({ minimum: 0, description: 'Records that were found or named.' }),
  changed: Type.Integer({ minimum: 0, description: 'Those that differ afterwards.' }),
  dry_run: flag,
  records: Type.Array(closed({ key: text, before: orNull(EntityRecord), after: orNull(EntityRecord) }), {
    description: 'The first of them.',
  }),
  undo: Type.Optional(Writes),
})

export const contracts = {
  putRecord: {
    summary: 'Write one record, whole',
    headers,
    body: json(EntityRecord),
    answers: {
      200: answer('The record. Where it is there already, it is replaced.', json(EntityRecord), saved),
      201: answer('The new record.', json(EntityRecord), { ...saved, Location: uri }),
    },
    problems: refused,
  },
  changeRecord: {
    summary: 'Change one record',
    headers,
    body: {
      'application/merge-patch+json': EntityRecord,
      'application/json-patch+json': JsonPatch,
    },
    answers: { 200: answer('The record.', json(EntityRecord), saved) },
    problems: refused,
  },
  deleteRecord: {
    summary: 'Delete one record',
    headers,
    answers: { 204: nothing('It is deleted.') },
    problems: [...refused, 'record-referenced'],
  },
  changeRecords: {
    summary: 'Change several records in one step',
    ...several,
    body: {
      'application/merge-patch+json': EntityRecord,
      'application/json-patch+json': JsonPatch,
      'application/json': Writes,
    },
    answers: { 200: answer('What was changed, or would be.', json(Changed)) },
  },
  deleteRecords: {
    summary: 'Delete the records that a query finds',
    ...several,
    answers: { 200: answer('What was deleted, or would be.', json(Changed)) },
  },
} as const satisfies Contracts
