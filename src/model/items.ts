import type { Readers } from './readers.ts'

/** Items and their bitstreams (contract section 7). */

/** What an item says of itself, by key such as `dc.contributor.author`; values in their order. */
export type Metadata = Readonly<Record<string, readonly MetadataValue[]>>

export interface MetadataValue {
  readonly value: string
  /** BCP 47, or what the source had. */
  readonly language: string | null
}

export interface NewItem {
  /** Tells items apart from outside, such as a handle; at most 500 bytes. */
  readonly identifier: string
  readonly metadata: Metadata
  /** Handles of the collections that it is in, the owning one first. */
  readonly collections: readonly string[]
  /** Like those of its bitstreams at most `maxReadersBytes` as text. */
  readonly readers: Readers
  readonly bitstreams: readonly NewBitstream[]
  /** Changes when what the item was made of does: the same again need not be read. */
  readonly fingerprint: string
}

/** Bytes of `readersText`: it tells audiences apart by an index, which takes no more than 2,704 on PostgreSQL. */
export const maxReadersBytes = 2_000

/** Of one item, bundle and name together tell bitstreams apart. */
export interface NewBitstream extends Content {
  readonly name: string
  /** `ORIGINAL`, `LICENSE`, … */
  readonly bundle: string
  readonly description: string | null
  readonly mimeType: string
  /** null: those of the item. */
  readonly readers: Readers | null
}

/** What is in a file. */
export interface Content {
  /** In lower-case hexadecimal. */
  readonly sha256: string
  /** Bytes. */
  readonly size: number
}

export interface Item extends Summary {
  readonly uuid: string
  readonly identifier: string
  readonly metadata: Metadata
  readonly collections: readonly string[]
  readonly readers: Readers
  /** RFC 3339. */
  readonly created: string
  readonly modified: string
}

export interface Bitstream extends Omit<NewBitstream, 'readers'> {
  readonly uuid: string
  /** uuid. */
  readonly item: string
  /** Those that count: its own, or those of the item. */
  readonly readers: Readers
  /** RFC 3339. */
  readonly created: string
}

/** What lists show of the metadata, and sort by. */
export interface Summary {
  readonly title: string | null
  readonly authors: readonly string[]
  readonly issued: string | null
  readonly type: string | null
}

/** Characters of a value that lists sort by: an index takes no more. The metadata hold the whole. */
const longest = 500

export function summaryOf(metadata: Metadata): Summary {
  const first = (key: string) => {
    const value = metadata[key]?.[0]?.value
    return value === undefined ? null : [...value.slice(0, 2 * longest)].slice(0, longest).join('')
  }
  return {
    title: first('dc.title'),
    authors: (metadata['dc.contributor.author'] ?? []).map(({ value }) => value),
    issued: first('dc.date.issued'),
    type: first('dc.type'),
  }
}
