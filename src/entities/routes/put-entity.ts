import { bodyChecks } from '../../http/check-body.ts'
import { type Headers, requireState, stale } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { ImportError } from '../../import/import-error.ts'
import type { AuditEvent } from '../../model/audit-events.ts'
import { declaredOf, entityTag, withDeclared } from '../../model/declared.ts'
import type { Entity, Field } from '../../model/entities.ts'
import { descriptionOf } from '../../model/relations.ts'
import type { Entities } from '../../storage/entities.ts'
import { ExposeError } from '../../storage/exposing.ts'
import { EntityChanged } from '../../storage/single-records.ts'
import { checkName, importStaged, VersionReplaced } from '../import-entity.ts'
import { misfitsInWords, misfitsOf, reliedOn } from '../misfits.ts'
import { declaredAs } from '../revision-fields.ts'
import {
  type Described,
  declaredAnew,
  lookAtRelations,
  type NamesInRules,
  requireOwn,
  type Warning,
  withKnownReaders,
} from './declarations.ts'
import { namingReaders, refused } from './refused.ts'
import { type Wanted, wantedIn } from './wanted.ts'

interface Parts {
  readonly entities: Entities
  readonly people: NamesInRules
  /** Examines a table when it is its turn: each takes a connection of its own. */
  examine<T>(work: () => Promise<T>): Promise<T>
}

interface Request {
  readonly name: string
  /** The description, not checked yet. */
  readonly body: unknown
  /** The preconditions of a request. */
  readonly headers: Headers
  eventFor(event: AuditEvent['event']): AuditEvent
}

type Put = Pick<Request, 'name' | 'eventFor'> & { readonly wanted: Wanted }

const checked = bodyChecks(() => import('./contracts.ts'), 'entity-refused')

/**
 * `PUT {api}/admin/entities/<name>` and `carrel entity apply`: shows a table of the operator's, creates an imported entity without
 * records, or replaces the declarations of an existing one.
 * @returns true if the entity is new, and a warning for each relation by which no records are related
 */
export async function putEntity(
  parts: Parts,
  { name, body, headers, eventFor }: Request,
): Promise<{ readonly isNew: boolean; readonly warnings: readonly Warning[] }> {
  const { entities } = parts
  const given = wantedIn(await checked('putEntity', body), name)
  const wanted = await withKnownReaders(given, parts.people)
  const put = { name, wanted, eventFor }
  requireOwn(name)
  requireName(name)
  const all = await entities.all()
  const before = all.get(name)
  requireState(headers, before && entityTag(before), 'entity')
  requireKind(before, wanted)
  // A new entity has no records that could be related.
  const warnings = before
    ? await lookAtRelations(entities, before, wanted.relations ?? [], before.relations, all)
    : []
  const { table } = wanted
  await namingReaders(() => {
    if (table) return expose(parts, put, before, table)
    if (before?.source.kind === 'records') return replace(parts, put, before, all)
    return create(parts, put, all)
  })
  return { isNew: before === undefined, warnings }
}

/** @throws Problem 422 for a name that no entity may have */
function requireName(name: string): void {
  try {
    checkName(name)
  } catch (error) {
    if (error instanceof ImportError) throw refused('', `${error.message}.`)
    throw error
  }
}

/**
 * @throws Problem 409 for a name that belongs to the other kind of entity, 422 for an exposed entity without
 *   its table
 */
function requireKind(before: Entity | undefined, wanted: Wanted): void {
  if (before?.source.kind === 'records' && wanted.table)
    throw new Problem(
      'entity-conflict',
      `${before.name} holds imported records. Delete it first, or choose another name.`,
    )
  if (before?.source.kind === 'exposed' && !wanted.table)
    throw refused(
      '/table',
      `${before.name} shows the table ${before.source.schema}.${before.source.table}; table must name it or another one. Delete the entity first to give its name to imported records.`,
    )
}

/** Exposes a table, as `carrel expose` does. */
async function expose(
  { entities, examine }: Parts,
  { name, wanted, eventFor }: Put,
  before: Entity | undefined,
  table: { readonly schema: string; readonly name: string },
): Promise<void> {
  const { expose: make } = entities
  if (make === undefined)
    throw refused(
      '/table',
      'The embedded store has no tables to expose; a service on a PostgreSQL database has. Leave table out for imported records.',
    )
  for (const [at, field] of (wanted.fields ?? []).entries())
    if (field.collation !== undefined)
      throw refused(`/fields/${at}/collation`, 'Text of tables sorts by code point; leave collation out.')
  const all = await entities.all()
  const declare = (described: Described) => descriptionOf(declaredAnew(wanted, described, all))
  const asked = {
    name,
    schema: table.schema,
    table: table.name,
    key: wanted.key ?? null,
    fields: wanted.fields?.map(field => field.name) ?? null,
    read: wanted.read ?? 'admin',
    declare,
    of: before === undefined ? null : entityTag(before),
    isBounded: true,
  } as const
  try {
    await examine(() => make(asked, eventFor('entity.expose')))
  } catch (error) {
    if (error instanceof EntityChanged) throw stale('entity')
    if (error instanceof ExposeError) throw refused('/table', inBodyWords(error.message))
    throw error
  }
}

/** Rewords a message of the command for a request. */
const inBodyWords = (message: string) =>
  `${message.replaceAll(/--(fields|key)\b/g, '$1').replace('run this command again', 'send this request again')}.`

/** Replaces the declarations; records, key and fields stay. */
async function replace(
  { entities }: Parts,
  { name, wanted, eventFor }: Put,
  before: Entity,
  all: ReadonlyMap<string, Entity>,
): Promise<void> {
  requireSame(before, wanted)
  const declared = declaredAnew(wanted, before, all)
  if (JSON.stringify(declared) === JSON.stringify(declaredOf(before))) return
  const after = withDeclared(before, declared)
  const fields = before.declaredFields ?? []
  const [misfit] = await misfitsOf(after, fields, all, entities)
  if (misfit)
    throw refused(
      '/fields',
      `The records of ${name} don’t fit: ${misfitsInWords(misfit)}. Change them first.`,
    )
  const done = await entities.declare(
    name,
    declared,
    entityTag(before),
    eventFor('entity.change'),
    reliedOn(after, fields, all),
  )
  if (done !== 'declared') throw stale('entity')
}

/** @throws Problem 422 if key or fields differ from those of the records */
function requireSame({ name, key, fields }: Entity, wanted: Wanted): void {
  const again = 'import all records again to change that'
  if (wanted.key && JSON.stringify(wanted.key) !== JSON.stringify([key].flat()))
    throw refused('/key', `The key of ${name} is ${[key].flat().join(', ')}; ${again}.`, {
      legal: [key].flat(),
    })
  if (!wanted.fields) return
  const differs = wanted.fields.findIndex((field, at) => !isLike(field, fields[at]))
  if (differs >= 0 || wanted.fields.length !== fields.length)
    throw refused(
      `/fields/${differs >= 0 ? differs : Math.min(wanted.fields.length, fields.length)}`,
      `${name} has other fields than these; ${again}, or leave fields out.`,
    )
}

const isLike = (wanted: NonNullable<Wanted['fields']>[number], field: Field | undefined) =>
  wanted.name === field?.name &&
  (wanted.type ?? field.type) === field.type &&
  (wanted.collation ?? field.collation) === field.collation &&
  (wanted.list ?? field.list) === field.list

/** Creates an imported entity without records: they come by an import, or one by one. */
async function create(
  { entities }: Parts,
  { name, wanted, eventFor }: Put,
  all: ReadonlyMap<string, Entity>,
): Promise<void> {
  const { key, fields } = wanted
  if (!key || !fields)
    throw refused(
      key ? '/fields' : '/key',
      'An entity that is new needs key and fields, or a table that it is to show. To make one from a file, import that.',
    )
  const described: Described = {
    name,
    key: key.length === 1 && key[0] !== undefined ? key[0] : key,
    fields: fields.map(({ name: field, type = 'text', collation, list }) => ({
      name: field,
      type,
      nullable: false,
      ...(collation !== undefined && { collation }),
      ...(list && { list }),
    })),
    source: { kind: 'records', version: '', count: 0, bytes: 0, largest: 0 },
  }
  const declared = declaredAnew(wanted, described, all)
  try {
    await importStaged(
      async staging => staging.declare(described.fields.map(field => field.name)),
      entities,
      {
        name,
        key: described.key,
        read: declared.read,
        ...declaredAs(described.fields),
        declare: descriptionOf(declared),
        // The new entity replaces no records: if another request created it meanwhile, this one fails.
        replaces: null,
        event: eventFor('entity.import'),
      },
      () => {},
    )
  } catch (error) {
    if (error instanceof VersionReplaced) throw stale('entity')
    if (error instanceof ImportError)
      throw refused('/key', `${error.message.replaceAll(/--type\b/g, 'type')}.`)
    throw error
  }
}
