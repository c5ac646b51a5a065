/** Maximum size in bytes of the body of a change, which may have all metadata of an item. */
export const bodyLimit = 1024 * 1024
export const patchBounds = { operations: 1_000, bytes: bodyLimit }
