/** An entity as the service describes it. */
export interface Description {
  readonly name: string
  readonly key: string | readonly string[]
  readonly fields: readonly {
    readonly name: string
    readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'date-time' | 'json'
    readonly nullable: boolean
    readonly collation?: string
    readonly sortable?: false
    readonly list?: true
    /** Declarations of the field by an administrator: how values are shown, and what they must be. */
    readonly label?: string
    readonly help?: string
    readonly unit?: string
    readonly format?: 'link' | 'image' | 'e-mail' | 'year' | 'identifier' | 'paragraphs' | 'json'
    readonly required?: true
    readonly default?: string | number | boolean
    readonly unique?: true
    readonly oneOf?: readonly (string | number | boolean)[]
    readonly references?: string
  }[]
  readonly relations?: readonly {
    readonly fields: readonly string[]
    readonly to: { readonly entity: string; readonly fields: readonly string[] }
  }[]
  readonly writable?: true
  readonly href: string
}
