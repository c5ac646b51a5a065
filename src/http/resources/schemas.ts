import {
  always,
  closed,
  count,
  Embedded,
  embeds,
  flag,
  Link,
  links,
  named,
  oneOf,
  orNull,
  pageOf,
  type Static,
  Type,
  text,
  time,
  uuid,
} from '../schema.ts'

/** Schemas of the objects that DSpace's clients (7 to 10) know: epersons, groups, items, bundles, bitstreams. */

const MetadataValue = named('MetadataValue', {
  value: text,
  language: orNull(text),
  // Null and -1, except in the field that tells what a new content has replaced.
  authority: orNull(text),
  confidence: Type.Integer(),
  place: count,
})
const Metadata = Type.Record(Type.String(), Type.Array(MetadataValue), {
  $id: 'Metadata',
  description: 'Values by field, such as `dc.title`.',
})

export type MetadataBody = Static<typeof Metadata>

export const Eperson = named(
  'Eperson',
  {
    id: uuid,
    uuid,
    name: text,
    email: text,
    canLogIn: flag,
    requireCertificate: always(false),
    netid: Type.Null(),
    metadata: Metadata,
    administrator: Type.Optional(
      Type.Boolean({ description: 'In lists, which only administrators read; so are the next two.' }),
    ),
    hasPassword: Type.Optional(flag),
    factors: Type.Optional(Type.Array(oneOf('passkey', 'totp'))),
    type: always('eperson'),
    _links: links('groups', 'self'),
    _embedded: embeds('groups'),
  },
  'A user.',
)
export type EpersonBody = Static<typeof Eperson>

export const Group = named('Group', {
  id: uuid,
  uuid,
  name: text,
  permanent: flag,
  special: Type.Boolean({
    description:
      'Whether the configuration says who is in it: a network, a way of logging in, or a provider.',
  }),
  metadata: Metadata,
  type: always('group'),
  _links: links('epersons', 'object', 'self', 'subgroups'),
  _embedded: embeds('epersons', 'object', 'subgroups'),
})
export type GroupBody = Static<typeof Group>

export const EpersonPage = pageOf('epersons', Eperson, 'EpersonPage')
export const GroupPage = pageOf('groups', Group, 'GroupPage')
export const SpecialGroupPage = pageOf('specialGroups', Group, 'SpecialGroupPage')

/** Addresses below an item; each has a route in `src/items/items.ts`, even where there is nothing to show. */
export const itemLinks = [
  'accessStatus',
  'bundles',
  'identifiers',
  'mappedCollections',
  'owningCollection',
  'relationships',
  'templateItemOf',
  'thumbnail',
  'version',
] as const

export const Item = named('Item', {
  id: uuid,
  uuid,
  name: orNull(text),
  handle: text,
  metadata: Metadata,
  inArchive: flag,
  discoverable: flag,
  withdrawn: flag,
  lastModified: time,
  entityType: orNull(text),
  type: always('item'),
  _links: links(...itemLinks, 'self'),
  _embedded: embeds(...itemLinks),
})
export type ItemBody = Static<typeof Item>
export const ItemPage = pageOf('items', Item, 'ItemPage')

export const Bundle = named('Bundle', {
  id: uuid,
  uuid,
  name: text,
  handle: Type.Null(),
  metadata: Metadata,
  type: always('bundle'),
  _links: links('bitstreams', 'item', 'primaryBitstream', 'self'),
  _embedded: embeds('bitstreams', 'item', 'primaryBitstream'),
})
export type BundleBody = Static<typeof Bundle>
export const BundlePage = pageOf('bundles', Bundle, 'BundlePage')

export const Bitstream = named(
  'Bitstream',
  {
    id: uuid,
    uuid,
    name: text,
    handle: Type.Null(),
    metadata: Metadata,
    bundleName: text,
    sizeBytes: count,
    checkSum: named('CheckSum', {
      checkSumAlgorithm: always('SHA-256'),
      value: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    }),
    sequenceId: Type.Null(),
    type: always('bitstream'),
    _links: links('accessStatus', 'bundle', 'content', 'format', 'self', 'thumbnail'),
    _embedded: embeds('accessStatus', 'bundle', 'format', 'thumbnail'),
  },
  'The description of a file.',
)
export type BitstreamBody = Static<typeof Bitstream>
export const BitstreamPage = pageOf('bitstreams', Bitstream, 'BitstreamPage')

export const BitstreamFormat = named('BitstreamFormat', {
  id: text,
  shortDescription: text,
  description: text,
  mimetype: text,
  supportLevel: oneOf('KNOWN', 'UNKNOWN'),
  internal: always(false),
  extensions: Type.Array(text),
  type: always('bitstreamformat'),
  _links: links('self'),
})

export const AccessStatus = named('AccessStatus', {
  status: oneOf('open.access', 'embargo', 'restricted', 'metadata.only'),
  embargoDate: orNull(Type.String({ format: 'date' })),
  type: always('accessStatus'),
  _links: links('self'),
})

export const Identifiers = named('Identifiers', {
  identifiers: Type.Array(
    named('Identifier', {
      value: text,
      identifierType: always('handle'),
      identifierStatus: Type.Null(),
      type: always('identifier'),
    }),
  ),
  type: always('identifiers'),
  _links: links('self'),
})

export const Site = named('Site', {
  id: uuid,
  uuid,
  name: text,
  handle: Type.Null(),
  metadata: Metadata,
  type: always('site'),
  _links: links('self'),
})

export const Feature = named('Feature', {
  id: text,
  description: text,
  resourcetypes: Type.Array(oneOf('site', 'eperson', 'group', 'item', 'bundle', 'bitstream')),
  type: always('feature'),
  _links: links('self'),
})

export const Authorization = named('Authorization', {
  id: text,
  type: always('authorization'),
  _links: Type.Object(
    { eperson: Type.Optional(Link), feature: Link, object: Link, self: Link },
    { additionalProperties: false },
  ),
  _embedded: closed({ feature: Feature, eperson: Type.Optional(Embedded), object: Type.Optional(Embedded) }),
})
