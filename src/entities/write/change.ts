import type { FastifyRequest } from 'fastify'
import { requireType } from '../../http/json-body.ts'
import { Problem } from '../../http/problems.ts'
import { setMember } from '../../import/constraints.ts'
import { isObject, type Members, parseWritten } from '../../lib/json.ts'
import type { Changes } from '../../model/audit-events.ts'
import { keyValues, recordKey } from '../../model/record-changes.ts'
import { keyPlan, keyTextOf, notFound, objectOf, valuesOfKey } from '../../query/keys.ts'
import type { RecordEntity, RecordWrite } from '../../storage/entities.ts'
import { checkedJson, completed, readJson } from './check-record.ts'
import { isWrittenSo, patched } from './json-patch.ts'
import type { StepWrite } from './other-records.ts'

/** Changes of records: as a request asks for them, the records that they result in, and their events. */

export const mergePatch = 'application/merge-patch+json'
export const jsonPatch = 'application/json-patch+json'

/** A change of a record, as a request asks for it. */
export type Change =
  /** `defaults`: a new record gets those of its entity. */
  | { readonly event: 'record.put'; readonly body: unknown; readonly defaults: boolean }
  | { readonly event: 'record.change'; readonly type: string; readonly patch: unknown }
  | { readonly event: 'record.delete' }

/** Reads the change that a request asks for. @throws Problem for a body that is none */
export function changeIn(request: FastifyRequest): Change {
  if (request.method === 'DELETE') return { event: 'record.delete' }
  if (request.method === 'PUT') {
    requireType(request, ['application/json'])
    return { event: 'record.put', body: readJson(request), defaults: true }
  }
  const type = requireType(request, [jsonPatch, mergePatch])
  const patch = readJson(request)
  if (type === mergePatch && !isObject(patch))
    throw new Problem('record-refused', 'A merge patch of a record is a JSON object.')
  return { event: 'record.change', type, patch }
}

/**
 * Makes the record that a change results in; null if it is deleted.
 * @param before JSON of the record; undefined for a new one
 */
function changed(change: Change, entity: RecordEntity, key: string, before: string | undefined): unknown {
  if (change.event === 'record.put') {
    const record = withKey(entity, change.body, key)
    return before === undefined && change.defaults ? completed(entity, record) : record
  }
  if (before === undefined) throw notFound(entity, key)
  if (change.event === 'record.delete') return null
  const record = parseWritten(before) as Members
  // An operation may put values of the patch into the record, which a second attempt would find changed.
  const patch = parseWritten(JSON.stringify(change.patch))
  return change.type === mergePatch ? merged(record, patch) : patched(record, patch)
}

/** Adds the key of the address to a record that doesn't have it itself. */
function withKey(entity: RecordEntity, body: unknown, key: string): unknown {
  if (!isObject(body)) return body
  const record = { ...body }
  const values = valuesOfKey(entity, key)
  for (const [at, name] of [entity.key].flat().entries())
    if (!Object.hasOwn(body, name)) setMember(record, name, values[at])
  return record
}

/** Maximum number of members in the audit event of a change, and of characters of the JSON of each. */
const maxMembers = 30
const maxValue = 300

/** Describes the differences between two records for the audit trail. */
function changesBetween(before: Members | null, after: Members | null): Changes {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const different = names.filter(name => jsonIn(before, name) !== jsonIn(after, name))
  const some = different.slice(0, maxMembers)
  const more = different.length - some.length
  const side = (record: Members | null) =>
    record && {
      ...Object.fromEntries(some.map(name => [name, shortened(jsonIn(record, name))])),
      ...(more > 0 && { '…': `and ${more} more` }),
    }
  return { before: side(before), after: side(after) }
}

const jsonIn = (record: Members | null, name: string): string =>
  (record && Object.hasOwn(record, name) ? JSON.stringify(record[name]) : undefined) ?? 'null'

/** Returns a value for the audit trail: its JSON as text if it is long, or if a double would lose digits. */
function shortened(json: string): unknown {
  if (json.length > maxValue) return `${json.slice(0, maxValue)}…`
  const value: unknown = JSON.parse(json)
  return JSON.stringify(value) === json ? value : json
}

/** Applies a merge patch to a value, which is changed (RFC 7396 §2). */
function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Members = isObject(target) ? target : {}
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete (result as Record<string, unknown>)[name]
    else setMember(result, name, merged(Object.hasOwn(result, name) ? result[name] : undefined, value))
  return result
}

/** A record that is to be changed. */
export interface Target {
  /** undefined: it is in the record, which a query has found. */
  readonly key: string | undefined
  /** Its name, where that is known. */
  readonly name?: string
  readonly before: string | undefined
  readonly change: Change
}

/** A record after its change. */
export interface Made extends Target {
  readonly key: string
  readonly after: string | null
  readonly write: Omit<RecordWrite, 'entity' | 'before'>
  readonly step: StepWrite
  readonly object: string
  readonly changes: ReturnType<typeof changesBetween>
}

/** @throws Problem for a record that no address can name: a step with it couldn’t be undone */
function nameOf(entity: RecordEntity, key: string, earlier: Members | undefined): string {
  const [, asAddressed] = keyPlan(entity, key)
  return earlier ? recordKey(entity, keyValues(entity, earlier)) : asAddressed()
}

/** Makes a change. @returns undefined if the record stays as it is. @throws Problem with the key of the record */
export function changeMade(entity: RecordEntity, target: Target): Made | undefined {
  const { before, change } = target
  const earlier = before === undefined ? undefined : (parseWritten(before) as Members)
  const key = target.key ?? keyTextOf(entity, earlier ?? {})
  const made = changed(change, entity, key, before)
  const name = target.name ?? nameOf(entity, key, earlier)
  const after = made === null && change.event !== 'record.put' ? null : checkedJson(entity, made, name)
  if (after === before) return undefined
  if (change.event === 'record.change' && earlier !== undefined && isWrittenSo(earlier, made))
    return undefined
  const record = after === null ? null : (made as Members)
  const values = keyValues(entity, record ?? earlier ?? {})
  const added = before === undefined ? 1 : after === null ? -1 : 0
  return {
    ...target,
    key,
    after,
    write: { key: name, values, json: after, added },
    step: { key: name, before: earlier, after: record },
    object: objectOf(entity, earlier ?? (made as Members)),
    changes: changesBetween(earlier ?? null, record),
  }
}
