/** The entries of the catalogue (`problems.ts`) for what operators do from elsewhere. */
export const operatorProblems = {
  'secret-set': {
    status: 409,
    title: 'The secret is set by the configuration',
    help: 'Where CARREL_TOKEN_SECRET sets the secret that signs tokens, only the operator can change it, on every node: the new one and a comma before the old one.',
  },
  'explanation-refused': {
    status: 422,
    title: 'The login can’t be explained',
    help: 'The body, the provider or the assertion isn’t what it has to be; the detail says what would be right. Nobody is logged in by this, and nothing is changed.',
  },
} as const
