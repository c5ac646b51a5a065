/** The entries of the catalogue (`problems.ts`) for changes of items and files. */
export const itemProblems = {
  'change-refused': {
    status: 422,
    title: 'The change cannot be made',
    help: 'The request is well-formed, but asks for something that can’t be: a name that is in use, a value that Carrel can’t keep, or more than there may be. The detail says which it is.',
  },
  'files-full': {
    status: 507,
    title: 'The files have no more room',
    help: 'All files together may have as many megabytes as the operator allows (CARREL_FILES_QUOTA). Delete some, or ask the operator for more.',
  },
} as const
