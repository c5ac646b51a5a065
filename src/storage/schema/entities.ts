import { integer, key, nullable, numbered, table, text, unique } from './table.ts'

/** A single record that was written. */
const change = {
  // A hash that names the record.
  key: text,
  key_values: text,
  // NULL for one that was deleted.
  json: nullable(text),
  // The number of records that it adds.
  added: integer,
}

/** Single records that were written since the version of their entity was made (docs/decisions/0041). */
export const recordChange = table('record_change', {
  columns: { seq: key(integer), entity: text, ...change },
  indexes: { record_change_of_entity: '(entity, seq)', record_change_of_record: '(key, seq)' },
  backup: 'rows',
})

export const entity = table('entity', {
  columns: {
    name: key(text),
    // Key, read, fields, source and what is declared, as JSON: a field's name may hold what TEXT can't.
    definition: text,
    // The imported records.
    version: nullable(text),
    changed: text,
  },
  backup: { apart: 'copied with its records' },
})

/** Versions that no new request reads; removed once the requests that read them have ended. */
export const retired = table('retired', {
  columns: {
    version: key(text),
    // In ms since 1970.
    at: integer,
  },
  withoutRowid: true,
  backup: { apart: 'a copy has no such versions' },
})

/** Versions that imports have replaced and that can be restored (docs/decisions/0071). */
export const keptVersion = table('kept_version', {
  columns: {
    id: numbered,
    entity: text,
    version: unique(text),
    // The entity as it was.
    definition: text,
    // The event.
    replaced_by: text,
    // When it was replaced, in ms since 1970.
    at: integer,
    // Their number, changes included.
    records: integer,
    // The size of the records, which versions may share, and of what belongs to this version alone.
    bytes: integer,
    own: integer,
  },
  indexes: { kept_version_of_entity: '(entity, id)' },
  backup: { left: 'a backup has no files of replaced versions' },
})

/** Their single records, as in record_change, under the same numbers. */
export const keptChange = table('kept_change', {
  columns: { seq: key(integer), kept: integer, ...change },
  indexes: { kept_change_of_version: '(kept, seq)' },
  backup: { left: 'a backup has no files of replaced versions' },
})

/** Replaced versions that snapshots may name (docs/decisions/0082), otherwise as in `kept_version`. */
export const heldVersion = table('held_version', {
  columns: {
    version: key(text),
    entity: text,
    // The version that began the line.
    root: text,
    // The numbers of the last change in the version, and of the last one that is held for it.
    folded: integer,
    last: integer,
    definition: text,
    at: integer,
    bytes: integer,
    own: integer,
  },
  indexes: { held_version_of_line: '(root, folded)' },
  backup: { left: 'a backup has no files of replaced versions' },
})

export const heldChange = table('held_change', {
  columns: { version: key(text), seq: key(integer), ...change },
  backup: { left: 'a backup has no files of replaced versions' },
})

export const entityTables = [recordChange, entity, retired, keptVersion, keptChange, heldVersion, heldChange]
