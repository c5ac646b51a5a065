import type { Readers, Visibility } from './readers.ts'

/** Items and their bitstreams (contract section 10). */

/** Metadata values in their order, by key, such as `dc.contributor.author`. */
export type Metadata = Readonly<Record<string, readonly MetadataValue[]>>

export interface MetadataValue {
  readonly value: string
  /** A BCP 47 tag, or the text that the source had instead. */
  readonly language: string | null
}

export interface NewItem {
  /** The item's external identifier, such as a handle; at most 500 bytes. */
  readonly identifier: string
  readonly metadata: Metadata
  /** Handles of its collections, the owning one first. */
  readonly collections: readonly string[]
  /**
   * The readers; null: an existing item keeps its readers (D7), and a new one is for administrators only.
   * Their `readersText` has at most `maxReadersBytes`, as for bitstreams.
   */
  readonly readers: Readers | null
  readonly bitstreams: readonly NewBitstream[]
  /** A text that changes with the item's source, so that an unchanged source need not be read again. */
  readonly fingerprint: string
  /**
   * The item's fingerprint when it was looked up; null: there was no item. Nothing is stored if it has
   * changed since. Absent: it is not checked.
   */
  readonly seen?: string | null
}

/** Maximum bytes of `readersText` of the rules for an item, or for a file of it. */
export const maxReadersBytes = 2_000

/** Bundle and name together identify a bitstream within its item. */
export interface NewBitstream extends Content {
  readonly name: string
  /** The name of the bundle, such as `ORIGINAL` or `LICENSE`. */
  readonly bundle: string
  readonly description: string | null
  readonly mimeType: string
  /**
   * The readers; null: those of the item. If the item's are null too, an existing bitstream keeps its own.
   */
  readonly readers: Readers | null
}

/** The content of a file. */
export interface Content {
  /** SHA-256 in lower-case hexadecimal. */
  readonly sha256: string
  /** Size in bytes. */
  readonly size: number
}

export interface Item extends Summary, Visibility {
  readonly uuid: string
  readonly identifier: string
  readonly metadata: Metadata
  readonly collections: readonly string[]
  readonly readers: Readers
  /** Time in RFC 3339. */
  readonly created: string
  readonly modified: string
  /** A number that grows with every change of the item, its bundles and its files. */
  readonly revision: number
}

/** Files of an item that belong together. The name identifies a bundle within its item. */
export interface Bundle {
  readonly uuid: string
  /** UUID of the item. */
  readonly item: string
  readonly name: string
  /** UUID of the file in it that stands for the whole bundle; null: none. */
  readonly primary: string | null
}

export interface Bitstream extends Omit<NewBitstream, 'readers'> {
  readonly uuid: string
  /** UUID of the item. */
  readonly item: string
  /** The effective readers: its own, or those of the item. */
  readonly readers: Readers
  /** Time in RFC 3339. */
  readonly created: string
}

/** The parts of an existing item that an ingest compares with its source. */
export interface KnownItem {
  readonly uuid: string
  readonly fingerprint: string
  readonly readers: Readers
}

/** A line of `carrel item list`. */
export interface ListedItem {
  readonly identifier: string
  readonly uuid: string
  readonly title: string | null
  /** Number of its bitstreams. */
  readonly files: number
  readonly readers: Readers
}

/** New readers for an item and the bitstreams that share its readers, or for one bitstream. */
export interface AccessChange {
  readonly identifier: string
  readonly file: Pick<NewBitstream, 'bundle' | 'name'> | null
  readonly readers: Readers
}

/** The metadata that lists show and sort by. */
interface Summary {
  readonly title: string | null
  readonly authors: readonly string[]
  readonly issued: string | null
  readonly type: string | null
}

/**
 * Characters kept of a value that lists sort by, because an index takes no more. The metadata
 * contain the whole value.
 */
const maxSummaryLength = 500

/** The metadata field that each part of a summary comes from. */
export const summaryFields = {
  title: 'dc.title',
  authors: 'dc.contributor.author',
  issued: 'dc.date.issued',
  type: 'dc.type',
} as const satisfies Record<keyof Summary, string>

/** Returns the item as it is shown to anyone but administrators (Q19). @param hidden metadata fields */
export function withoutHidden<T extends Summary & { readonly metadata: Metadata }>(
  item: T,
  hidden: readonly string[],
): T {
  const metadata = metadataWithout(item.metadata, hidden)
  return { ...item, ...summaryOf(metadata), metadata }
}

export const metadataWithout = (metadata: Metadata, hidden: readonly string[]): Metadata =>
  Object.fromEntries(Object.entries(metadata).filter(([field]) => !hidden.includes(field)))

export function summaryOf(metadata: Metadata): Summary {
  const first = (key: string) => {
    const value = metadata[key]?.[0]?.value
    return value === undefined
      ? null
      : [...value.slice(0, 2 * maxSummaryLength)].slice(0, maxSummaryLength).join('')
  }
  return {
    title: first(summaryFields.title),
    authors: (metadata[summaryFields.authors] ?? []).map(({ value }) => value),
    issued: first(summaryFields.issued),
    type: first(summaryFields.type),
  }
}

/**
 * A schema of the metadata registry (docs/decisions/0052). The registry lists the fields that editors offer;
 * items may have other fields, too.
 */
export interface MetadataSchema {
  readonly id: number
  /** The prefix with which the names of its fields begin. It is never changed. */
  readonly prefix: string
  readonly namespace: string
}

export interface MetadataField {
  readonly id: number
  readonly schema: MetadataSchema
  readonly element: string
  readonly qualifier: string | null
  readonly scopeNote: string | null
}

/** Returns the name under which items have values of a field, such as `dc.contributor.author`. */
export const fieldName = (
  { prefix }: Pick<MetadataSchema, 'prefix'>,
  { element, qualifier }: Pick<MetadataField, 'element' | 'qualifier'>,
): string => [prefix, element, ...(qualifier === null ? [] : [qualifier])].join('.')

/**
 * Maximum numbers of schemas and fields. They are bounded because a search looks at every field, and deleting
 * a schema records an audit event for each of its fields.
 */
export const maxSchemas = 100
export const maxFields = 5_000
