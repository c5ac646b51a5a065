/** The entries of the catalogue (`problems.ts`) for entities that are administered over HTTP. */
export const entityProblems = {
  'entity-conflict': {
    status: 409,
    title: 'The entity does not allow this',
    help: 'The name belongs to a built-in entity or to one of another kind, or an import of the entity is under way. The detail says which.',
  },
  'entity-refused': {
    status: 422,
    title: 'The description of the entity cannot be taken',
    help: 'The member `member` is a JSON pointer to what is wrong in the body; `legal` and `nearest` say what would be right.',
  },
} as const
