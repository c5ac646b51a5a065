/** The entries of the catalogue (`problems.ts`) for changes of items and files. */
export const itemProblems = {
  'files-full': {
    status: 507,
    title: 'The files have no more room',
    help: 'All files together may have as many megabytes as the operator allows (CARREL_FILES_QUOTA). Delete some, or ask the operator for more.',
  },
} as const
