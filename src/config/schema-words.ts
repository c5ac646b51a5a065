/** Building blocks of the configuration schemas. */
export const text = (description: string, more: object = {}) => ({
  type: 'string',
  minLength: 1,
  description,
  ...more,
})
export const switchOf = (description: string, fallback = false) => ({
  type: 'boolean',
  default: fallback,
  description,
})
export const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})

/** A reference to a secret, never the secret itself, so that the file can be shared. */
export const secret = (description: string) => ({
  description: `${description} Where it is: {"env": "NAME"} or {"file": "path"}.`,
  ...closed({
    env: text('The environment variable that holds it.', { pattern: '^[A-Z][A-Z0-9_]*$' }),
    file: text('The file that holds it. A final line ending is ignored.'),
  }),
  minProperties: 1,
  maxProperties: 1,
})
