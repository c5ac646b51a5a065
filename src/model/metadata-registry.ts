/** The registry of metadata (docs/decisions/0052): what editors offer. Items may have other fields, too. */
export interface MetadataSchema {
  readonly id: number
  /** With which the names of its fields begin. It is never changed. */
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

/** The name under which items have values of a field, such as `dc.contributor.author`. */
export const fieldName = (
  { prefix }: Pick<MetadataSchema, 'prefix'>,
  { element, qualifier }: Pick<MetadataField, 'element' | 'qualifier'>,
): string => [prefix, element, ...(qualifier === null ? [] : [qualifier])].join('.')

/** A search looks at every field, and each field of a deleted schema is an event of the audit trail. */
export const maxSchemas = 100
export const maxFields = 5_000
