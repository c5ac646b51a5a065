import { blob, integer, key, nullable, numbered, onlyRow, table, text, withDefault } from './table.ts'

/** The audit trail and its chains (docs/decisions/0027). */
export const event = table('event', {
  columns: {
    id: numbered,
    time: text,
    event: text,
    outcome: text,
    eperson: nullable(text),
    actor: nullable(text),
    client_ip: nullable(text),
    method: nullable(text),
    object: nullable(text),
    reason: nullable(text),
    count: withDefault(integer, 1),
    // The changes of an administrator, as JSON.
    changes: nullable(text),
    chain: nullable(integer),
    place: nullable(integer),
    hash: nullable(blob),
    // Those that were counted, as JSON (docs/decisions/0069).
    repeats: nullable(text),
    // The request that it is of.
    request: nullable(text),
  },
  indexes: {
    // Chains with negative numbers have the events that repeat.
    event_that_repeats: '(id) WHERE chain < 0',
    // Events of single records are found by the record (docs/decisions/0072).
    event_of_record: "(object, id) WHERE event IN ('record.put', 'record.change', 'record.delete')",
    event_by_time: '(time, id)',
    event_of_eperson: '(eperson, id)',
  },
  backup: 'rows',
})

export const trailKey = table('trail_key', {
  columns: { id: numbered, wrapped: blob },
  startsFilled: true,
  backup: 'rows',
})

export const trailCheckpoint = table('trail_checkpoint', {
  columns: { n: key(integer), time: text, kind: text, detail: text, mac: blob },
  startsFilled: true,
  backup: 'rows',
})

export const trailHead = table('trail_head', {
  columns: {
    chain: key(integer),
    place: key(integer),
    checkpoint: key(integer),
    event: integer,
    time: text,
    hash: blob,
  },
  withoutRowid: true,
  indexes: { trail_head_of_checkpoint: '(checkpoint)' },
  startsFilled: true,
  backup: 'rows',
})

/** The size of the events that repeat, in bytes, measured up to an id. */
export const trailSize = table('trail_size', {
  columns: { one: onlyRow, bytes: integer, upto: integer },
  first: { one: 1, bytes: 0, upto: 0 },
  backup: { apart: 'measured again in a copy' },
})

export const trailTables = [event, trailKey, trailCheckpoint, trailHead, trailSize]
