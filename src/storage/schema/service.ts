import {
  integer,
  key,
  nullable,
  numbered,
  onlyRow,
  ownedBy,
  references,
  table,
  text,
  unique,
  withDefault,
} from './table.ts'

/** Long work (docs/decisions/0042). */
export const processTable = table('process', {
  columns: {
    id: numbered,
    kind: text,
    state: text,
    eperson: nullable(text),
    parameters: text,
    begun: text,
    ended: nullable(text),
    progress: nullable(text),
    result: nullable(text),
    fault: nullable(text),
    owner: text,
    // When its owner last said that it runs, in ms since 1970.
    beat: integer,
    cancelled: withDefault(integer, 0),
    // The number of lines that its log would have without a bound.
    written: withDefault(integer, 0),
  },
  indexes: { process_of_eperson: '(eperson, id)', process_under_way: '(owner, id) WHERE ended IS NULL' },
  backup: 'rows',
})

export const processLine = table('process_line', {
  columns: { process: key(ownedBy(integer, 'process')), n: key(integer), time: text, text: text },
  withoutRowid: true,
  backup: 'rows',
})

export const alert = table('alert', {
  columns: {
    id: key(integer),
    message: text,
    allow_sessions: text,
    countdown_to: nullable(text),
    active: integer,
  },
  backup: 'rows',
})

/** The metadata of the service itself, as JSON. Without a row it has none. */
export const site = table('site', {
  columns: {
    id: onlyRow,
    metadata: text,
    // Grows with every change.
    revision: integer,
  },
  backup: 'rows',
})

/** The registry of metadata (docs/decisions/0052). Ids are never given twice. */
export const metadataSchema = table('metadata_schema', {
  columns: { id: numbered, prefix: unique(text), namespace: unique(text) },
  startsFilled: true,
  backup: 'rows',
})

export const metadataField = table('metadata_field', {
  columns: {
    id: numbered,
    schema_id: references(integer, 'metadata_schema'),
    // The whole name, as in the metadata of items.
    name: unique(text),
    element: text,
    qualifier: nullable(text),
    scope_note: nullable(text),
  },
  indexes: { metadata_field_of_schema: '(schema_id, name)' },
  startsFilled: true,
  backup: 'rows',
})

export const state = table('state', {
  columns: {
    one: onlyRow,
    // The id of this store (docs/decisions/0012).
    store: text,
    // These grow when entities, secrets and groups change.
    entities: withDefault(integer, 0),
    secrets: withDefault(integer, 0),
    groups: withDefault(integer, 0),
    // The last number given to a single record, and to an audience.
    records: withDefault(integer, 0),
    audiences: withDefault(integer, 0),
    // A time that has certainly been, in ms since 1970 (docs/decisions/0024); 0: none yet.
    mark: withDefault(integer, 0),
    // 0 if none was asked for, 1 if it has begun, 2 if it is complete.
    demo: withDefault(integer, 0),
  },
  first: { one: 1, store: '' },
  backup: { apart: 'a copy has an id of its own' },
})

export const serviceTables = [processTable, processLine, alert, site, metadataSchema, metadataField, state]
