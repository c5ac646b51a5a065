/** Entries of the catalogue of errors (`problems.ts`): those of access tokens (K1–K3). */
export const accessTokenProblems = {
  'access-token-refused': {
    status: 403,
    title: 'The access token is not for this',
    help: 'An access token does only what its scope says. Whatever it says, none logs in, makes tokens, acts on behalf of somebody, or changes passwords, epersons and groups: use a login token.',
  },
  'access-token-invalid': {
    status: 422,
    title: 'No such access token can be made',
    help: 'The detail says which member of the body is wrong, and what would be right.',
  },
} as const
