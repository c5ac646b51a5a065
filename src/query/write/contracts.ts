import type { Contracts } from '../../http/contract.ts'
import type { ProblemCode } from '../../http/problems.ts'
import { answer, JsonPatch, json, nothing, parameter, text, uri } from '../../http/schema.ts'
import { EntityRecord } from '../schemas.ts'

const tag = 'Queries'
const refused = [
  'bad-parameter',
  'access-denied',
  'not-writable',
  'short-lived-token-refused',
  'unknown-entity',
  'not-found',
  'precondition-failed',
  'record-refused',
  'change-refused',
] as const satisfies readonly ProblemCode[]
const headers = { 'If-Match': parameter(text), 'If-None-Match': parameter(text) }
const saved = { ETag: text }

export const contracts = {
  putRecord: {
    summary: 'Write one record, whole',
    tag,
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
    tag,
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
    tag,
    headers,
    answers: { 204: nothing('It is deleted.') },
    problems: [...refused, 'record-referenced'],
  },
} as const satisfies Contracts
