import type { FastifyRequest } from 'fastify'
import { requireType } from '../../http/json-body.ts'
import {
  badParameter,
  parseBoolean,
  type Query,
  quote,
  singleParameters,
  wholeNumber,
} from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { isObject } from '../../lib/json.ts'
import { type Change, changeIn, jsonPatch, mergePatch } from './change.ts'
import { readJson } from './check-record.ts'

/** Requests for changes of several records, and their bounds. */

/** Maximum number of records that are changed in one step. */
export const maxTogether = 10_000
/** Maximum size in bytes of the body, of the records that are changed, and of what they become. */
export const maxBytes = 16 * 1024 * 1024
/** A request for changes of several records. */
export interface Asked {
  /** undefined: the records are named one by one. */
  readonly query: string | undefined
  readonly change: Change | undefined
  readonly writes: readonly Write[]
  readonly isDryRun: boolean
  /** The number of records that there must be. */
  readonly expected: number | undefined
  /** True if the answer has the body of a request that undoes the change. */
  readonly isUndoable: boolean
}

/** The change of a record that is named by its key. */
export interface Write {
  readonly key: string
  readonly change: Change
  /** The tag that it must have; null: it must not be there; undefined: any. */
  readonly tag: string | null | undefined
}

export const everyRecord =
  'A condition that all records meet, such as ["null?", "key", false], changes all of them.'

/** Texts that some lists take as no query (Q24). */
const isNone = /^\s*(null\s*|\[\s*\]\s*)?$/

/** Reads what a request asks for. A missing query never means all records. @throws Problem */
export function askedBy(request: FastifyRequest): Asked {
  const given = singleParameters(request.query as Query, ['query', 'dry_run', 'expected', 'undo'])
  const query = given.query === undefined || isNone.test(given.query) ? undefined : given.query
  const boolean = (name: 'dry_run' | 'undo') => given[name] !== undefined && parseBoolean(name, given[name])
  const common = {
    isDryRun: boolean('dry_run'),
    isUndoable: boolean('undo'),
    expected: given.expected === undefined ? undefined : wholeNumber('expected', given.expected, 0),
  }
  const isList =
    request.method === 'PATCH' &&
    requireType(request, [jsonPatch, mergePatch, 'application/json']) === 'application/json'
  if (isList) {
    if (query !== undefined)
      throw badQuery(query, 'The body names the records; leave out the query, or send a patch.')
    return { ...common, query, change: undefined, writes: writesIn(readJson(request)) }
  }
  if (query === undefined)
    throw badQuery(
      given.query ?? '',
      `The parameter query is missing: it says which records are changed, as in ["=", "field", "value"]. ${everyRecord}`,
    )
  return { ...common, query, change: changeIn(request), writes: [] }
}

/** Reads a list of records to write, each with its key. @throws Problem 422 */
function writesIn(body: unknown): readonly Write[] {
  const list = isObject(body) && Object.keys(body).length === 1 ? body.records : undefined
  if (!Array.isArray(list)) throw wrongBody('The body must be an object with the member `records`, a list.')
  if (list.length > maxTogether) throw tooMany(`The body has ${records(list.length)}`)
  return list.map((one: unknown, at) => {
    const { key, etag, record, patch, defaults = true, ...others } = isObject(one) ? one : {}
    const [other] = Object.keys(others)
    if (!isObject(one) || typeof key !== 'string' || other !== undefined)
      throw wrongBody(
        `Record ${at} must have a text as \`key\`, \`record\` or \`patch\`, and perhaps \`etag\` and \`defaults\`${other === undefined ? '' : `, and not ${quote(other)}`}.`,
      )
    if ((record === undefined) === (patch === undefined))
      throw wrongBody(`Record ${at} must have either \`record\` or \`patch\`.`)
    if (etag !== undefined && etag !== null && typeof etag !== 'string')
      throw wrongBody(`The \`etag\` of record ${at} must be a text, or null if it must not be there.`)
    if (typeof defaults !== 'boolean')
      throw wrongBody(`The \`defaults\` of record ${at} must be true, or false if a new record gets none.`)
    if (patch !== undefined && !isObject(patch) && !Array.isArray(patch))
      throw wrongBody(`The \`patch\` of record ${at} must be an object, or a list of operations.`)
    const change: Change =
      patch !== undefined
        ? { event: 'record.change', type: isObject(patch) ? mergePatch : jsonPatch, patch }
        : record === null
          ? { event: 'record.delete' }
          : { event: 'record.put', body: record, defaults }
    return { key, tag: etag, change }
  })
}

export const wrongBody = (detail: string) => new Problem('record-refused', detail)
export const badQuery = (query: string, detail: string) => badParameter('query', query, detail)
export const records = (count: number) => (count === 1 ? '1 record' : `${count.toLocaleString('en')} records`)
export const tooMany = (what: string) =>
  new Problem(
    'record-refused',
    `${what}, and ${records(maxTogether)} of 16 MiB can be changed in one step. Narrow the query, or use \`carrel import --update\`. Nothing was changed.`,
    { members: { most: maxTogether } },
  )
