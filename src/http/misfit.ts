import { closed, count, oneOf, Type, text } from './schema.ts'

/** Records that a constraint, once declared, would not allow. */
export const Misfit = closed({
  field: text,
  constraint: oneOf('required', 'oneOf', 'unique', 'references'),
  count,
  examples: Type.Array(text, {
    description: 'Keys of the first records, or values that are in no list or there twice.',
  }),
})
