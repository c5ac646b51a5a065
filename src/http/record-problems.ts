/** The part of the catalogue of errors that is about single records that are written (E1, R2, R6). */
export const recordProblems = {
  'not-writable': {
    status: 403,
    title: 'Records of this entity can’t be written',
    help: 'Single records are written in imported entities that an administrator has opened for writing, with `carrel entity writers`, and only by those whom the rule names.',
  },
  'record-refused': {
    status: 422,
    title: 'The record is refused',
    help: 'The entity can’t have the record that the request makes: the detail says which field, or which operation of a patch, is wrong, and the members `pointer`, `operation` and `nearest` say it to programs. Nothing was changed.',
  },
} as const
