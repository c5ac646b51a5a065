import { ImportError, shown } from '../import/import-error.ts'
import { fits, kindOf } from '../import/types.ts'
import { parseWritten } from '../lib/json.ts'
import { textForm } from '../lib/sort-keys.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import { fieldUses } from '../model/declared.ts'
import { type DeclaredField, type PlainValue, tidyDeclarations } from '../model/declared-fields.ts'
import type { Entity, Field, FieldType } from '../model/entities.ts'
import { keyValues } from '../model/record-changes.ts'
import type { Entities, RecordEntity } from '../storage/entities.ts'
import { suits } from './declare-fields.ts'
import { importStaged, type Progress } from './import-entity.ts'
import { referencesTo } from './references.ts'
import { overVersion, piecesOf } from './revision.ts'
import { declaredAs } from './revision-fields.ts'

/** Changes of the fields of an entity, with its records (docs/decisions/0076). */
export interface Reshaping {
  readonly add?: readonly { readonly name: string; readonly type: FieldType; readonly default?: PlainValue }[]
  readonly remove?: readonly string[]
  /** New names by old ones. */
  readonly rename?: Readonly<Record<string, string>>
  /** New types by names, as they are before. */
  readonly types?: Readonly<Record<string, FieldType>>
}

interface ReshapeReport {
  readonly entity: string
  readonly records: number
  readonly fields: number
  /** Values that can't have their new type. */
  readonly misfits: readonly Unfit[]
}

interface Unfit {
  readonly field: string
  readonly count: number
  /** The keys of the first records, each as text. */
  readonly examples: readonly string[]
  /** Their values, each as text. */
  readonly values: readonly string[]
}

/** Maximum number of examples of a field. */
const some = 10
const maxAttempts = 5

/**
 * Adds, removes and renames fields, and changes types, for all records at once or not at all. The version before is kept
 * (docs/decisions/0071).
 * @param isPreview true to only find the values that don't fit
 * @throws ImportError for a change that can't be, or values that can't have their new type
 */
export async function reshape(
  entities: Entities,
  options: {
    readonly name: string
    readonly change: Reshaping
    readonly isPreview: boolean
    readonly event: AuditEvent
    readonly signal?: AbortSignal
  },
  progress: Progress,
): Promise<ReshapeReport> {
  const { name, change, isPreview, event, signal } = options
  return overVersion(entities, { name }, maxAttempts, async (entity, version) => {
    const fields = reshaped(entity, change, await entities.all())
    const misfits = new Map<string, { count: number; examples: string[]; values: string[] }>()
    const report = () => ({
      entity: name,
      records: entity.source.count,
      fields: fields.length,
      misfits: [...misfits].map(([field, found]) => ({ field, ...found })),
    })
    const unfit = (field: string, record: Readonly<Record<string, unknown>>) => {
      const found = misfits.get(field) ?? { count: 0, examples: [], values: [] }
      found.count++
      if (found.examples.length < some) {
        found.examples.push(keyValues(entity, record).map(shortText).join())
        found.values.push(shortText(record[field]))
      }
      misfits.set(field, found)
    }
    const pieces = piecesOf(entity, version, progress, recordChange(change, unfit))
    if (isPreview) {
      for await (const _ of pieces) signal?.throwIfAborted()
      return report()
    }
    await importStaged(
      async staging => {
        staging.declare(fields.map(field => field.name))
        await staging.read(pieces, signal)
        if (misfits.size > 0) throw new ImportError(inWords(name, report().misfits))
      },
      entities,
      {
        name,
        key: entity.key,
        read: null,
        event,
        replaces: entity.source.version,
        ...declaredAs(fields),
        declare: { declaredFields: declarations(entity, change) },
        uses: fieldUses(entity),
        ...(signal && { signal }),
      },
      progress,
    )
    return report()
  })
}

const shortText = (value: unknown) => textForm(value).slice(0, 100)

const inWords = (name: string, misfits: readonly Unfit[]) =>
  `${misfits
    .map(
      ({ field, count, examples }) =>
        `${count.toLocaleString('en')} ${count === 1 ? 'value' : 'values'} of ${name}.${field} can't have the new type, in the ${count === 1 ? 'record' : 'records'} ${examples.map(shown).join(', ')}`,
    )
    .join('; ')}; correct them first`

/** Returns the fields after a change. @throws ImportError for one that can't be */
export function reshaped(
  entity: RecordEntity,
  { add = [], remove = [], rename = {}, types = {} }: Reshaping,
  all: ReadonlyMap<string, Entity>,
): readonly Field[] {
  const { name, fields } = entity
  const keys = new Set([entity.key].flat())
  const known = new Set(fields.map(field => field.name))
  for (const one of [...remove, ...Object.keys(rename), ...Object.keys(types)])
    if (!known.has(one))
      throw new ImportError(
        `${name} has no field ${shown(one)}; there are ${[...known].slice(0, 50).join(', ')}`,
      )
  for (const one of [...remove, ...Object.keys(rename), ...Object.keys(types)])
    if (keys.has(one))
      throw new ImportError(
        `${shown(one)} is part of the key of ${name}; import all records again to change that`,
      )
  // A side may be a path that begins with the field.
  const isSide = (field: string) => (side: string) =>
    side === field || side.startsWith(`${field}.`) || side.startsWith(`${field}[`)
  const mentioned = (field: string) =>
    entity.relations?.some(one => one.fields.some(isSide(field))) ||
    [...all.values()].some(one =>
      one.relations?.some(({ to }) => to.entity === name && to.fields.some(isSide(field))),
    ) ||
    entity.defaultCondition?.includes(JSON.stringify(field))
  for (const one of [...remove, ...Object.keys(rename)])
    if (mentioned(one))
      throw new ImportError(
        `a relation or the default condition of ${name} uses ${shown(one)}; change that first`,
      )
  const made = [
    ...fields
      .filter(field => !remove.includes(field.name))
      .map(({ collation, list, ...field }): Field => {
        const type = own(types, field.name) ?? field.type
        return {
          ...field,
          name: own(rename, field.name) ?? field.name,
          type,
          ...(collation !== undefined && type === 'text' && { collation }),
          ...(list && type === 'json' && { list }),
        }
      }),
    ...add.map(({ name: added, type }): Field => ({ name: added, type, nullable: true })),
  ]
  const seen = new Set<string>()
  for (const one of made) {
    if (seen.has(one.name)) throw new ImportError(`${name} would have the field ${shown(one.name)} twice`)
    seen.add(one.name)
  }
  for (const { name: added, type, default: value } of add)
    if (value !== undefined && !fits(kindOf(value) ?? 'text', type))
      throw new ImportError(`${shown(added)} is ${type}, and its default is ${shown(value)}`)
  const after = { ...entity, fields: made, declaredFields: declarations(entity, { add, remove, rename }) }
  for (const field of made)
    if (!suits(after, field, all))
      throw new ImportError(
        `what is declared of ${shown(field.name)} doesn't suit ${field.type}; take it back first`,
      )
  if (referencesTo(entity, all).length > 0 && [entity.key].flat().some(key => own(types, key) !== undefined))
    throw new ImportError(`other records reference the key of ${name}`)
  return made
}

/** The declarations after a change: they follow their fields. */
function declarations(
  { declaredFields = [] }: Pick<Entity, 'declaredFields'>,
  { add = [], remove = [], rename = {} }: Reshaping,
): readonly DeclaredField[] {
  const stay = declaredFields
    .filter(({ name }) => !remove.includes(name))
    .map(field => ({ ...field, name: own(rename, field.name) ?? field.name }))
  const made = add.flatMap(({ name, default: value }) =>
    value === undefined ? [] : [{ name, default: value }],
  )
  const added = new Set(add.map(({ name }) => name))
  return tidyDeclarations([...stay.filter(({ name }) => !added.has(name)), ...made])
}

const own = <T>(of: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(of, name) ? of[name] : undefined

/** Returns a function that changes a record. @param unfit called for each value that can't have its new type */
function recordChange(
  { add = [], remove = [], rename = {}, types = {} }: Reshaping,
  unfit: (field: string, record: Readonly<Record<string, unknown>>) => void,
): (json: string) => string {
  const removed = new Set(remove)
  const standard = add.filter(({ default: value }) => value !== undefined)
  return json => {
    const record = parseWritten(json) as Readonly<Record<string, unknown>>
    const members: (readonly [string, unknown])[] = []
    for (const [name, value] of Object.entries(record)) {
      if (removed.has(name)) continue
      const type = own(types, name)
      const as = type === undefined || value === null ? value : converted(value, type)
      if (as === undefined) unfit(name, record)
      members.push([own(rename, name) ?? name, as ?? null])
    }
    for (const { name, default: value } of standard) members.push([name, value])
    return JSON.stringify(Object.fromEntries(members))
  }
}

/** Converts a value to a type; undefined: it can't have that. */
function converted(value: unknown, type: FieldType): unknown {
  const kind = kindOf(value)
  if (kind === undefined || type === 'json') return value
  if (type === 'text') return kind === 'json' ? JSON.stringify(value) : textForm(value)
  if (fits(kind, type)) return value
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined
  if (type === 'date-time' || !/^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text)) return undefined
  const number = parseWritten(text)
  return fits(kindOf(number) ?? 'text', type) ? number : undefined
}
