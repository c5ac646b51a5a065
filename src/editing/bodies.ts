/** Bytes of the body of a change: an item has much metadata. */
export const bodyLimit = 1024 * 1024
export const patchBounds = { operations: 1_000, bytes: bodyLimit }
