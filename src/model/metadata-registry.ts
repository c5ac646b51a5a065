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
