/** The few forms that the schemas of the configuration are made of. */
export const text = (description: string, more: object = {}) => ({
  type: 'string',
  minLength: 1,
  description,
  ...more,
})
export const switchOf = (description: string) => ({ type: 'boolean', default: false, description })
export const closed = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})

/** Where a secret is; never the secret itself, so that the file can be shown to others. */
export const secret = (description: string) => ({
  description: `${description} Where it is: {"env": "NAME"} or {"file": "path"}.`,
  ...closed({
    env: text('The environment variable that holds it.', { pattern: '^[A-Z][A-Z0-9_]*$' }),
    file: text('The file that holds it; a line end at its end does not count.'),
  }),
  minProperties: 1,
  maxProperties: 1,
})
