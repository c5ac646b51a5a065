import { hash } from 'node:crypto'
import type { BitstreamBody, BundleBody, ItemBody, MetadataBody } from '../http/resources/schemas.ts'
import { itemLinks } from '../http/resources/schemas.ts'
import type { Bitstream, Bundle, Item, Metadata } from '../model/items.ts'
import { admits, type Readers, today } from '../model/readers.ts'

/** Items, bundles and bitstreams as DSpace's clients (7 to 10) know them. `core` is the address of `/api/core`. */

/** The parts of an item that its body shows, in a list and by itself. */
export type ShownItem = Pick<
  Item,
  'uuid' | 'identifier' | 'metadata' | 'modified' | 'withdrawn' | 'discoverable'
>
export type ShownBitstream = Pick<Bitstream, 'uuid' | 'bundle' | 'name' | 'description' | 'size' | 'sha256'>

export function itemBody(item: ShownItem, core: string): ItemBody {
  const { uuid, identifier, metadata, modified, withdrawn, discoverable } = item
  const self = `${core}/items/${uuid}`
  return {
    id: uuid,
    uuid,
    name: metadata['dc.title']?.[0]?.value ?? null,
    handle: identifier,
    metadata: metadataBody(metadata),
    // Carrel has no drafts. In DSpace, an item that is withdrawn is in the archive no longer.
    inArchive: !withdrawn,
    discoverable,
    withdrawn,
    lastModified: modified,
    entityType: metadata['dspace.entity.type']?.[0]?.value ?? null,
    type: 'item',
    _links: {
      ...(Object.fromEntries(itemLinks.map(name => [name, { href: `${self}/${name}` }])) as Record<
        (typeof itemLinks)[number],
        { href: string }
      >),
      self: { href: self },
    },
  }
}

/**
 * The entity tag of an item as one caller sees it (RFC 9110 §8.8.3): it stays when only hidden parts change.
 * @param item the item without the parts that are hidden from the caller
 */
export const itemTag = ({ identifier, metadata, withdrawn, discoverable }: ShownItem): string =>
  tagOf([identifier, metadata, withdrawn, discoverable])

export const siteTag = (metadata: Metadata): string => tagOf([metadata])

const tagOf = (state: readonly unknown[]) =>
  `"${hash('sha256', JSON.stringify(state), 'base64url').slice(0, 22)}"`

export function bundleBody({ uuid, name }: Pick<Bundle, 'uuid' | 'name'>, core: string): BundleBody {
  const self = `${core}/bundles/${uuid}`
  return {
    id: uuid,
    uuid,
    name,
    handle: null,
    metadata: metadataBody({ 'dc.title': [{ value: name, language: null }] }),
    type: 'bundle',
    _links: {
      bitstreams: { href: `${self}/bitstreams` },
      item: { href: `${self}/item` },
      primaryBitstream: { href: `${self}/primaryBitstream` },
      self: { href: self },
    },
  }
}

export function bitstreamBody(bitstream: ShownBitstream, core: string): BitstreamBody {
  const { uuid, name, description } = bitstream
  const self = `${core}/bitstreams/${uuid}`
  return {
    id: uuid,
    uuid,
    name,
    handle: null,
    metadata: metadataBody({
      'dc.title': [{ value: name, language: null }],
      ...(description === null ? {} : { 'dc.description': [{ value: description, language: null }] }),
    }),
    bundleName: bitstream.bundle,
    sizeBytes: bitstream.size,
    checkSum: { checkSumAlgorithm: 'SHA-256', value: bitstream.sha256 },
    // A number in the addresses of DSpace before version 7; Carrel has no such addresses.
    sequenceId: null,
    type: 'bitstream',
    _links: {
      accessStatus: { href: `${self}/accessStatus` },
      bundle: { href: `${self}/bundle` },
      content: { href: `${self}/content` },
      format: { href: `${self}/format` },
      self: { href: self },
      thumbnail: { href: `${self}/thumbnail` },
    },
  }
}

export const metadataBody = (metadata: Metadata): MetadataBody =>
  Object.fromEntries(
    Object.entries(metadata).map(([key, values]) => [
      key,
      values.map(({ value, language }, place) => ({
        value,
        language,
        authority: null,
        confidence: -1,
        place,
      })),
    ]),
  )

const anonymous = { kind: 'reader', eperson: null, groups: new Set<string>() } as const

/**
 * Tells whether an anonymous user may read a file, now or later.
 * @param readers those of the file; undefined if there is none
 */
export function accessStatusBody(readers: Readers | undefined, self: string) {
  const day = today()
  const opens = (readers ?? [])
    .flatMap(({ reader, from }) => (reader === 'anonymous' && from !== undefined && from > day ? [from] : []))
    .toSorted()[0]
  const status =
    readers === undefined
      ? 'metadata.only'
      : admits(readers, anonymous, day)
        ? 'open.access'
        : opens === undefined
          ? 'restricted'
          : 'embargo'
  return {
    status,
    embargoDate: status === 'embargo' ? opens : null,
    type: 'accessStatus',
    _links: { self: { href: self } },
  }
}

export const identifiersBody = ({ uuid, identifier }: ShownItem, core: string) => ({
  identifiers: [{ value: identifier, identifierType: 'handle', identifierStatus: null, type: 'identifier' }],
  type: 'identifiers',
  _links: { self: { href: `${core}/items/${uuid}/identifiers` } },
})
