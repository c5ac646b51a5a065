import { counted, integer, key, nullable, references, table, text, unique, withDefault } from './table.ts'

/** Readers of items and bitstreams (docs/decisions/0011), never changed once they are there. */
export const audience = table('audience', {
  columns: {
    id: key(integer),
    readers: text,
    // Those that have these readers.
    items: counted,
    bitstreams: counted,
    bytes: counted,
  },
  backup: 'rows',
})

export const item = table('item', {
  columns: {
    uuid: key(text),
    identifier: unique(text),
    title: nullable(text),
    authors: text,
    issued: nullable(text),
    type: nullable(text),
    metadata: text,
    collections: text,
    audience: references(integer, 'audience'),
    fingerprint: text,
    withdrawn: withDefault(integer, 0),
    discoverable: withDefault(integer, 1),
    // Grows with every change of the item, its bundles and its files (docs/decisions/0043).
    revision: withDefault(integer, 0),
    created: text,
    modified: text,
  },
  indexes: { item_by_audience: '(audience, uuid)' },
  backup: 'rows',
})

export const bitstream = table('bitstream', {
  columns: {
    uuid: key(text),
    item: references(text, 'item'),
    bundle: text,
    name: text,
    // Among those of its item.
    place: integer,
    description: nullable(text),
    mime_type: text,
    size: integer,
    sha256: text,
    // Its own, or the item's.
    audience: references(integer, 'audience'),
    created: text,
  },
  unique: [['item', 'bundle', 'name']],
  indexes: {
    bitstream_by_name: '(name, audience, uuid)',
    bitstream_by_content: '(sha256, audience, size)',
    bitstream_by_audience: '(audience, uuid)',
    // The files of a bundle in their order, with their audience (docs/decisions/0021).
    bitstream_of_bundle: '(item, bundle, place, audience)',
  },
  backup: 'rows',
})

export const bundle = table('bundle', {
  columns: {
    uuid: key(text),
    item: references(text, 'item'),
    name: text,
    place: integer,
    primary_bitstream: nullable(text),
  },
  unique: [['item', 'name']],
  backup: 'rows',
})

/** The name, description and type that a client gave a read rule. */
export const policy = table('policy', {
  columns: {
    id: key(text),
    // The uuid of an item or a bitstream.
    object: text,
    rule: text,
    name: nullable(text),
    description: nullable(text),
    type: nullable(text),
  },
  unique: [['object', 'rule']],
  withoutRowid: true,
  backup: 'rows',
})

/** Contents that uploads and sweeps of a bucket speak of (docs/decisions/0080). */
export const contentClaim = table('content_claim', {
  columns: {
    sha256: key(text),
    // claimed, unused or deleted.
    state: text,
    // In ms since 1970, by the store's clock.
    until: integer,
  },
  withoutRowid: true,
  indexes: { content_claim_by_end: '(until)' },
  backup: { left: 'uploads and sweeps of then have ended' },
})

export const itemTables = [audience, item, bitstream, bundle, policy, contentClaim]
